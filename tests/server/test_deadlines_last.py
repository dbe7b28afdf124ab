"""Nothing that a page says of one task ends the deadlines of the others."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from conftest import CASE, Live, Serve
from fake_training import ask

from server.reaper import reap
from server.run import Run
from server.settings import Settings

HUGE = "1" + 400 * "0"  # an integer that JSON has and no float holds


def started(live: Live, kind: str) -> tuple[Any, str]:
    """A page that has a task, and the task's path."""
    page = live.page()
    if kind == "runs":
        return page, f"/api/runs/{live.submit(CASE)}"
    if kind == "trainings":
        return page, f"/api/trainings/{ask(live)}"
    answer = live.client.post("/api/benches", json={"case": CASE})
    page.work(page.next_event("job"))
    page.next_event("bench")
    return page, answer.headers["location"]


@pytest.mark.parametrize("kind", ["runs", "benches", "trainings"])
@pytest.mark.parametrize("number", [HUGE, str(2**63), "-1"])
@pytest.mark.parametrize("name", ["done", "total"])
@pytest.mark.usefixtures("micro")
def test_progress_is_a_number_that_can_be_shown(
    live: Live, kind: str, number: str, name: str
) -> None:
    page, path = started(live, kind)
    phase = {"runs": "run", "benches": "samples", "trainings": "step"}[kind]
    body = f'{{"phase": "{phase}", "{name}": {number}}}'
    json = {"Content-Type": "application/json"}
    answer = page.http.post(f"{path}/progress", content=body, headers=json)
    assert (answer.status_code, answer.json()["type"]) == (422, "urn:fa2:problem:invalid")
    assert live.client.post(f"{path}/cancel").status_code == 204


def test_a_task_that_cannot_be_watched_ends_and_the_others_still_have_deadlines(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    live = serve(deadline_grace_s=0.0)
    first, second = live.page(), live.page()
    sound = vars(Run)["overdue_s"].fget

    def overdue_s(run: Run) -> float:
        if run.page == first.id:
            raise OverflowError("in the watch")
        return float(sound(run))

    monkeypatch.setattr(Run, "overdue_s", property(overdue_s))
    runs = [live.store.submit(CASE, page=page.id, timeout_s=0.2) for page in (first, second)]
    with caplog.at_level(logging.CRITICAL, "server"):
        broken, late = (run.future.result(5) for run in runs)
    assert (broken.status, "in the watch" in broken.message) == ("error", True)
    assert late.error is not None
    assert late.error.kind == "timeout"
    assert first.next_event("cancel") == {"run": runs[0].id}


def test_a_task_that_cannot_even_be_ended_does_not_keep_the_others(live: Live) -> None:
    ended = []

    class Store:
        def unfinished(self) -> list[Any]:
            return [Broken(), Broken()]

        def fail(self, task: Any, kind: str, message: str, /) -> None:
            ended.append(kind)
            raise RuntimeError(message)

    class Broken:
        id = "7f"

        @property
        def state(self) -> str:
            raise ValueError("no state")

    with pytest.MonkeyPatch.context() as quiet:
        quiet.setattr(logging.getLogger("server"), "disabled", True)
        reap([Store()], live.pages, Settings())
    assert ended == ["error", "error"]
