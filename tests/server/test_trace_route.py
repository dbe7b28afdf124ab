"""``GET /api/runs/{run}/trace`` and its files, and every way to be refused."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from conftest import CASE, Live

from server.cases import Case
from server.inputs import digest
from server.trace_buffer import HEAD_WORDS

TRACE = {"b": 0, "h": 1, "i_tile": 0}
DBG = "common/params.wgsl"


def words(size_bytes: int, head: tuple[int, ...], records: list[tuple[int, ...]]) -> bytes:
    found = np.zeros(size_bytes // 4, "<u4")
    found[:HEAD_WORDS] = (len(records), *head)
    if records:
        found[HEAD_WORDS:].reshape(-1, 4)[: len(records)] = records
    return found.tobytes()


def ran(live: Live, body: dict[str, Any], head: tuple[int, ...], records: list[Any]) -> str:
    """A finished run whose kernel told the records."""
    page = live.page()
    answer = live.client.post("/api/runs", json={"case": CASE, "page": page.id, **body})
    assert answer.status_code == 201, answer.text
    job = page.next_event("job")
    (size,) = (spec["bytes"] for spec in job["want"] if spec["name"] == "trace")
    inputs = page.inputs(job)
    sent = page.tensors(job, inputs) | {"trace": words(size, head, records)}
    for name, data in sent.items():
        page.put(job, name, data).raise_for_status()
    traced = ["fa2_forward"] if "trace" in body else []
    page.done(job, input_sha256=digest(inputs), traced=traced).raise_for_status()
    run: str = answer.json()["runs"][0]
    return run


def test_a_trace_is_read_as_rows_matrices_and_arrays(live: Live) -> None:
    T = Case.parse(CASE).Tq
    zero = int(np.float32(0).view(np.uint32))
    records = [(1 << 24, row, key, zero) for row in range(T) for key in range(T)]
    run = ran(live, {"trace": TRACE}, (0, 1, 0, T, 0, T, T), records)
    assert live.client.get(f"/api/runs/{run}").json()["told"] == len(records)
    found = live.client.get(f"/api/runs/{run}/trace").raise_for_status().json()
    assert (found["h"], found["rows"], found["lost"]) == (1, [0, T], 0)
    assert found["departure"]["quantity"] == "S"
    assert found["steps"][0]["rows"]["m"]["actual"] == [None] * T
    assert found["steps"][0]["quantities"]["S"]["told"] == T * T
    step = live.client.get(f"/api/runs/{run}/trace/steps/0").raise_for_status()
    assert b'"S.expected":{"dtype":"F64"' in step.content[:600]
    assert live.client.get(f"/api/runs/{run}/trace/steps/1").status_code == 404
    arrays = live.client.get(f"/api/runs/{run}/trace.npz").raise_for_status()
    with np.load(io.BytesIO(arrays.content)) as file:
        assert file["tile0.S.ratio"].shape == (T, T)
    as_told = live.client.get(f"/api/runs/{run}/trace/told.npz").raise_for_status()
    with np.load(io.BytesIO(as_told.content), allow_pickle=False) as file:
        assert file["words"][:HEAD_WORDS].tolist() == [len(records), 0, 1, 0, T, 0, T, T]
        assert file["traced"].tolist() == ["fa2_forward"]


def test_a_case_too_long_for_a_trace_is_refused_before_it_is_queued(live: Live) -> None:
    body = {"case": "forward:T=65537,D=8", "trace": {"b": 0, "h": 0}}
    answer = live.client.post("/api/runs", json=body)
    assert answer.status_code == 422
    assert "use Tk up to 65536, or Tq up to 127" in answer.json()["detail"]


def test_what_dbg_told_is_listed_and_has_files(live: Live) -> None:
    body = {"shaders": {DBG: "fn k() { dbg_u(1u, 2u); }"}}
    run = ran(live, body, (0,) * 7, [(241 << 24 | 3, 5, 2, 9)])
    found = live.client.get(f"/api/runs/{run}/trace").raise_for_status().json()
    assert found["steps"] == []
    assert found["values"] == {"count": 1, "shown": [[5, 2, 3, None, 9.0]]}
    table = live.client.get(f"/api/runs/{run}/trace/values.csv").raise_for_status().text
    assert table.splitlines()[1] == "5,2,3,,9.0"
    array = np.load(
        io.BytesIO(live.client.get(f"/api/runs/{run}/trace/values.npy").content),
        allow_pickle=False,
    )
    assert array["value"].tolist() == [9.0]
    assert live.client.get(f"/api/runs/{run}/trace/values.exe").status_code == 422


def test_a_head_that_no_page_of_ours_writes_is_refused(live: Live) -> None:
    run = ran(live, {"trace": TRACE}, (9, 9, 0, 4, 0, 8, 8), [(1 << 24, 0, 0, 0)])
    answer = live.client.get(f"/api/runs/{run}/trace")
    assert (answer.status_code, answer.json()["type"]) == (422, "urn:fa2:problem:bad-trace")


def test_a_run_that_told_nothing_has_no_trace(live: Live) -> None:
    page = live.page()
    run = live.submit(CASE, page=page.id)
    job = page.next_event("job")
    assert live.client.get(f"/api/runs/{run}/trace").status_code == 409
    page.work(job)
    for path in ("trace", "trace.npz", "trace/steps/0", "trace/values.csv", "trace/told.npz"):
        assert live.client.get(f"/api/runs/{run}/{path}").status_code == 404
    assert live.client.get("/api/runs/0000000000000000/trace").status_code == 404


@pytest.mark.parametrize(
    ("trace", "status"),
    [
        ({"b": 1, "h": 0}, 422),
        ({"b": 0, "h": 0, "i_tile": 10**6}, 422),
        ({"b": 0, "h": -1}, 422),
        ({"b": "0"}, 422),
        ({"j_tile": 0}, 422),
        ({"row": 3}, 422),
    ],
)
def test_a_tile_that_cannot_be_is_refused(live: Live, trace: dict[str, Any], status: int) -> None:
    answer = live.client.post("/api/runs", json={"case": CASE, "trace": trace})
    assert answer.status_code == status, answer.text


def test_a_run_like_another_has_its_edited_texts(live: Live) -> None:
    page = live.page()
    body = {"case": CASE, "page": page.id, "shaders": {DBG: "// edited"}}
    first = live.client.post("/api/runs", json=body).json()["runs"][0]
    page.work(page.next_event("job"))
    again = {"case": CASE, "page": page.id, "trace": TRACE, "like": first}
    assert live.client.post("/api/runs", json=again).status_code == 201
    job = page.next_event("job")
    assert job["shaders"] == {DBG: "// edited"}
    assert job["trace"] == TRACE
    for like, status in (("0" * 16, 404), ("../x", 422)):
        answer = live.client.post("/api/runs", json={"case": CASE, "like": like})
        assert answer.status_code == status


def test_a_trace_is_no_output_of_the_run(live: Live) -> None:
    run = ran(live, {"trace": TRACE}, (0, 1, 0, 8, 0, 8, 8), [])
    assert set(live.client.get(f"/api/runs/{run}").json()["outputs"]) == {"o", "lse"}
    assert live.client.get(f"/api/runs/{run}/tensors/trace").status_code == 404
    assert live.client.get(f"/api/runs/{run}/heatmap/lse").status_code == 200
    assert live.client.get(f"/api/runs/{run}/anatomy/lse").status_code == 200
