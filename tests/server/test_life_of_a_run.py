"""From a request to a report, with a page that computes with NumPy."""

from __future__ import annotations

import io

import numpy as np
import pytest
from conftest import CASE, Live

from server.cases import Case
from server.inputs import digest, make_inputs
from server.suites import suite

FIELDS = {"case", "kernel", "status", "message", "outputs", "controls", "kappa", "input_sha256"} | {
    "shader_sha256",
    "adapter",
    "engine",
    "elapsed_ns",
    "compile_ns",
    "first_result_ns",
    "gpu_ns",
    "warnings",
}


def test_right_results_pass_and_everybody_reads_the_same_report(live: Live) -> None:
    page = live.page()
    run = live.submit(CASE)
    job = page.next_event("job")
    assert job["run"] == run
    report = page.work(job)

    assert (report["status"], report["case"]) == ("pass", CASE), report
    assert report.keys() >= FIELDS
    assert report["outputs"].keys() == {"o", "lse"}
    assert live.client.get(f"/api/runs/{run}").json() == report
    assert page.next_event("verdict") == {"run": run, "report": report}
    assert live.client.get("/api/runs").json()[0]["state"] == "pass"
    found = live.store.get(run)
    assert found is not None
    assert found.future.result(0).to_dict() == report


def test_wrong_results_fail(live: Live) -> None:
    page = live.page()
    live.submit(CASE)
    zeros = bytes(4 * 8 * 2 * 4)
    report = page.work(page.next_event("job"), o=zeros, **{"o.repeat": zeros})
    assert report["status"] == "fail"


def test_the_job_says_everything_that_the_page_needs(live: Live) -> None:
    page = live.page()
    live.submit("backward:T=9,H=4,Hkv=2,D=4,seed=0xffffffffffffffff", kernel="baseline")
    job = page.next_event("job")
    case = Case.parse(job["case"])
    assert (case.kernel, job["kernel"], job["inputs"]) == ("baseline", "baseline", "seed")
    assert job["spec"] == case.to_job()
    assert job["spec"]["seed"] == str(2**64 - 1)
    assert (job["shaders"], job["timing"]) == ({}, False)
    want = {spec["name"]: spec for spec in job["want"]}
    outputs = ("o", "lse", "dq", "dk", "dv")
    assert want.keys() == {name + kind for name in outputs for kind in ("", ".repeat", ".guards")}
    assert want["dk"] == {"name": "dk", "dtype": "f32", "shape": [1, 9, 2, 4], "bytes": 288}
    assert want["dk.guards"]["shape"] == [2, 2, 64]
    # 20 s, and the time that the work takes at 1 GFLOP/s
    assert 20_000 <= job["deadline_ms"] < 20_100
    live.client.post(f"/api/runs/{job['run']}/cancel")


def test_the_deadline_grows_with_the_work(live: Live) -> None:
    page = live.page()
    run = live.submit("forward:T=4096,H=16,D=64")
    work = 4 * 16 * 4096 * 4096 * 64 / 1e9  # two products, were nothing masked
    assert page.next_event("job")["deadline_ms"] > 20_000 + 1000 * work / 4
    live.client.post(f"/api/runs/{run}/cancel")


def test_poison_is_nan_in_every_reading_and_unlike_that_of_other_runs(live: Live) -> None:
    page = live.page()
    seen = set()
    for _ in range(20):
        run = live.submit(CASE)
        words = page.next_event("job")["poison"]
        live.client.post(f"/api/runs/{run}/cancel")
        for dtype in ("<f4", "<f2"):
            assert np.isnan(np.array(words, "<u4").view(dtype)).all(), [hex(w) for w in words]
        seen.update(words)
    assert len(seen) == 40


def test_outputs_can_be_fetched_as_npy(live: Live) -> None:
    page = live.page()
    run = live.submit(CASE)
    job = page.next_event("job")
    early = live.client.get(f"/api/runs/{run}/tensors/o")
    assert (early.status_code, early.json()["type"]) == (409, "urn:fa2:problem:wrong-state")
    page.work(job)
    response = live.client.get(f"/api/runs/{run}/tensors/o")
    assert response.headers["content-disposition"] == f'attachment; filename="{run}-o.npy"'
    array = np.load(io.BytesIO(response.content), allow_pickle=False)
    assert (array.shape, array.dtype) == ((1, 8, 2, 4), np.float32)
    assert array.tobytes() == page.tensors(job, page.inputs(job))["o"]
    assert live.client.get(f"/api/runs/{run}/tensors/o.repeat").status_code == 404
    assert live.client.get(f"/api/runs/{run}/tensors/nonsense").status_code == 404


def test_f16_travels_and_is_fetched_as_f16(live: Live) -> None:
    page = live.page()
    run = live.submit("forward:T=8,H=2,D=4,dtype=f16")
    job = page.next_event("job")
    assert {w["name"]: w["bytes"] for w in job["want"] if "." not in w["name"]} == {
        "o": 2 * 8 * 2 * 4,
        "lse": 4 * 2 * 8,
    }
    assert page.work(job)["status"] == "pass"
    response = live.client.get(f"/api/runs/{run}/tensors/o")
    array = np.load(io.BytesIO(response.content), allow_pickle=False)
    assert (array.shape, array.dtype) == ((1, 8, 2, 4), np.float16)


def test_a_suite_becomes_a_run_a_case_one_at_a_time(live: Live) -> None:
    page = live.page()
    cases = [str(case.replace(seed=7)) for case in suite("seed")]
    body = {"suite": "seed", "seed": "7", "page": page.id}
    created = live.client.post("/api/runs", json=body).json()
    assert created["cases"] == cases
    for run, case in zip(created["runs"], cases, strict=True):
        job = page.next_event("job")
        assert (job["run"], job["case"]) == (run, case)
        if run == created["runs"][0]:
            assert page.silent(), "a page does one run at a time"
        assert page.work(job)["status"] == "pass"
    listed = [row["run"] for row in live.client.get("/api/runs").json()]
    assert listed[: len(cases)] == created["runs"][::-1]


def test_a_refusal_of_the_page_is_a_skip_with_its_reason(live: Live) -> None:
    page = live.page()
    live.submit(CASE)
    error = {"kind": "unsupported", "message": "softcap=5 is not supported by fa2_forward"}
    report = page.done(page.next_event("job"), status="skip", error=error).json()
    assert report["status"] == "skip"
    assert error["message"] in report["message"]


def test_an_error_of_the_page_is_an_error_with_its_place(live: Live) -> None:
    page = live.page()
    live.submit(CASE)
    error = {"kind": "compile", "message": "unresolved value 'x'", "file": "fa2_forward.wgsl"}
    error |= {"line": 12, "column": 3}
    report = page.done(page.next_event("job"), status="error", error=error).json()
    assert report["status"] == "error"
    assert "unresolved value 'x'" in report["message"]


def test_done_without_the_tensors_is_no_pass(live: Live) -> None:
    page = live.page()
    live.submit(CASE)
    job = page.next_event("job")
    report = page.done(job, input_sha256=digest(page.inputs(job))).json()
    assert report["status"] in ("fail", "error")


def test_results_of_other_inputs_are_no_pass(live: Live) -> None:
    page = live.page()
    live.submit(CASE)
    job = page.next_event("job")
    other = make_inputs(Case.parse(CASE + ",seed=1"))
    for name, data in page.tensors(job, other).items():
        assert page.put(job, name, data).status_code == 204
    report = page.done(job, input_sha256=digest(other)).json()
    assert report["status"] in ("fail", "error")


def test_arrays_of_the_caller_travel_and_are_judged(live: Live) -> None:
    page = live.page()
    case = Case.parse(CASE)
    inputs = make_inputs(case.replace(seed=99))
    run = live.store.submit(case, inputs=inputs, page=page.id)
    job = page.next_event("job")
    assert job["inputs"] == "posted"
    missing = page.http.get(f"/api/runs/{job['run']}/inputs/do")
    assert (missing.status_code, missing.json()["type"]) == (404, "urn:fa2:problem:unknown-tensor")
    assert page.work(job)["status"] == "pass"
    assert run.future.result(1).status == "pass"
    assert run.tensors["o"].shape == (1, 8, 2, 4)


def test_shaders_and_a_deadline_of_the_harness_reach_the_page(live: Live) -> None:
    page = live.page()
    run = live.store.submit(CASE, shaders={"fa2_forward.wgsl": "// broken"}, timeout_s=3)
    job = page.next_event("job")
    assert job["shaders"] == {"fa2_forward.wgsl": "// broken"}
    assert 3000 <= job["deadline_ms"] < 3100
    live.store.cancel(run.id)
    assert run.future.result(2).status == "error"


def test_progress_shows_until_there_is_a_report(live: Live) -> None:
    page = live.page()
    run = live.submit(CASE)
    job = page.next_event("job")
    body = {"phase": "run", "done": 3, "total": 8}
    assert page.http.post(f"/api/runs/{run}/progress", json=body).status_code == 204
    shown = live.client.get(f"/api/runs/{run}").json()
    assert (shown["state"], shown["progress"], shown["page"]) == ("sent", body, page.id)
    page.work(job)
    assert "state" not in live.client.get(f"/api/runs/{run}").json()
    late = page.http.post(f"/api/runs/{run}/progress", json=body)
    assert (late.status_code, late.json()["type"]) == (409, "urn:fa2:problem:wrong-state")


@pytest.mark.parametrize("state", ["queued", "sent"])
def test_a_run_can_be_cancelled(live: Live, state: str) -> None:
    page = live.page() if state == "sent" else None
    run = live.submit(CASE)
    if page is not None:
        page.next_event("job")
    assert live.client.get(f"/api/runs/{run}").json()["state"] == state
    assert live.client.post(f"/api/runs/{run}/cancel").status_code == 204
    report = live.client.get(f"/api/runs/{run}").json()
    assert (report["status"], "cancelled" in report["message"]) == ("error", True)
    if page is not None:
        assert page.next_event("cancel") == {"run": run}
    again = live.client.post(f"/api/runs/{run}/cancel")
    assert (again.status_code, again.json()["type"]) == (409, "urn:fa2:problem:wrong-state")
    if page is None:
        assert live.page().silent(), "a cancelled run is sent to nobody"


def test_lists_say_what_there_is(live: Live) -> None:
    suites = live.client.get("/api/cases").json()["suites"]
    assert suites["seed"] == [str(case) for case in suite("seed")]
    page = live.page(label="the phone")
    found = {"ok": True, "adapter": {"vendor": "v", "fallback": False}, "engine": "Chromium 156"}
    answer = page.http.post(f"/api/pages/{page.id}/environment", json=found)
    assert answer.status_code == 204
    (row,) = (row for row in live.client.get("/api/pages").json() if row["page"] == page.id)
    assert (row["label"], row["connected"], row["idle"]) == ("the phone", True, True)
    assert row["environment"]["engine"] == "Chromium 156"
    known = live.pages.wait_for_environment(page.id, 1)
    assert known is not None
    assert (known["ok"], known["adapter"]["vendor"]) == (True, "v")
