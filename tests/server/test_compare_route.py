"""``GET /api/compare``: two finished runs of one case."""

from __future__ import annotations

import numpy as np
from conftest import CASE, Live, Serve


def run(live: Live, case: str = CASE, **replaced: bytes) -> str:
    page = live.page()
    made = live.submit(case, page=page.id)
    page.work(page.next_event("job"), **replaced)
    return made


def compare(live: Live, a: str, b: str) -> tuple[int, dict[str, object]]:
    response = live.client.get(f"/api/compare?a={a}&b={b}")
    return response.status_code, response.json()


def test_two_runs_that_agree_are_bit_equal_and_one_that_does_not_says_where(live: Live) -> None:
    first = run(live)
    second = run(live, CASE + ",kernel=baseline")
    status, found = compare(live, first, second)
    assert status == 200
    assert found["a"] == first
    outputs = found["outputs"]
    assert isinstance(outputs, dict)
    assert outputs["o"]["bit_equal"]
    zeros = np.zeros(64, np.float32).tobytes()
    third = run(live, CASE, **{"o": zeros, "o.repeat": zeros})
    outputs = compare(live, first, third)[1]["outputs"]
    assert isinstance(outputs, dict)
    assert outputs["o"]["differ"] == 64
    assert outputs["o"]["max_abs"] > 0.1
    assert len(outputs["o"]["index"]) == 4
    assert outputs["lse"]["bit_equal"]


def test_what_cannot_be_compared_is_refused(live: Live) -> None:
    first, other = run(live), run(live, "forward:T=9,H=2,D=4")
    status, found = compare(live, first, other)
    assert status == 422
    assert "only the kernel may differ" in str(found["detail"])
    assert compare(live, first, "00")[0] == 404
    assert compare(live, first, "../etc")[0] == 422
    waiting = live.submit(CASE, page="nobody")
    assert compare(live, first, waiting)[0] == 409
    live.client.post(f"/api/runs/{waiting}/cancel")
    status, found = compare(live, first, waiting)
    assert (status, found["type"]) == (404, "urn:fa2:problem:no-tensor")


def test_evicted_outputs_are_said_to_be_gone(serve: Serve) -> None:
    live = serve(max_kept_bytes=0)
    first, second = run(live), run(live)
    assert compare(live, first, second)[0] == 404
