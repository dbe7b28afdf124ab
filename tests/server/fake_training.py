"""A page that trains without a GPU: its losses come from NumPy, or are made up."""

from __future__ import annotations

from typing import Any

import httpx
from conftest import MICRO, Live
from fake_page import ADAPTER, FakePage

from server.trainings import TrainingStore


def trainings(live: Live) -> TrainingStore:
    store: TrainingStore = live.app.state.trainings
    return store


def ask(live: Live, **body: Any) -> str:
    """The id of a new training, asked for over HTTP."""
    response = live.client.post("/api/trainings", json={"preset": "micro", "seed": "3", **body})
    assert response.status_code == 201, response.text
    training = str(response.json()["training"])
    assert response.headers["location"] == f"/api/trainings/{training}"
    return training


def send(page: FakePage, training: str, first: int, losses: list[Any]) -> httpx.Response:
    body = {"first": first, "losses": losses, "elapsed_ns": [2e6] * len(losses)}
    return page.http.post(f"/api/trainings/{training}/steps", json=body)


def done(page: FakePage, training: str, steps: int, **fields: Any) -> httpx.Response:
    body = {
        "status": "ok",
        "attention_passes": 2 * MICRO.layers * steps,
        "kernels": ["fa2_forward", "fa2_backward"],
        "size_bytes": 12345,
        "adapter": ADAPTER,
        "engine": "NumPy",
        **fields,
    }
    return page.http.post(f"/api/trainings/{training}/done", json=body)


def train(page: FakePage, losses: list[Any], **fields: Any) -> dict[str, Any]:
    """Does the next training as a page would, and gives what the server says of it."""
    training = page.next_event("train")["training"]
    for first in range(0, len(losses), 7):
        assert send(page, training, first + 1, losses[first : first + 7]).status_code == 204
    response = done(page, training, len(losses), **fields)
    assert response.status_code == 200, response.text
    told: dict[str, Any] = response.json()
    assert told["training"] == training
    return told


def read(live: Live, training: str) -> dict[str, Any]:
    found: dict[str, Any] = live.client.get(f"/api/trainings/{training}").json()
    return found


def ended(live: Live, training: str, timeout_s: float = 5) -> dict[str, Any]:
    found = trainings(live).get(training)
    assert found is not None
    found.future.result(timeout_s)
    return read(live, training)


def problem(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json()["type"].removeprefix("urn:fa2:problem:")
