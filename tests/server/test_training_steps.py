"""The steps of a training, one by one, and every way in which it can end early."""

from __future__ import annotations

import time
from typing import Any

import pytest
from conftest import CASE, SLOW_STEP_S, Live, Serve
from fake_training import ask, done, ended, problem, read, send, train, trainings

from server.gpt import Twin

pytestmark = pytest.mark.usefixtures("micro")


# Steps


@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [
        ({"first": 3, "losses": [1.0], "elapsed_ns": [1]}, 409, "duplicate"),
        ({"first": 5, "losses": [1.0], "elapsed_ns": [1]}, 409, "missing-steps"),
        ({"first": 0, "losses": [1.0], "elapsed_ns": [1]}, 422, "invalid"),
        ({"first": 4, "losses": [1.0] * 48, "elapsed_ns": [1] * 48}, 422, "invalid"),
        ({"first": 4, "losses": [1.0], "elapsed_ns": [1, 1]}, 422, "invalid"),
        ({"first": 4, "losses": [], "elapsed_ns": []}, 422, "invalid"),
        ({"first": 4, "losses": [1.0] * 1001, "elapsed_ns": [1] * 1001}, 422, "invalid"),
        ({"first": 4, "losses": ["many"], "elapsed_ns": [1]}, 422, "invalid"),
        ({"first": 4, "losses": [None], "elapsed_ns": [1]}, 422, "invalid"),
        ({"first": 4, "losses": [1.0], "elapsed_ns": [-1]}, 422, "invalid"),
    ],
    ids=["again", "gap", "zero", "too many", "times", "none", "flood", "word", "null", "negative"],
)
def test_steps_out_of_order_and_out_of_shape_change_nothing(
    live: Live, truth: list[float], body: dict[str, Any], status: int, kind: str
) -> None:
    page = live.page()
    training = ask(live)
    page.next_event("train")
    assert send(page, training, 1, truth[:3]).status_code == 204
    assert problem(page.http.post(f"/api/trainings/{training}/steps", json=body)) == (status, kind)
    assert read(live, training)["losses"] == truth[:3]
    live.client.post(f"/api/trainings/{training}/cancel")


def test_nobody_can_add_to_a_training_that_is_queued_or_over(live: Live) -> None:
    page = live.page()
    training = ask(live, gate="none", steps=1, page="elsewhere")
    for state in ("queued", "error"):
        assert read(live, training)["state"] == state
        assert problem(send(page, training, 1, [5.0])) == (409, "wrong-state")
        assert problem(done(page, training, 1)) == (409, "wrong-state")
        answer = page.http.post(f"/api/trainings/{training}/progress", json={"phase": "step"})
        assert problem(answer) == (409, "wrong-state")
        live.client.post(f"/api/trainings/{training}/cancel")


def test_progress_is_shown_until_the_step_is_done(live: Live, truth: list[float]) -> None:
    page = live.page()
    training = ask(live)
    page.next_event("train")
    body = {"phase": "step", "done": 0.25, "total": 1}
    assert page.http.post(f"/api/trainings/{training}/progress", json=body).status_code == 204
    assert read(live, training)["progress"] == body
    send(page, training, 1, truth[:1])
    assert read(live, training)["progress"] is None
    body["phase"] = "lunch"
    answer = page.http.post(f"/api/trainings/{training}/progress", json=body)
    assert problem(answer) == (422, "invalid")
    live.client.post(f"/api/trainings/{training}/cancel")


# Ends


def test_a_page_that_vanishes_is_an_error_that_keeps_its_losses(
    serve: Serve, truth: list[float]
) -> None:
    live = serve(page_lost_s=0.1)
    page = live.page()
    training = ask(live)
    page.next_event("train")
    send(page, training, 1, truth[:5])
    page.close()
    told = ended(live, training)
    assert (told["status"], told["error"]["kind"]) == ("error", "device-lost")
    assert "went away before it was done (after 5 of 50 steps)" in told["message"]
    assert told["losses"] == truth[:5]


def test_a_step_past_its_deadline_is_a_timeout_and_each_step_has_its_own(serve: Serve) -> None:
    live = serve(deadline_grace_s=0)
    page = live.page()
    training = ask(live, gate="none")
    page.next_event("train")
    task = trainings(live).get(training)
    assert task is not None
    for step in range(1, 4):
        task.sent_at -= 0.7 * task.deadline_s  # as if so long had passed
        assert send(page, training, step, [5.0]).status_code == 204
    task.sent_at -= task.deadline_s
    told = ended(live, training)
    assert (told["status"], told["error"]["kind"]) == ("error", "timeout")
    assert f"no step within {task.deadline_s:g} s" in told["message"]
    assert "after 3 of 100 steps" in told["message"]
    assert page.next_event("train-cancel") == {"training": training}
    assert done(page, training, 3).status_code == 409


def test_a_training_is_stopped_queued_or_sent_and_the_page_is_free_again(live: Live) -> None:
    queued = ask(live)
    assert live.client.post(f"/api/trainings/{queued}/cancel").status_code == 204
    assert (read(live, queued)["state"], "stopped" in read(live, queued)["message"]) == (
        "error",
        True,
    )
    page = live.page()
    training = ask(live)
    run = live.submit(CASE)
    page.next_event("train")
    assert live.client.get(f"/api/runs/{run}").json()["state"] == "queued", "one thing at a time"
    assert live.client.post(f"/api/trainings/{training}/cancel").status_code == 204
    assert page.next_event("train-cancel") == {"training": training}
    assert page.work(page.next_event("job"))["status"] == "pass"
    again = live.client.post(f"/api/trainings/{training}/cancel")
    assert problem(again) == (409, "wrong-state")


def test_the_twin_of_a_stopped_training_stops(live: Live, slow_twin: list[Twin]) -> None:
    page = live.page()
    training = ask(live)
    page.next_event("twin")
    first = slow_twin[0]
    live.client.post(f"/api/trainings/{training}/cancel")
    following = ask(live)
    for _ in range(2):  # by the second step of the next one, the step that was under way is done
        while page.next_event("twin")["training"] != following:
            pass  # what the first twin had told before
    steps = slow_twin.count(first)
    time.sleep(3 * SLOW_STEP_S)
    assert slow_twin.count(first) == steps
    for row in live.client.get("/api/trainings").json():
        live.client.post(f"/api/trainings/{row['training']}/cancel")


def test_a_training_that_may_have_been_lost_is_sent_again(live: Live, truth: list[float]) -> None:
    page = live.page()
    ask(live)
    page.next_event("train")  # into a connection that dies
    page.close()
    page.gone(live.pages)
    again = live.page(page.id)
    assert train(again, truth)["status"] == "pass"


def test_a_stopping_server_ends_trainings(serve: Serve) -> None:
    live = serve()
    page = live.page()
    running, waiting = ask(live), ask(live, page="nobody")
    page.next_event("train")
    futures = [trainings(live).get(one) for one in (running, waiting)]
    live.server.should_exit = True
    for training in futures:
        assert training is not None
        assert training.future.result(5).message == "the server was stopped"
