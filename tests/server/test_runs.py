"""What happens when time runs out, who judges, what is kept, and the store within the process."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from conftest import CASE, Live, Serve, finished

import server.judging
import server.report
from server.cases import Case
from server.errors import CaseError, PageError, ShapeError
from server.outputs import want
from server.pages import Pages
from server.poison import new_poison
from server.run import Run
from server.runs import RunStore
from server.settings import Settings

# Time


def test_a_run_past_its_deadline_is_a_timeout_and_the_next_one_passes(serve: Serve) -> None:
    live = serve(deadline_grace_s=0.1)
    page = live.page()
    run = live.store.submit(CASE, timeout_s=0.1)
    job = page.next_event("job")
    report = run.future.result(3)
    assert report.status == "error"
    assert report.error is not None
    assert report.error.kind == "timeout"
    assert "--timeout" in report.message
    assert page.next_event("cancel") == {"run": run.id}
    assert page.done(job).status_code == 409
    following = live.submit(CASE)
    assert page.work(page.next_event("job"))["case"] == CASE
    assert finished(live, following)["status"] == "pass"


def test_large_results_get_time_to_travel() -> None:
    small, large = (
        Run(case, 4.0, {spec.name: spec for spec in want(case)}, deadline_s=1.0, state="sent")
        for case in (Case.parse(CASE), Case.parse("forward:T=1000,H=10,D=100"))
    )
    small.sent_at = large.sent_at = time.monotonic() - 1.5
    assert small.overdue_s > 0.4
    assert large.overdue_s < 0, "8 MB at 10 MB/s"


def test_a_page_that_let_a_deadline_pass_is_chosen_last(serve: Serve) -> None:
    live = serve(deadline_grace_s=0.05)
    stuck, other = live.page(), live.page()
    live.store.submit(CASE, timeout_s=0.05).future.result(3)
    run = live.submit(CASE)
    assert other.next_event("job")["run"] == run
    assert stuck.next_event("cancel")
    assert other.work({"run": run, **job_of(live, run)})["status"] == "pass"


def job_of(live: Live, run: str) -> dict[str, object]:
    found = live.store.get(run)
    assert found is not None
    return found.job()


def test_a_queued_run_has_no_deadline(serve: Serve) -> None:
    live = serve(deadline_grace_s=0)
    run = live.store.submit(CASE, timeout_s=0.05)
    time.sleep(0.3)
    assert run.state == "queued"
    page = live.page()
    page.next_event("job")
    assert run.future.result(3).status == "error", "it counts from being sent"


# The judge


def test_a_run_is_judged_off_the_loop(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    page = live.page()
    honest, asked = server.judging.judge, threading.Event()

    def slow(*args: object, **kwargs: object) -> object:
        assert asked.wait(10), "nobody could ask while it was at work"
        return honest(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(server.judging, "judge", slow)
    run, following = live.submit(CASE), live.submit(CASE)
    job = page.next_event("job")
    with ThreadPoolExecutor() as pool:
        report = pool.submit(page.work, job)
        assert page.next_event("job")["run"] == following, "the page need not wait for the judge"
        assert live.client.get(f"/api/runs/{run}").json()["state"] == "judging"
        assert live.client.post(f"/api/runs/{run}/cancel").status_code == 409
        asked.set()
        assert report.result(5)["status"] == "pass"
    live.client.post(f"/api/runs/{following}/cancel")


def test_a_judge_that_fails_is_an_error_not_a_hang(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("in the judge")

    monkeypatch.setattr(server.judging, "judge", broken)
    page = live.page()
    live.submit(CASE)
    report = page.work(page.next_event("job"))
    assert (report["status"], "in the judge" in report["message"]) == ("error", True)


def test_a_report_on_a_failed_judge_that_fails_too_is_an_error_not_a_hang(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("in the judge")

    def broken_too(*_: object, **__: object) -> None:
        raise TypeError("in the report")

    page = live.page()
    with monkeypatch.context() as patched:
        patched.setattr(server.judging, "judge", broken)
        patched.setattr(server.report, "failed_to_run", broken_too)
        for _ in range(server.judging.AT_ONCE + 1):
            run = live.submit(CASE)
            report = page.work(page.next_event("job"))
            assert (report["status"], "in the report" in report["message"]) == ("error", True)
            assert finished(live, run) == report
            assert page.next_event("verdict")["run"] == run
    live.submit(CASE)
    assert page.work(page.next_event("job"))["status"] == "pass", "the judge has a place again"


def test_a_run_whose_verdict_cannot_be_told_ends_and_is_evicted_like_any_other(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = server.report.Report.to_dict
    told = []

    def broken_once(self: server.report.Report) -> dict[str, object]:
        told.append(self)
        if len(told) == 1:
            raise TypeError("no JSON")
        return honest(self)

    live = serve(max_runs=1)
    page = live.page()
    monkeypatch.setattr(server.report.Report, "to_dict", broken_once)
    run, following = live.submit(CASE), live.submit(CASE)
    assert page.work(page.next_event("job"))["status"] == "pass"
    assert finished(live, run)["status"] == "pass"
    job = page.next_event("job")
    assert (job["run"], page.work(job)["status"]) == (following, "pass")
    assert [row["run"] for row in live.client.get("/api/runs").json()] == [following]


# What is kept


def test_the_oldest_finished_runs_are_evicted_and_no_other(serve: Serve) -> None:
    live = serve(max_runs=3)
    page = live.page()
    oldest_but_queued = live.submit(CASE, page="elsewhere")
    done = []
    for _ in range(5):
        done.append(live.submit(CASE))
        page.work(page.next_event("job"))
    kept = {row["run"] for row in live.client.get("/api/runs").json()}
    assert kept == {oldest_but_queued, *done[-3:]}
    assert live.client.get(f"/api/runs/{done[0]}").json()["type"] == "urn:fa2:problem:unknown-run"


def test_unfinished_runs_beyond_the_cap_are_all_kept(serve: Serve) -> None:
    live = serve(max_runs=2)
    page = live.page()
    runs = [live.submit(CASE) for _ in range(6)]
    for run in runs:
        job = page.next_event("job")
        assert job["run"] == run
        assert page.work(job)["status"] == "pass"
        assert live.client.get(f"/api/runs/{run}").json()["status"] == "pass", "and can be read"


def test_tensors_are_dropped_before_reports(serve: Serve) -> None:
    live = serve(max_kept_bytes=0)
    page = live.page()
    first, second = live.submit(CASE), live.submit(CASE)
    for _ in (first, second):
        page.work(page.next_event("job"))
    assert live.client.get(f"/api/runs/{first}").json()["status"] == "pass"
    gone = live.client.get(f"/api/runs/{first}/tensors/o")
    assert (gone.status_code, gone.json()["type"]) == (404, "urn:fa2:problem:no-tensor")
    assert live.client.get(f"/api/runs/{second}/tensors/o").status_code == 200, "the newest stays"


def test_a_full_queue_is_refused(serve: Serve) -> None:
    live = serve(max_queued=3)
    for _ in range(3):
        live.submit(CASE)
    response = live.client.post("/api/runs", json={"case": CASE})
    assert (response.status_code, response.json()["type"]) == (503, "urn:fa2:problem:queue-full")
    assert live.client.post("/api/runs", json={"suite": "seed"}).status_code == 503


# In the process


def test_submit_works_from_many_threads(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    page = live.page()
    accept = live.store._accept
    threads = set()

    def watched(run: Run) -> None:
        threads.add(threading.current_thread())
        accept(run)

    monkeypatch.setattr(live.store, "_accept", watched)
    with ThreadPoolExecutor(8) as pool:
        runs = list(pool.map(lambda i: live.store.submit(f"{CASE},seed={i}"), range(1, 25)))
        for _ in runs:
            page.work(page.next_event("job"))
    assert [run.future.result(5).case for run in runs] == [f"{CASE},seed={i}" for i in range(1, 25)]
    assert threads == {live.thread}, "the store changes on the loop's thread only"


def test_a_future_cannot_be_cancelled_behind_the_store(live: Live) -> None:
    run = live.store.submit(CASE)
    assert not run.future.cancel()
    live.store.cancel(run.id)
    assert run.future.result(2).status == "error"


def test_submit_refuses_what_cannot_run() -> None:
    store = RunStore(Settings(max_run_bytes=1000), Pages(Settings()))
    with pytest.raises(PageError, match="not running"):
        RunStore(Settings(), Pages(Settings())).submit(CASE)
    with pytest.raises(CaseError, match="FA2_MAX_RUN_BYTES"):
        store.submit(CASE)
    with pytest.raises(CaseError):
        store.submit("forward:T=0")


def test_submit_refuses_arrays_that_do_not_fit(live: Live) -> None:
    q = np.zeros((1, 8, 2, 4), np.float32)
    with pytest.raises(ShapeError, match="takes the arrays"):
        live.store.submit(CASE, inputs={"q": q, "k": q})
    with pytest.raises(ShapeError, match="has the shape"):
        live.store.submit(CASE, inputs={"q": q, "k": q, "v": q[:, :4]})


def test_a_caller_may_change_its_arrays_after_submitting(live: Live) -> None:
    page = live.page()
    arrays = {name: np.ones((1, 8, 2, 4), np.float32) for name in "qkv"}
    live.store.submit(CASE, inputs=arrays)
    arrays["q"][:] = 7
    assert (page.inputs(page.next_event("job"))["q"] == 1).all()
    for row in live.client.get("/api/runs").json():
        if row["state"] == "sent":
            live.client.post(f"/api/runs/{row['run']}/cancel")


def test_poison_repeats_only_after_a_long_time() -> None:
    words = [word for _ in range(1000) for word in new_poison()]
    assert len(set(words)) == 2000
    assert Run(Case.parse(CASE), 4.0, {}, deadline_s=1.0).poison[0] not in words


# Edited texts


def test_edited_texts_go_to_the_page_and_into_the_report(live: Live) -> None:
    page = live.page()
    body = {"case": CASE, "shaders": {"common/params.wgsl": "// mine"}, "trace": {"i_tile": 1}}
    run = live.client.post("/api/runs", json=body).json()["runs"][0]
    job = page.next_event("job")
    assert job["shaders"] == body["shaders"]
    assert job["trace"] == {"b": 0, "h": 0, "i_tile": 1}
    assert page.work(job)["edited"] == ["common/params.wgsl"]
    assert finished(live, run)["edited"] == ["common/params.wgsl"]


@pytest.mark.parametrize("name", ["../server/app.py", "/etc/passwd", "new.wgsl", "common"])
def test_only_shader_files_can_be_edited(live: Live, name: str) -> None:
    answer = live.client.post("/api/runs", json={"case": CASE, "shaders": {name: ""}})
    assert answer.status_code == 422
    assert name in answer.json()["detail"]


def test_observers_see_every_finished_run_and_cannot_break_it(serve: Serve) -> None:
    live = serve()  # its own: the broken one would be told of the runs of later tests
    seen = []

    def broken(*_: object) -> None:
        raise RuntimeError("mine")

    live.store.observers += [broken, lambda run, report: seen.append((run.id, report.status))]
    page = live.page()
    run = live.submit(CASE)
    page.work(page.next_event("job"))
    assert finished(live, run)["status"] == "pass"
    assert seen == [(run, "pass")]


@pytest.mark.parametrize(
    ("settings", "body"),
    [({}, {"trace": {"h": 2}}), ({"max_run_bytes": 200_000}, {})],
)
def test_a_suite_of_which_one_case_is_refused_leaves_no_runs_behind(
    serve: Serve, settings: dict[str, int], body: dict[str, object]
) -> None:
    live = serve(**settings)
    answer = live.client.post("/api/runs", json={"suite": "seed", **body})
    assert answer.status_code == 422, answer.text
    assert live.client.get("/api/runs").json() == []
