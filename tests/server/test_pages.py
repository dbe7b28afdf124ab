"""Which page gets a run, and what happens when pages come, go and stay away."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

from conftest import CASE, Live, Serve, finished

from server.settings import Settings

# Who gets it


def test_a_run_without_any_page_waits_for_one(live: Live) -> None:
    run = live.submit(CASE)
    assert live.client.get(f"/api/runs/{run}").json()["state"] == "queued"
    assert live.page().next_event("job")["run"] == run
    live.client.post(f"/api/runs/{run}/cancel")


def test_a_run_goes_to_the_page_that_asked_for_it(live: Live) -> None:
    first, second = live.page(), live.page()
    run = live.submit(CASE, page=second.id)
    assert second.next_event("job")["run"] == run
    assert first.silent()
    live.client.post(f"/api/runs/{run}/cancel")


def test_a_run_that_names_no_page_goes_to_the_oldest_idle_one(live: Live) -> None:
    pages = [live.page() for _ in range(3)]
    runs = [live.submit(CASE) for _ in range(4)]
    for page, run in zip(pages, runs, strict=False):
        assert page.next_event("job")["run"] == run
    report = pages[1].done({"run": runs[1]}, status="skip", error={"kind": "unsupported"}).json()
    assert report["status"] == "skip"
    assert pages[1].next_event("job")["run"] == runs[3]
    for run in runs:
        live.client.post(f"/api/runs/{run}/cancel")


def test_an_idle_page_gets_the_older_of_what_it_alone_and_what_any_page_may_do(live: Live) -> None:
    page = live.page()
    runs = [live.submit(CASE, page=name) for name in (None, page.id, None, page.id, page.id)]
    live.client.post(f"/api/runs/{runs[3]}/cancel")
    for run in (runs[0], runs[1], runs[2], runs[4]):
        assert page.next_event("job")["run"] == run
        live.client.post(f"/api/runs/{run}/cancel")
    assert page.next_event("cancel")["run"] == runs[4]
    assert page.next_event("verdict")["run"] == runs[4]
    assert page.silent(), "nothing after it"


def test_a_page_without_webgpu_gets_only_what_is_meant_for_it(live: Live) -> None:
    page = live.page()
    lost = {"ok": False, "step": "adapter", "message": "requestAdapter() gave null"}
    assert page.http.post(f"/api/pages/{page.id}/environment", json=lost).status_code == 204
    environment = live.pages.environment(page.id)
    assert environment is not None
    assert (environment["ok"], environment["step"]) == (False, "adapter")
    anyones, its_own = live.submit(CASE), live.submit(CASE, page=page.id)
    assert page.next_event("job")["run"] == its_own
    assert live.client.get(f"/api/runs/{anyones}").json()["state"] == "queued"
    for run in (anyones, its_own):
        live.client.post(f"/api/runs/{run}/cancel")


# Pages that come and go


def test_a_page_that_reconnects_keeps_its_place(live: Live) -> None:
    page = live.page()
    run = live.submit(CASE)
    job = page.next_event("job")
    body = {"phase": "compile", "done": 0, "total": 1}
    page.http.post(f"/api/runs/{run}/progress", json=body)
    again = live.page(page.id)
    assert page.next_event("replaced") == {"page": page.id}
    assert page.ended.wait(2), "one stream a page"
    assert again.silent(), "it has the job already"
    assert again.work(job)["status"] == "pass"
    assert again.next_event("verdict")["run"] == run


def test_a_job_that_may_have_been_lost_is_sent_again(live: Live) -> None:
    page = live.page()
    run = live.submit(CASE)
    page.next_event("job")  # into a connection that dies
    page.close()
    page.gone(live.pages)
    again = live.page(page.id)
    assert again.work(again.next_event("job"))["status"] == "pass"
    assert finished(live, run)["status"] == "pass"


def test_the_run_of_a_page_that_vanishes_is_lost_and_the_next_page_goes_on(serve: Serve) -> None:
    live = serve(page_lost_s=0.1)
    page = live.page()
    lost, waiting = live.submit(CASE), live.submit(CASE)
    page.next_event("job")
    page.close()
    run = live.store.get(lost)
    assert run is not None
    report = run.future.result(3)
    assert report.status == "error"
    assert report.error is not None
    assert report.error.kind == "device-lost"
    assert "went away" in report.message
    assert live.client.get(f"/api/runs/{waiting}").json()["state"] == "queued"
    other = live.page()
    assert other.work(other.next_event("job"))["status"] == "pass"


def test_runs_for_a_page_that_stays_away_are_given_up(serve: Serve) -> None:
    live = serve(page_lost_s=0.05, page_forget_s=0.2)
    page = live.page()
    page.close()
    page.gone(live.pages)
    for name in (page.id, "never-here"):
        report = finished(live, live.submit(CASE, page=name), 3)
        assert (report["status"], name in str(report["message"])) == ("error", True)
    assert live.client.get("/api/pages").json() == []


def test_too_many_pages_are_refused_but_absent_ones_make_room(serve: Serve) -> None:
    live = serve(max_pages=2)
    first, second = live.page(), live.page()
    response = live.client.get("/api/pages/third/jobs")
    assert (response.status_code, response.json()["type"]) == (
        503,
        "urn:fa2:problem:too-many-pages",
    )
    first.close()
    first.gone(live.pages)
    live.page()
    assert not second.ended.is_set()


def test_silent_streams_are_pinged(serve: Serve) -> None:
    live = serve(ping_s=0.05)
    page = live.page()
    end = time.monotonic() + 10
    while page.pings < 3:
        assert time.monotonic() < end
        time.sleep(0.01)
    assert Settings().ping_s <= 5


def test_waiting_for_a_page_ends_either_way(live: Live) -> None:
    began = time.monotonic()
    assert not live.pages.wait_for("nobody", 0.1)
    assert live.pages.wait_for_environment("nobody", 0.1) is None
    assert time.monotonic() - began < 10
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(live.pages.wait_for, "somebody", 5)
        live.page("somebody")
        assert waiting.result(5)
