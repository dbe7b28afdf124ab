"""Edited texts and kernels of one's own are kept of the newest runs, as their bytes allow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from conftest import CASE, Live, Serve
from fake_page import FakePage
from test_history_routes import known
from test_own_runs import OWN

PARAMS = "common/params.wgsl"


def edited(live: Live, page: FakePage, text: str) -> str:
    """The id of a finished run with this text."""
    run = live.submit(CASE, page=page.id, shaders={PARAMS: text})
    assert page.work(page.next_event("job"))["status"] == "pass"
    return run


def like(live: Live, run: str, **body: Any) -> Any:
    body = {"case": CASE, "page": "elsewhere", "like": run, **body}
    return live.client.post("/api/runs", json=body)


def test_texts_of_the_oldest_finished_runs_go_first_by_their_bytes(serve: Serve) -> None:
    live = serve(max_text_bytes=250_000)
    page = live.page()
    runs = [edited(live, page, f"// {n}" + " " * 100_000) for n in range(4)]
    assert [like(live, run).status_code for run in runs] == [410, 410, 201, 201]
    assert live.run(runs[-1]).text_bytes > 100_000
    assert sum(run.text_bytes for run in live.store.all() if run.finished) < 250_000
    told = live.client.get(f"/api/runs/{runs[0]}").json()
    assert (told["status"], told["edited"]) == ("pass", [PARAMS])  # the report stays


def test_what_is_gone_is_said_by_name_with_the_way_out(serve: Serve) -> None:
    live = serve(max_text_bytes=0)
    page = live.page()
    run = live.client.post("/api/runs", json={"case": CASE, "page": page.id, "own": OWN}).json()
    page.work(page.next_event("job"))
    newest = edited(live, page, "// newer")
    answer = like(live, run["runs"][0])
    problem = answer.json()
    assert (answer.status_code, problem["type"]) == (410, "urn:fa2:problem:no-texts")
    assert "ran mine.wgsl, whose text is not kept" in problem["detail"]
    assert f"fa2 repro {run['runs'][0]}" in problem["detail"]
    assert like(live, newest).status_code == 201, "the newest stays, however large"


def test_a_run_whose_texts_are_all_sent_again_needs_none_of_those_that_are_gone(
    serve: Serve,
) -> None:
    live = serve(max_text_bytes=0)
    page = live.page()
    texts = {PARAMS: "// 1", "common/masking.wgsl": "// 2"}
    first = live.submit(CASE, page=page.id, shaders=texts)
    page.work(page.next_event("job"))
    # A kernel of one's own whose file is called like one of ours, which is not the same text.
    mine = {**OWN, "files": {"fa2_forward.wgsl": OWN["files"]["mine.wgsl"]}}
    own = live.submit(CASE, page=page.id, own=mine)
    page.work(page.next_event("job"))
    edited(live, page, "// newer")
    half = like(live, first, shaders={PARAMS: "// 3"})
    assert half.status_code == 410
    assert "ran common/masking.wgsl, whose text" in half.json()["detail"]
    assert like(live, first, shaders=texts).status_code == 201
    assert like(live, own, shaders={"fa2_forward.wgsl": "// 4"}).status_code == 410
    assert like(live, own, own=mine).status_code == 201


def test_a_wide_character_counts_as_the_memory_that_it_takes(serve: Serve) -> None:
    live = serve(max_text_bytes=300_000)
    page = live.page()
    first = edited(live, page, "// plain" + " " * 100_000)
    edited(live, page, "// 🙂" + " " * 100_000)  # four bytes a character in memory
    assert like(live, first).status_code == 410


def test_the_history_has_texts_that_memory_has_let_go(serve: Serve, tmp_path: Path) -> None:
    live = serve(max_text_bytes=0, history=tmp_path / "history.db")
    page = live.page()
    first = edited(live, page, "// first")
    edited(live, page, "// second")
    assert like(live, first).status_code == 410
    assert live.app.state.history.texts(known(live, first))[PARAMS] == "// first"
    assert live.client.get(f"/api/history/{first}/repro.zip").status_code == 200


def test_a_benchmark_is_sent_and_kept_with_its_texts_though_its_check_has_let_go(
    serve: Serve, tmp_path: Path
) -> None:
    live = serve(max_text_bytes=0, history=tmp_path / "history.db")
    page, other = live.page(), live.page()
    body = {"case": CASE, "page": page.id, "own": OWN}
    bench = live.client.post("/api/benches", json=body).json()
    check = page.next_event("job")
    live.submit(CASE, page=page.id)  # which keeps the page from timing at once
    page.work(check)
    between = page.next_event("job")
    edited(live, other, "// newer")
    assert live.run(bench["run"]).own is None
    page.work(between)
    assert page.next_event("bench")["own"]["files"] == OWN["files"]
    answer = page.timed(bench["bench"], kernel="mine")
    assert answer.status_code == 200, answer.text
    texts = live.app.state.history.texts(known(live, bench["run"]))
    assert texts["own/mine.wgsl"] == OWN["files"]["mine.wgsl"]
