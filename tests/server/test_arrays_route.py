"""Every array of a run can be had, and NumPy reads it."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from conftest import Live, Serve

from server.cases import Case
from server.inputs import make_inputs
from server.reference import attention

CASE = "backward:B=2,T=12,H=4,Hkv=2,D=4"


def done(live: Live, case: str = CASE) -> str:
    page = live.page()
    run = live.submit(case, page=page.id)
    page.work(page.next_event("job"))
    return run


def load(data: bytes) -> np.ndarray:
    array: np.ndarray = np.load(io.BytesIO(data), allow_pickle=False)
    return array


def test_each_array_that_is_listed_can_be_read(live: Live) -> None:
    run = done(live)
    names = live.client.get(f"/api/runs/{run}/arrays").raise_for_status().json()
    assert names[:9] == ["q", "k", "v", "do", "o", "lse", "dq", "dk", "dv"]
    got = {}
    for name in names:
        response = live.client.get(f"/api/runs/{run}/arrays/{name}").raise_for_status()
        assert f'filename="{run}-{name}.npy"' in response.headers["content-disposition"]
        got[name] = load(response.content)
    inputs = make_inputs(Case.parse(CASE))
    truth = attention(**{name: inputs[name] for name in ("q", "k", "v", "do")})
    for name, array in inputs.items():
        np.testing.assert_array_equal(got[name], array)
    for name in ("o", "lse", "dq", "dk", "dv"):
        np.testing.assert_allclose(got[f"{name}.expected"], truth[name], rtol=1e-9, atol=1e-12)
        difference = got[name] - got[f"{name}.expected"]
        np.testing.assert_array_equal(got[f"{name}.difference"], difference)
        assert (np.abs(difference) <= got[f"{name}.allowed"]).all()
        assert got[f"{name}.allowed"].dtype == np.float64


def test_a_whole_run_is_one_file_with_its_report(live: Live) -> None:
    run = done(live)
    response = live.client.get(f"/api/runs/{run}/run.npz").raise_for_status()
    with np.load(io.BytesIO(response.content), allow_pickle=False) as file:
        assert json.loads(file["report.json"])["case"] == CASE
        assert {"q", "do", "o", "dk", "o.expected", "dk.allowed"} <= set(file.files)
        assert (np.abs(file["dk"] - file["dk.expected"]) <= file["dk.allowed"]).all()


def test_the_truth_has_the_shape_that_the_output_has_in_memory(live: Live) -> None:
    run = done(live, "forward:B=2,T=9,H=3,D=4")
    shape = load(live.client.get(f"/api/runs/{run}/arrays/o").content).shape
    assert load(live.client.get(f"/api/runs/{run}/arrays/o.expected").content).shape == shape


def test_the_callers_own_inputs_can_be_had_back(live: Live) -> None:
    page = live.page()
    case = Case.parse("forward:T=12,H=2,D=4")
    inputs = make_inputs(case.replace(seed=5))
    run = live.store.submit(case, page=page.id, inputs=inputs)
    page.work(page.next_event("job"))
    got = load(live.client.get(f"/api/runs/{run.id}/arrays/k").content)
    np.testing.assert_array_equal(got, inputs["k"])


@pytest.mark.parametrize(
    "name", ["o.repeat", "o.guards", "do", "x", "..%2f..%2fo", "o.expected.npy"]
)
def test_what_there_is_not_is_refused(live: Live, name: str) -> None:
    run = done(live, "forward:T=8,D=4")
    response = live.client.get(f"/api/runs/{run}/arrays/{name}")
    assert response.status_code == 404
    assert response.headers["content-type"] == "application/problem+json"


def test_a_run_that_is_not_finished_has_no_arrays(live: Live) -> None:
    run = live.submit(CASE)
    for path in ("arrays", "arrays/o", "run.npz"):
        assert live.client.get(f"/api/runs/{run}/{path}").status_code == 409
    live.client.post(f"/api/runs/{run}/cancel")


def test_more_than_one_file_may_hold_is_refused_with_both_numbers(serve: Serve) -> None:
    live = serve(max_npz_bytes=1000)
    run = done(live, "forward:T=12,D=4")
    response = live.client.get(f"/api/runs/{run}/run.npz")
    assert response.status_code == 413
    assert "1000" in response.json()["detail"]
    assert live.client.get(f"/api/runs/{run}/arrays/o").status_code == 200


@pytest.mark.parametrize(
    ("name", "size_bytes"), [("q", 192), ("o", 192), ("o.expected", 384), ("o.difference", 384)]
)
def test_one_array_is_as_large_as_a_file_may_be_and_no_larger(
    serve: Serve, name: str, size_bytes: int
) -> None:
    live = serve(max_npz_bytes=size_bytes - 1)
    run = done(live, "forward:T=12,D=4")
    response = live.client.get(f"/api/runs/{run}/arrays/{name}")
    assert response.status_code == 413
    assert f"{size_bytes} bytes, one file at most {size_bytes - 1}" in response.json()["detail"]
    live = serve(max_npz_bytes=size_bytes)
    run = done(live, "forward:T=12,D=4")
    assert load(live.client.get(f"/api/runs/{run}/arrays/{name}").content).nbytes == size_bytes


def test_evicted_arrays_are_said_to_be_evicted(serve: Serve) -> None:
    live = serve(max_kept_bytes=1)
    run = done(live)
    done(live)
    assert live.client.get(f"/api/runs/{run}/arrays/q").status_code == 404
