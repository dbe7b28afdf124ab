"""Arrays that a client sends to a run that waits for them: what is taken, and what is refused."""

from __future__ import annotations

from typing import Any

import httpx
import numpy as np
import pytest
from conftest import CASE, Live, Serve, finished
from fake_page import FakePage, content_digest

from server.cases import Case
from server.inputs import make_inputs


def ask(live: Live, case: str = CASE, **body: Any) -> str:
    return live.submit(case, posted=True, **body)


def put(live: Live, run: str, name: str, array: np.ndarray, **headers: str) -> httpx.Response:
    data = array.tobytes()
    given = {"Content-Digest": content_digest(data), "Content-Type": "application/octet-stream"}
    path = f"/api/runs/{run}/inputs/{name}"
    return live.client.put(path, content=data, headers={**given, **headers})


@pytest.fixture
def arrays() -> dict[str, np.ndarray]:
    return make_inputs(Case.parse(CASE).replace(seed=5))


def test_the_run_starts_with_its_last_array(live: Live, arrays: dict[str, np.ndarray]) -> None:
    page = live.page()
    run = ask(live, page=page.id)
    for name in ("v", "q"):
        assert put(live, run, name, arrays[name]).status_code == 204
    assert live.client.get(f"/api/runs/{run}").json()["state"] == "waiting"
    assert page.silent()
    assert put(live, run, "k", arrays["k"]).status_code == 204
    job = page.next_event("job")
    assert job["inputs"] == "posted"
    found = FakePage.inputs(page, job)
    assert all(np.array_equal(found[name], arrays[name]) for name in arrays)
    assert page.work(job)["status"] == "pass"


def test_what_does_not_belong_is_refused(live: Live, arrays: dict[str, np.ndarray]) -> None:
    run = ask(live)
    assert put(live, run, "do", arrays["q"]).status_code == 409
    assert put(live, run, "q", arrays["q"][:, 1:]).status_code in (413, 422)
    wrong = content_digest(b"something else")
    assert put(live, run, "q", arrays["q"], **{"Content-Digest": wrong}).status_code == 422
    spoilt = arrays["q"].copy()
    spoilt[0, 1, 0, 2] = np.nan
    refused = put(live, run, "q", spoilt)
    assert refused.status_code == 422
    assert refused.json()["detail"] == "q[0, 1, 0, 2] is nan"
    spoilt[0, 1, 0, 2] = np.inf
    assert put(live, run, "q", spoilt).status_code == 422
    assert put(live, run, "q", arrays["q"]).status_code == 204
    assert put(live, run, "q", arrays["q"]).status_code == 409, "once"
    live.client.post(f"/api/runs/{run}/cancel")
    assert put(live, run, "k", arrays["k"]).status_code == 409
    plain = live.submit(CASE, page="nobody")
    assert put(live, plain, "q", arrays["q"]).status_code == 409
    live.client.post(f"/api/runs/{plain}/cancel")


def test_an_array_for_a_run_that_is_cancelled_is_refused_before_it_is_here(
    live: Live, arrays: dict[str, np.ndarray]
) -> None:
    run = ask(live)
    live.client.post(f"/api/runs/{run}/cancel")
    data = arrays["q"].tobytes()
    head = (
        f"PUT /api/runs/{run}/inputs/q HTTP/1.1\r\nHost: 127.0.0.1:{live.port}\r\n"
        "Content-Type: application/octet-stream\r\n"
        f"Content-Digest: {content_digest(data)}\r\nContent-Length: {len(data)}\r\n\r\n"
    )
    answer = live.raw(head.encode())
    assert answer.startswith(b"HTTP/1.1 409 ")
    assert b"is error, not waiting" in answer


def test_a_bias_may_mask_with_minus_infinity_and_nothing_else(live: Live) -> None:
    case = "forward:T=4,H=1,D=4,bias=tt"
    run = ask(live, case, page="nobody")
    bias = make_inputs(Case.parse(case))["bias"].copy()
    bias.flat[0] = np.inf
    assert put(live, run, "bias", bias).status_code == 422
    bias.flat[0] = -np.inf
    assert put(live, run, "bias", bias).status_code == 204
    live.client.post(f"/api/runs/{run}/cancel")


def test_a_run_whose_inputs_never_come_is_given_up(serve: Serve) -> None:
    live = serve(upload_s=0.1)
    report = finished(live, ask(live))
    assert report["status"] == "error"
    assert "inputs did not come within 0.1 s" in str(report["message"])


def test_memory_for_inputs_is_bounded_over_all_runs(serve: Serve) -> None:
    live = serve(max_run_bytes=8000)  # inputs of 768 bytes, outputs of 3776
    for _ in range(10):
        ask(live)
    refused = live.client.post("/api/runs", json={"case": CASE, "posted": True})
    assert refused.status_code == 503
    assert "320 are free" in refused.json()["detail"]
