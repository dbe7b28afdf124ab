"""What a server keeps of runs, and who is told what of them."""

from __future__ import annotations

import hashlib
import io
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import CASE, Live, Serve
from fake_page import ADAPTER
from fake_training import ask, train, trainings

from server.repro_file import parse_repro

PARAMS = "common/params.wgsl"


@pytest.fixture
def kept(serve: Serve, tmp_path: Path) -> Live:
    return serve(history=tmp_path / "history.db")


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """One server for all that is refused."""
    with Live(history=tmp_path_factory.mktemp("quiet") / "history.db") as live:
        yield live


def ran(live: Live, case: str = CASE, wrong: bool = False, **body: Any) -> str:
    """The id of a run that a page has done and that the history has."""
    page = live.page()
    run = live.submit(case, page=page.id, **body)
    job = page.next_event("job")
    page.work(job, **({"o": page.tensors(job, page.inputs(job))["lse"] * 4} if wrong else {}))
    return known(live, run)


def known(live: Live, run: str) -> str:
    end = time.monotonic() + 5
    while live.client.get(f"/api/history/{run}").status_code != 200:
        assert time.monotonic() < end, "the run never came into the history"
        time.sleep(0.01)
    return run


def test_finished_runs_are_listed_newest_first_and_told_in_full(kept: Live) -> None:
    first = ran(kept)
    second = ran(kept, "forward:T=4,D=2")
    answer = kept.client.get("/api/history").json()
    assert (answer["kept"], answer["next"]) == (True, None)
    assert [row["run"] for row in answer["runs"]] == [second, first]
    found = kept.client.get(f"/api/history/{first}").json()
    assert found["report"] == kept.client.get(f"/api/runs/{first}").json()
    assert found["report"]["adapter"]["vendor"] == ADAPTER["vendor"]
    assert (found["origin"], found["outputs"]["o"]["kept"]) == ("page", False)
    assert found["texts"][PARAMS]["bytes"] > 100


def test_pages_of_the_list_follow_one_another(kept: Live) -> None:
    runs = [ran(kept, f"forward:T={n},D=2") for n in (2, 3, 4)]
    first = kept.client.get("/api/history", params={"limit": 2}).json()
    rest = kept.client.get("/api/history", params={"limit": 2, "before": first["next"]}).json()
    assert [row["run"] for row in first["runs"] + rest["runs"]] == runs[::-1]
    assert rest["next"] is None


def test_an_edited_text_can_be_read_again(kept: Live) -> None:
    run = ran(kept, shaders={PARAMS: "// edited\n"})
    digest = hashlib.sha256(b"// edited\n").hexdigest()
    found = kept.client.get(f"/api/history/{run}").json()
    assert found["texts"][PARAMS]["sha256"] == digest
    answer = kept.client.get(f"/api/history/{run}/texts/{digest}")
    assert (answer.text, answer.headers["content-type"]) == (
        "// edited\n",
        "text/plain; charset=utf-8",
    )
    assert kept.client.get(f"/api/history/{run}/texts/{'0' * 64}").status_code == 404


def test_the_repro_of_a_run_is_a_zip_that_can_be_replayed(kept: Live) -> None:
    run = ran(kept)
    answer = kept.client.get(f"/api/history/{run}/repro.zip")
    assert answer.headers["content-type"] == "application/zip"
    assert answer.headers["content-disposition"] == (
        f'attachment; filename="fa2-pass-{run[:8]}.zip"'
    )
    repro = parse_repro(answer.content, "it")
    assert (str(repro.case), repro.told.status) == (CASE, "pass")
    assert "case.json" in zipfile.ZipFile(io.BytesIO(answer.content)).namelist()


def test_a_forgotten_run_is_gone(kept: Live) -> None:
    run = ran(kept)
    assert kept.client.delete(f"/api/history/{run}").status_code == 204
    assert kept.client.delete(f"/api/history/{run}").status_code == 404
    assert kept.client.get("/api/history").json()["runs"] == []


def test_a_run_that_is_called_off_is_kept_as_what_it_is(kept: Live) -> None:
    run = kept.submit()
    kept.client.post(f"/api/runs/{run}/cancel")
    found = kept.client.get(f"/api/history/{known(kept, run)}").json()
    assert (found["status"], found["worst"], found["adapter"]) == ("error", None, None)


def test_a_benchmark_is_one_row_with_its_time(kept: Live) -> None:
    page = kept.page()
    bench = kept.client.post("/api/benches", json={"case": CASE, "page": page.id}).json()
    page.work(page.next_event("job"))
    page.next_event("bench")
    done = page.timed(bench["bench"], gpu_ns=[1000.0] * 30, calls=1)
    assert done.status_code == 200, done.text
    known(kept, bench["run"])
    (row,) = kept.client.get("/api/history").json()["runs"]
    assert (row["kind"], row["status"], row["median_ns"]) == ("bench", "timed", 1000.0)
    assert row["worst"] is not None


@pytest.mark.usefixtures("micro")
def test_a_training_is_one_row_that_no_zip_repeats(kept: Live) -> None:
    page = kept.page()
    training = ask(kept, gate="none", steps=3)
    told = train(page, [5.5, 5.25, 5.125])
    known(kept, training)
    (row,) = kept.client.get("/api/history?kind=train").json()["runs"]
    assert (row["run"], row["case"]) == (training, "train:preset=micro,gate=none,steps=3,seed=3")
    assert (row["status"], row["kernel"], row["origin"]) == ("pass", "fa2", "page")
    assert (row["steps"], row["loss"], row["median_ns"]) == (3, 5.125, 2e6)
    found = kept.client.get(f"/api/history/{training}").json()
    assert found["report"]["losses"] == told["losses"]
    assert kept.client.get("/api/history?kind=run,bench,golden").json()["runs"] == []
    for path in (f"/api/history/{training}/repro.zip", f"/api/compare/sides/{training}"):
        answer = kept.client.get(path)
        assert answer.status_code == 422
        assert "`fa2 train` runs again" in answer.json()["detail"]
    assert kept.client.delete(f"/api/history/{training}").status_code == 204


@pytest.mark.usefixtures("micro")
def test_an_observer_that_fails_ends_no_training(live: Live) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    trainings(live).observers.append(broken)
    try:
        page = live.page()
        ask(live, gate="none", steps=1)
        assert train(page, [5.5])["status"] == "pass"
    finally:
        trainings(live).observers.remove(broken)


def test_what_runs_when_the_server_stops_is_kept(serve: Serve, tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    live = Live(history=path)
    with live:
        run = live.submit()
    again = serve(history=path)
    assert again.client.get(f"/api/history/{run}").json()["status"] == "error"


def test_without_a_history_nothing_is_listed_and_nothing_is_kept(live: Live) -> None:
    ran_here = live.submit()
    live.client.post(f"/api/runs/{ran_here}/cancel")
    answer = live.client.get("/api/history")
    assert answer.json() == {"kept": False, "runs": [], "next": None}
    one = live.client.get(f"/api/history/{ran_here}")
    assert (one.status_code, one.json()["type"]) == (404, "urn:fa2:problem:no-history")


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("limit=0", "limit"),
        ("limit=1001", "limit"),
        ("before=-1", "before"),
        ("before=9999999999999999999999", "before"),
        ("status=bad", "status='bad' is unknown"),
        ("kind=run,bad", "kind='bad' is unknown"),
        ("since=yesterday", "since='yesterday' is no time"),
        (f"case={'x' * 300}", "case"),
    ],
)
@pytest.mark.parametrize("off", [False, True])
def test_a_bad_filter_is_refused(
    kept: Live, live: Live, query: str, reason: str, off: bool
) -> None:
    answer = (live if off else kept).client.get(f"/api/history?{query}")
    assert answer.status_code == 422
    assert reason in answer.json()["detail"]


@pytest.mark.parametrize(
    "path",
    [
        "/api/history/..%2F..%2Fetc",
        "/api/history/last",
        f"/api/history/{'a' * 33}",
        "/api/history/abc/texts/xyz",
        "/api/history/nothex/repro.zip",
    ],
)
def test_only_ids_name_runs(quiet: Live, path: str) -> None:
    answer = quiet.client.get(path)
    assert answer.status_code in (404, 422)
    assert answer.headers["content-type"] == "application/problem+json"


def test_other_sites_read_and_delete_nothing(kept: Live) -> None:
    run = ran(kept)
    for method, path in (
        ("GET", "/api/history"),
        ("GET", f"/api/history/{run}/repro.zip"),
        ("DELETE", f"/api/history/{run}"),
    ):
        for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "http://evil.example"}):
            answer = kept.client.request(method, path, headers=headers)
            assert answer.status_code == 403
    assert len(kept.client.get("/api/history").json()["runs"]) == 1


def test_a_history_needs_the_token_where_there_is_one(serve: Serve, tmp_path: Path) -> None:
    token = "t" * 32
    live = serve(history=tmp_path / "history.db", token=token)
    assert live.client.get("/api/history").status_code == 401
    assert live.client.get("/history").status_code == 401
    bearer = {"Authorization": f"Bearer {token}"}
    assert live.client.get("/api/history", headers=bearer).json()["kept"] is True
    everything = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert token.encode() not in everything


def test_a_damaged_history_is_a_problem_and_not_the_end_of_runs(
    serve: Serve, tmp_path: Path
) -> None:
    path = tmp_path / "history.db"
    path.write_bytes(b"no database at all" * 100)
    live = serve(history=path)
    answer = live.client.get("/api/history")
    assert (answer.status_code, answer.json()["type"]) == (503, "urn:fa2:problem:history")
    ran(live)  # which moves it aside
    assert len(live.client.get("/api/history").json()["runs"]) == 1


def test_the_page_is_served_under_the_strict_policy(quiet: Live) -> None:
    answer = quiet.client.get("/history")
    assert answer.status_code == 200
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "style=" not in answer.text
