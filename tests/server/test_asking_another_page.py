"""A run that one page asks for and another one does; names of pages; waiting for a verdict."""

from __future__ import annotations

import time
from typing import Any

from conftest import CASE, Live


def test_the_page_that_asks_is_told_of_progress_and_verdict(live: Live) -> None:
    asker, doer = live.page(), live.page()
    run = live.submit(CASE, page=doer.id, asker=asker.id)
    job = doer.next_event("job")
    body = {"phase": "compile", "done": 0, "total": 1}
    doer.http.post(f"/api/runs/{run}/progress", json=body)
    assert asker.next_event("progress") == {"run": run, "progress": body}
    report = doer.work(job)
    assert asker.next_event("verdict") == {"run": run, "report": report}
    assert doer.next_event("verdict")["run"] == run
    assert asker.silent(), "the job went to one page only"


def test_a_page_that_asks_itself_is_told_once(live: Live) -> None:
    page = live.page()
    run = live.submit(CASE, page=page.id, asker=page.id)
    job = page.next_event("job")
    body = {"phase": "compile", "done": 0, "total": 1}
    page.http.post(f"/api/runs/{run}/progress", json=body)
    page.work(job)
    assert page.next_event("verdict")["run"] == run
    assert page.silent()


def test_the_asker_hears_of_a_cancelled_run(live: Live) -> None:
    asker, doer = live.page(), live.page()
    run = live.submit(CASE, page=doer.id, asker=asker.id)
    doer.next_event("job")
    live.client.post(f"/api/runs/{run}/cancel")
    assert doer.next_event("cancel") == {"run": run}
    assert asker.next_event("verdict")["report"]["status"] == "error"


def listed(live: Live, page: str) -> dict[str, Any]:
    (found,) = [one for one in live.client.get("/api/pages").json() if one["page"] == page]
    return dict(found)


def test_a_page_is_listed_with_its_name_and_with_what_it_does(live: Live) -> None:
    page = live.page(label="pixel8")
    run = live.submit(CASE, page=page.id)
    found = listed(live, page.id)
    assert (found["label"], found["run"], found["doing"]) == ("pixel8", run, CASE)
    renamed = live.client.post(f"/api/pages/{page.id}/label", json={"label": " my phone "})
    assert renamed.status_code == 204
    page.work(page.next_event("job"))
    found = listed(live, page.id)
    assert (found["label"], found["doing"]) == ("my phone", None)


def test_a_name_is_bounded_and_needs_a_page(live: Live) -> None:
    long = {"label": "x" * 61}
    assert live.client.get(f"/api/pages/{'p' * 20}/jobs", params=long).status_code == 422
    page = live.page(label="  pixel8 ")
    assert listed(live, page.id)["label"] == "pixel8"
    refused = live.client.post(f"/api/pages/{page.id}/label", json={"label": "x" * 61})
    assert refused.status_code == 422
    assert live.client.post("/api/pages/nobody/label", json={"label": "x"}).status_code == 404


def test_a_verdict_can_be_waited_for(live: Live) -> None:
    page = live.page()
    run = live.submit(CASE, page=page.id)
    began = time.monotonic()
    assert live.client.get(f"/api/runs/{run}?wait=0.1").json()["state"] == "sent"
    assert 0.1 <= time.monotonic() - began < 10
    page.work(page.next_event("job"))
    assert live.client.get(f"/api/runs/{run}?wait=9").json()["status"] == "pass"
    assert live.client.get(f"/api/runs/{run}?wait=31").status_code == 422


def test_a_run_may_bring_its_own_deadline(live: Live) -> None:
    page = live.page()
    run = live.submit(CASE, page=page.id, timeout_s=7)
    assert 7000 <= page.next_event("job")["deadline_ms"] < 7100
    live.client.post(f"/api/runs/{run}/cancel")
    refused = live.client.post("/api/runs", json={"case": CASE, "timeout_s": 0})
    assert refused.status_code == 422
