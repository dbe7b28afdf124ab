"""What a training is asked for, what the page is told, and the verdict on its losses."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from conftest import CASE, Live, Serve
from fake_training import ask, done, ended, problem, read, train, trainings

import server.twins
from server.errors import CaseError
from server.gpt import Twin
from server.training_spec import TrainingSpec

pytestmark = pytest.mark.usefixtures("micro")


# The verdict


def test_losses_like_those_of_numpy_pass_and_everybody_reads_the_same(
    live: Live, truth: list[float]
) -> None:
    page = live.page()
    training = ask(live)
    warned = ["the tuned table of this adapter is not used: why"]
    told = train(page, [1.001 * loss for loss in truth], warnings=warned)

    assert told["state"] == told["status"] == "pass", told
    assert told["worst"] == pytest.approx(0.001)
    assert "worst 0.1 % of 5 % allowed" in told["message"]
    assert told["twin"] == pytest.approx(truth)
    assert told["losses"] == pytest.approx([1.001 * loss for loss in truth])
    assert (told["kernels"], told["size_bytes"]) == (["fa2_forward", "fa2_backward"], 12345)
    assert told["steps_per_s"] == pytest.approx(500)
    assert told["warnings"] == warned
    assert read(live, training) == told
    twin = [page.next_event("twin") for _ in truth]
    assert [event["step"] for event in twin] == list(range(1, 51))
    assert [event["loss"] for event in twin] == told["twin"]
    assert page.next_event("train-verdict") == {"training": training, "report": told}
    (row,) = (r for r in live.client.get("/api/trainings").json() if r["training"] == training)
    assert (row["state"], row["steps_done"], "losses" in row) == ("pass", 50, False)


def test_losses_that_drift_by_six_percent_fail(live: Live, truth: list[float]) -> None:
    page = live.page()
    ask(live)
    told = train(page, [*truth[:30], 1.06 * truth[30], *truth[31:]])
    assert (told["status"], told["worst_step"]) == ("fail", 31)
    assert "worst 6 % of 5 % allowed, at step 31" in told["message"]


@pytest.mark.parametrize("word", ["NaN", "inf", "-inf"])
def test_a_loss_that_is_no_number_fails_also_when_the_page_stops_there(
    live: Live, truth: list[float], word: str
) -> None:
    page = live.page()
    ask(live)
    told = train(page, [*truth[:12], word])
    assert (told["status"], told["worst_step"]) == ("fail", 13)
    assert f"page has the loss {word.lower()} at step 13" in told["message"]
    assert told["losses"][-1] == word


@pytest.mark.parametrize("steps", [0, 1, 49])
def test_too_few_steps_never_pass(live: Live, truth: list[float], steps: int) -> None:
    page = live.page()
    ask(live)
    told = train(page, truth[:steps])
    assert told["status"] == ("fail" if steps else "error")
    assert ("nothing was dispatched" if not steps else f"gave {steps} losses") in told["message"]


@pytest.mark.parametrize("passes", [0, 199, 201])
def test_losses_without_their_attention_are_an_error(
    live: Live, truth: list[float], passes: int
) -> None:
    page = live.page()
    ask(live)
    told = train(page, truth, attention_passes=passes)
    assert (told["status"], told["error"]["kind"]) == ("error", "page")
    assert f"take 200 passes of the attention, the page recorded {passes}" in told["message"]


def test_the_overfit_gate_needs_no_twin(live: Live) -> None:
    page = live.page()
    for factor, status in ((0.97, "pass"), (0.999, "fail")):
        training = ask(live, gate="overfit")
        told = train(page, [5.545 * factor**n for n in range(150)])
        assert told["status"] == status, told["message"]
        assert told["twin"] == []
        assert page.next_event("train-verdict")["training"] == training, "and no event of a twin"


def test_without_a_gate_every_step_has_to_run(live: Live) -> None:
    page = live.page()
    ask(live, gate="none", steps=3)
    assert train(page, [5.0, 6.0, 7.0])["status"] == "pass"
    ask(live, gate="none", steps=3)
    assert train(page, [5.0, 4.0])["status"] == "fail"
    ask(live, gate="bench", attention="baseline")
    assert train(page, [5.5])["message"] == "loss 5.5000 at step 1"


def test_a_page_that_is_faster_than_numpy_waits_for_the_verdict(
    live: Live, truth: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    step, go_on = Twin.step, threading.Event()
    monkeypatch.setattr(Twin, "step", lambda self: go_on.wait(30) and step(self))
    page = live.page()
    training = ask(live)
    with ThreadPoolExecutor() as pool:
        told = pool.submit(train, page, truth)
        while (found := read(live, training))["state"] != "judging":
            time.sleep(0.01)
        assert len(found["losses"]) == 50
        assert len(found["twin"]) < 50
        run = live.submit(CASE)
        assert page.next_event("job")["run"] == run, "the page is free meanwhile"
        assert read(live, training)["state"] == "judging"
        go_on.set()
        assert told.result(10)["status"] == "pass"
    live.client.post(f"/api/runs/{run}/cancel")


@pytest.mark.usefixtures("slow_twin")
def test_a_refusal_or_an_error_of_the_page_is_told_without_waiting(
    live: Live, truth: list[float]
) -> None:
    page = live.page()
    for status, kind, expected, steps in (
        ("skip", "unsupported", "skip", 0),
        ("error", "device-lost", "error", 4),
        ("error", "page", "error", 50),
    ):
        ask(live)
        error = {"kind": kind, "message": "why", "file": "train/add.wgsl", "line": 3}
        told = train(page, truth[:steps], status=status, error=error)
        assert told["error"] == {**error, "column": None}
        assert len(told["twin"]) < 50
        assert (told["status"], told["message"], told["error"]["kind"]) == (expected, "why", kind)
        assert len(told["losses"]) == steps


def test_a_page_that_failed_has_to_say_why(live: Live) -> None:
    page = live.page()
    training = ask(live)
    page.next_event("train")
    for status in ("skip", "error"):
        assert problem(done(page, training, 0, status=status)) == (422, "invalid")
    live.client.post(f"/api/trainings/{training}/cancel")


def test_a_twin_that_fails_is_an_error_not_a_hang(
    live: Live, truth: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: Twin) -> float:
        raise ZeroDivisionError("in NumPy")

    monkeypatch.setattr(server.twins.Twin, "step", broken)
    page = live.page()
    told = ended(live, ask(live))
    assert (told["status"], "in NumPy" in told["message"]) == ("error", True)
    assert page.next_event("train-cancel")


@pytest.mark.usefixtures("slow_twin")
def test_a_twin_that_would_take_too_long_is_a_refusal_with_the_numbers(serve: Serve) -> None:
    live = serve(training_limit_s=1.5)
    live.page()
    told = ended(live, ask(live))
    assert (told["status"], told["error"]["kind"]) == ("skip", "unsupported")
    assert "more than the limit of 1.5 s" in told["message"]


# What the page is told


def test_the_page_is_told_everything_that_it_needs(live: Live) -> None:
    page = live.page()
    training = ask(live, preset="tiny", gate="overfit", attention="baseline", seed="0xff")
    told = page.next_event("train")
    assert told["config"] == {
        "layers": 2,
        "C": 48,
        "T": 32,
        "B": 16,
        "H": 3,
        "D": 16,
        "rate": 0.003,
    }
    assert (told["training"], told["gate"], told["one_batch"]) == (training, "overfit", True)
    assert (told["seed"], told["steps"], told["attention"]) == ("255", 150, "baseline")
    assert (told["limit_ms"], told["measure"], told["shaders"]) == (300_000, False, {})
    assert 20_000 < told["deadline_ms"] < 22_000, "20 s, and 0.2 GFLOP at 1 GFLOP/s"
    assert live.client.post(f"/api/trainings/{training}/cancel").status_code == 204


def test_what_may_take_too_long_is_measured_first(live: Live) -> None:
    page = live.page()
    for body, measured in (
        ({"preset": "small", "gate": "none", "steps": 125}, False),
        ({"preset": "mega", "gate": "none", "steps": 2}, True),
        ({"preset": "small", "gate": "none", "steps": 125, "attention": "baseline"}, True),
        ({"preset": "tiny", "gate": "overfit", "attention": "baseline"}, False),
        ({"preset": "micro", "gate": "bench"}, True),
    ):
        training = ask(live, **body)
        assert page.next_event("train")["measure"] is measured, body
        live.client.post(f"/api/trainings/{training}/cancel")


def test_a_context_replaces_that_of_the_preset(live: Live) -> None:
    page = live.page()
    training = ask(live, context=24, gate="none")
    told = page.next_event("train")
    assert (told["config"]["T"], told["config"]["C"]) == (24, 8)
    live.client.post(f"/api/trainings/{training}/cancel")


# Refused requests


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        ({"preset": "giga"}, 422, "preset=giga: unknown; there are tiny"),
        ({"gate": "wide"}, 422, "gate=wide: unknown; there are drift, overfit, bench, none"),
        ({"attention": "flash3"}, 422, "attention=flash3: unknown; use fa2 or baseline"),
        ({"steps": 49}, 422, "steps=49: the drift gate takes 50 steps"),
        ({"steps": 50}, 201, ""),
        ({"gate": "none", "steps": 0}, 422, "steps=0 must lie between 1 and 10000"),
        ({"gate": "none", "steps": 10_001}, 422, "steps=10001"),
        ({"context": 0, "gate": "none"}, 422, "T=0: give a whole number"),
        ({"context": 20_000, "gate": "none"}, 422, "bytes of the text"),
        ({"seed": str(2**64)}, 422, "below 2⁶⁴"),
        ({"seed": 7}, 422, "string"),
        ({"seed": "-1"}, 422, "pattern"),
        ({"steps": 1.5}, 422, "integer"),
        ({"page": "no/such page"}, 422, "pattern"),
        ({"shaders": {}}, 422, "Extra"),
        ({"preset": "behemoth"}, 422, "FA2_MAX_TWIN_BYTES"),
        ([], 422, ""),
    ],
    ids=str,
)
def test_a_request_that_cannot_be_met_is_refused_by_name(
    live: Live, body: Any, status: int, says: str
) -> None:
    response = live.client.post("/api/trainings", json=body)
    assert response.status_code == status, response.text
    if status == 201:
        live.client.post(f"/api/trainings/{response.json()['training']}/cancel")
    else:
        assert says in response.json()["detail"]
        assert response.headers["content-type"] == "application/problem+json"


def test_malformed_too_large_and_unknown_requests_are_refused(live: Live) -> None:
    post = live.client.post
    json = {"Content-Type": "application/json"}
    path = "/api/trainings"
    assert problem(post(path, content=b'{"gate": NaN}', headers=json)) == (400, "bad-json")
    assert problem(post(path, content=b" " * 1_100_000, headers=json)) == (413, "too-large")
    assert problem(post(path, content=b"{}", headers={"Content-Type": "text/plain"})) == (
        415,
        "not-json",
    )
    for what in ("steps", "progress", "done", "cancel"):
        assert problem(post(f"{path}/nope/{what}", json={})) == (404, "unknown-training")
    assert problem(live.client.get(f"{path}/nope")) == (404, "unknown-training")
    assert live.client.delete(path).status_code == 405
    evil = {"Sec-Fetch-Site": "cross-site"}
    assert problem(post(path, json={"preset": "micro"}, headers=evil)) == (403, "cross-origin")


def test_a_time_that_is_no_number_is_refused_where_it_is_given(live: Live) -> None:
    with pytest.raises(CaseError, match="cannot be told to a page"):
        trainings(live).submit(TrainingSpec.of("tiny"), timeout_s=float("nan"))


def test_too_many_unfinished_trainings_are_refused(serve: Serve) -> None:
    live = serve(max_queued_trainings=2)
    for _ in range(2):
        ask(live, gate="none")
    response = live.client.post("/api/trainings", json={})
    assert problem(response) == (503, "queue-full")
    assert response.headers["retry-after"]


def test_the_oldest_finished_trainings_are_evicted(serve: Serve) -> None:
    live = serve(max_trainings=2)
    page = live.page()
    ids = []
    for _ in range(4):
        ids.append(ask(live, gate="none", steps=1))
        train(page, [5.0])
    kept = [row["training"] for row in live.client.get("/api/trainings").json()]
    assert kept == [ids[3], ids[2]]


def test_a_twin_that_this_server_has_no_memory_for_is_refused(serve: Serve) -> None:
    live = serve(max_twin_bytes=1000)
    with pytest.raises(CaseError, match="FA2_MAX_TWIN_BYTES"):
        trainings(live).submit(TrainingSpec.of("tiny"))
    assert trainings(live).submit(TrainingSpec.of("tiny", gate="overfit")).state == "queued"


def test_a_benchmark_has_a_limit_of_its_own(live: Live) -> None:
    page = live.page()
    training = ask(live, gate="bench", preset="mega")
    assert page.next_event("train")["limit_ms"] == 60_000
    live.client.post(f"/api/trainings/{training}/cancel")
