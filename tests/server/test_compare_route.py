"""``GET /api/compare``: two finished runs of one case."""

from __future__ import annotations

import time
from pathlib import Path

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


def test_what_an_earlier_run_ran_is_told_as_a_request_takes_it(
    serve: Serve, tmp_path: Path
) -> None:
    live = serve(history=tmp_path / "history.db")
    edits = {"common/masking.wgsl": "// edited\n"}
    page = live.page()
    made = live.submit(CASE, page=page.id, shaders=edits)
    page.work(page.next_event("job"))
    for _ in range(100):
        response = live.client.get(f"/api/compare/sides/{made}")
        if response.status_code == 200:
            break
        time.sleep(0.05)  # the history writes behind the verdict
    found = response.json()
    assert found["label"] == f"run {made[:8]} (fa2_forward)"
    assert (found["kernel"], found["shaders"], found["own"]) == ("fa2_forward", edits, None)
    body = {"case": CASE, "kernel": found["kernel"], "shaders": found["shaders"], "page": page.id}
    assert live.client.post("/api/benches", json=body).status_code == 201
    assert live.client.get("/api/compare/sides/00").status_code == 404
    assert live.client.get("/api/compare/sides/..%2Fx").status_code in (404, 422)


def test_a_benchmark_takes_a_kernel_of_one_s_own_and_refuses_a_wrong_manifest(live: Live) -> None:
    page = live.page()
    text = "@compute @workgroup_size(1) fn main() {}"
    own = {"name": "mine", "manifest": {"grid": ["T"]}, "files": {"mine.wgsl": text}}
    made = live.client.post("/api/benches", json={"case": CASE, "page": page.id, "own": own})
    assert made.status_code == 201, made.text
    assert page.next_event("job")["own"]["files"] == {"mine.wgsl": text}
    live.client.post(f"/api/benches/{made.json()['bench']}/cancel")
    own["manifest"] = {"grids": ["T"]}
    refused = live.client.post("/api/benches", json={"case": CASE, "own": own})
    assert refused.status_code == 422
    assert "grids" in refused.json()["detail"]


def test_evicted_outputs_are_said_to_be_gone(serve: Serve) -> None:
    live = serve(max_kept_bytes=0)
    first, second = run(live), run(live)
    assert compare(live, first, second)[0] == 404
