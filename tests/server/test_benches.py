"""What a benchmark is asked for, what the page is told before and after the check, its end."""

from __future__ import annotations

from typing import Any

import httpx
import numpy as np
import pytest
from conftest import CASE, Live, Serve
from fake_page import FakePage

from server.benches import BenchStore
from server.cases import Case
from server.errors import CaseError
from server.run import Run

SHADER = "0" * 64  # as FakePage.done tells it


def benches(live: Live) -> BenchStore:
    store: BenchStore = live.app.state.benches
    return store


def ask(live: Live, case: str = CASE, **body: Any) -> str:
    """The id of a new benchmark, asked for over HTTP."""
    response = live.client.post("/api/benches", json={"case": case, **body})
    assert response.status_code == 201, response.text
    bench = str(response.json()["bench"])
    assert response.headers["location"] == f"/api/benches/{bench}"
    return bench


def read(live: Live, bench: str) -> dict[str, Any]:
    found: dict[str, Any] = live.client.get(f"/api/benches/{bench}").json()
    return found


def ended(live: Live, bench: str, timeout_s: float = 5) -> dict[str, Any]:
    found = benches(live).get(bench)
    assert found is not None
    found.future.result(timeout_s)
    return read(live, bench)


def progress(page: FakePage, bench: str, n: int) -> None:
    body = {"phase": "samples", "done": n, "total": 30}
    assert page.http.post(f"/api/benches/{bench}/progress", json=body).status_code == 204


def sent(live: Live, page: FakePage, **body: Any) -> str:
    """A benchmark that has passed its check and lies with the page."""
    bench = ask(live, **body)
    page.work(page.next_event("job"))
    assert page.next_event("bench")["bench"] == bench
    return bench


def problem(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json()["type"].removeprefix("urn:fa2:problem:")


def test_a_case_is_judged_then_timed_on_the_same_page_and_everybody_reads_the_same(
    live: Live,
) -> None:
    page = live.page()
    bench = ask(live, samples=30)
    job = page.next_event("job")
    assert (job["case"], job["timing"]) == (CASE, True)
    assert read(live, bench)["state"] == "checking"
    assert page.work(job)["status"] == "pass"
    told = page.next_event("bench")
    assert (told["bench"], told["case"], told["samples"]) == (bench, CASE, 30)
    assert (told["spec"], told["want"]) == (job["spec"], job["want"])
    assert told["deadline_ms"] >= 20_000
    progress(page, bench, 3)
    under_way = read(live, bench)
    assert (under_way["state"], under_way["status"]) == ("sent", None)
    assert under_way["progress"]["done"] == 3

    report = page.timed(bench).json()
    assert (report["status"], report["state"], report["clock"]) == ("timed", "timed", "gpu")
    assert (report["median_ns"], report["calls_per_sample"]) == (1014.5, 4)
    assert report["report"]["status"] == "pass"
    assert report["peaks"]["f32_tflops"] == 1.5
    assert read(live, bench) == report
    assert page.next_event("bench-report") == {"bench": bench, "report": report}
    (row,) = (one for one in live.client.get("/api/benches").json() if one["bench"] == bench)
    assert (row["state"], "gpu_ns" in row) == ("timed", False)


def test_a_case_that_is_wrong_is_never_sent_to_be_timed(live: Live) -> None:
    page = live.page()
    bench = ask(live)
    job = page.next_event("job")
    zeros = bytes(4 * 8 * 2 * 4)
    assert page.work(job, **{"o": zeros, "o.repeat": zeros})["status"] == "fail"
    report = ended(live, bench)
    assert (report["status"], report["median_ns"]) == ("fail", None)
    assert report["report"]["outputs"]["o"]["bad"] > 0
    assert page.next_event("bench-report")["report"]["status"] == "fail"
    assert page.silent()


def test_a_refusal_of_the_check_is_that_of_the_benchmark(live: Live) -> None:
    page = live.page()
    bench = ask(live)
    job = page.next_event("job")
    error = {"kind": "unsupported", "message": "no such kernel"}
    page.done(job, status="skip", error=error)
    report = ended(live, bench)
    assert (report["status"], report["message"]) == ("skip", "no such kernel")


@pytest.mark.parametrize(
    "fields",
    [{"shader_sha256": "1" * 64}, {"kernel": "another"}, {"gpu_ns": [1.0] * 29}],
    ids=["another shader", "another kernel", "a sample missing"],
)
def test_times_that_do_not_belong_to_the_check_are_an_error(
    live: Live, fields: dict[str, Any]
) -> None:
    page = live.page()
    bench = sent(live, page)
    report = page.timed(bench, **fields).json()
    assert (report["status"], report["median_ns"]) == ("error", None)


def test_a_page_that_fails_while_it_times_tells_why(live: Live) -> None:
    page = live.page()
    bench = sent(live, page)
    error = {"kind": "device-lost", "message": "gone"}
    report = page.timed(bench, status="error", gpu_ns=[], error=error).json()
    assert (report["status"], report["error"]["kind"]) == ("error", "device-lost")
    assert report["report"]["status"] == "pass"
    assert live.submit(CASE), "the page is free"
    assert page.next_event("job")


@pytest.mark.parametrize(
    "fields",
    [
        {"gpu_ns": ["soon"]},
        {"gpu_ns": [-1.0] * 30},
        {"gpu_ns": [1e30] * 30},
        {"gpu_ns": [1.0] * 10_001},
        {"peaks": {"f32_tflops": 1.0}},
        {"clock": {"stable": "yes", "ns": 1, "best_ns": 1, "spread": 0}},
        {"status": "error"},
        {"calls": -1},
    ],
)
def test_what_is_no_result_is_refused(live: Live, fields: dict[str, Any]) -> None:
    page = live.page()
    bench = sent(live, page)
    assert page.timed(bench, **fields).status_code == 422
    assert page.timed(bench).json()["status"] == "timed"


def test_an_end_is_told_once(live: Live) -> None:
    page = live.page()
    bench = sent(live, page)
    assert page.timed(bench).status_code == 200
    assert problem(page.timed(bench)) == (409, "wrong-state")
    assert problem(live.client.post(f"/api/benches/{bench}/cancel")) == (409, "wrong-state")
    assert problem(live.client.get("/api/benches/nonesuch")) == (404, "unknown-bench")


def test_before_the_check_nothing_is_taken(live: Live) -> None:
    page = live.page()
    bench = ask(live)
    job = page.next_event("job")
    assert problem(page.timed(bench)) == (409, "wrong-state")
    page.work(job)


@pytest.mark.parametrize("when", ["checking", "sent"])
def test_a_benchmark_is_called_off_at_any_time(live: Live, when: str) -> None:
    page = live.page()
    if when == "sent":
        bench, event = sent(live, page), "bench-cancel"
    else:
        bench, event = ask(live), "cancel"
        page.next_event("job")
    assert live.client.post(f"/api/benches/{bench}/cancel").status_code == 204
    report = ended(live, bench)
    assert (report["status"], report["message"]) == ("error", "stopped before it was done")
    assert page.next_event(event)
    assert live.submit(CASE)
    assert page.next_event("job"), "the page is free"


def test_a_page_that_says_nothing_is_late_and_one_that_gets_on_is_not(serve: Serve) -> None:
    live = serve(deadline_grace_s=0)
    page = live.page()
    bench = sent(live, page)
    task = benches(live).get(bench)
    assert task is not None
    for n in range(4):
        task.sent_at -= 0.7 * task.deadline_s  # as if so long had passed
        progress(page, bench, n)
    assert read(live, bench)["state"] == "sent"
    task.sent_at -= task.deadline_s
    report = ended(live, bench)
    assert (report["status"], report["error"]["kind"]) == ("error", "timeout")
    assert "samples, 3 of 30" in report["message"]


def test_a_page_that_repeats_itself_hangs(serve: Serve) -> None:
    live = serve(deadline_grace_s=0)
    page = live.page()
    bench = sent(live, page)
    task = benches(live).get(bench)
    assert task is not None
    for _ in range(3):
        body = {"phase": "wall", "done": 0, "total": 10}
        page.http.post(f"/api/benches/{bench}/progress", json=body)
        task.sent_at -= 0.4 * task.deadline_s  # it is not kept alive by what it repeats
    assert ended(live, bench)["error"]["kind"] == "timeout"


def test_a_page_that_goes_away_ends_it(serve: Serve) -> None:
    live = serve(page_lost_s=0.1)
    page = live.page()
    bench = sent(live, page)
    page.close()
    assert ended(live, bench)["error"]["kind"] == "device-lost"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"case": "forward:T=8"}, 422),
        ({"case": CASE, "samples": 29}, 422),
        ({"case": CASE, "samples": 10_001}, 422),
        ({"case": CASE, "kernel": "non,sense"}, 422),
        ({"case": CASE, "unknown": 1}, 422),
        ({}, 422),
    ],
)
def test_a_bad_request_is_refused(live: Live, body: dict[str, Any], status: int) -> None:
    assert live.client.post("/api/benches", json=body).status_code == status


def test_kernel_and_seed_go_into_the_case(live: Live) -> None:
    bench = ask(live, kernel="baseline", seed="0x10", page="nobody-is-here-yet")
    assert read(live, bench)["case"] == f"{CASE},seed=16,kernel=baseline"
    live.client.post(f"/api/benches/{bench}/cancel")


@pytest.mark.parametrize(
    "options",
    [
        {"tuned": {"kernels": {"fa2_forward": [{"TX": float("nan")}]}}},
        {"tuned": {"kernels": {1, 2}}},
        {"own": {"files": {}, "manifest": {"constants": float("inf")}}},
        {"timeout_s": float("nan")},
        {"timeout_s": float("inf")},
    ],
)
def test_options_that_are_no_json_are_refused_where_they_are_given(
    live: Live, options: dict[str, Any]
) -> None:
    before = len(benches(live).all()), len(live.store.all())
    for submit in (benches(live).submit, live.store.submit):
        with pytest.raises(CaseError, match=r"cannot be told to a page.*plain JSON"):
            submit(Case.parse(CASE), **options)
    assert (len(benches(live).all()), len(live.store.all())) == before


def test_options_that_runs_of_one_request_share_are_looked_at_once(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[Run] = []
    monkeypatch.setattr(Run, "demand_sendable", lambda run: looked.append(run))
    runs = live.store.submit_all([f"{CASE},seed={seed}" for seed in (1, 2, 3)], page="nobody")
    assert (len(runs), looked) == (3, runs[:1])
    for run in runs:
        live.store.cancel(run.id)


def test_a_number_of_samples_may_be_numpys(live: Live) -> None:
    page = "waits-for-numpys-samples"  # what other tests have asked for may come late
    bench = benches(live).submit(Case.parse(CASE), samples=np.int64(40), page=page)
    assert read(live, bench.id)["wanted_samples"] == 40
    bench.demand_sendable()
    assert [run for run in live.store.all() if run.page == page] == [bench.run]
    live.client.post(f"/api/benches/{bench.id}/cancel")


@pytest.mark.parametrize("samples", [np.int64(29), float("nan"), 10_001])
def test_samples_that_are_refused_leave_no_run(live: Live, samples: Any) -> None:
    before = len(live.store.all())
    with pytest.raises(CaseError, match="30 to 10000"):
        benches(live).submit(Case.parse(CASE), samples=samples)
    assert len(live.store.all()) == before


def test_too_many_wait_and_old_ones_are_forgotten(serve: Serve) -> None:
    live = serve(max_queued_benches=1, max_benches=2)
    bench = ask(live)
    assert problem(live.client.post("/api/benches", json={"case": CASE})) == (503, "queue-full")
    live.client.post(f"/api/benches/{bench}/cancel")
    for _ in range(2):
        other = ask(live)
        live.client.post(f"/api/benches/{other}/cancel")
        ended(live, other)
    assert problem(live.client.get(f"/api/benches/{bench}")) == (404, "unknown-bench")


def test_a_server_that_stops_ends_what_is_unfinished(serve: Serve) -> None:
    live = serve()
    store, page = benches(live), live.page()
    checking = store.get(ask(live, page="nobody-is-here-yet"))
    timing = store.get(sent(live, page))
    assert checking is not None
    assert timing is not None
    live.server.should_exit = True
    for bench in (checking, timing):
        assert bench.future.result(5).message == "the server was stopped"
