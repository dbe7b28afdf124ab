"""Runs of kernels that are not ours: what a request may bring, and what the page gets."""

from __future__ import annotations

from typing import Any

import pytest

TEXT = """@group(0) @binding(2) var<storage, read_write> o: array<f32>;
@compute @workgroup_size(16) fn main() { o[0] = 1.0; }"""
OWN: dict[str, Any] = {
    "name": "mine",
    "manifest": {"grid": ["T"], "outputs": ["o"]},
    "files": {"mine.wgsl": TEXT},
}
CASE = "forward:T=8,H=2,D=4"


def test_the_page_gets_the_kernel_and_only_what_is_judged_is_wanted(live: Any) -> None:
    page = live.page()
    answer = live.client.post("/api/runs", json={"case": CASE, "own": OWN})
    assert answer.status_code == 201, answer.text
    job = page.next_event("job")
    assert job["own"] == {**OWN, "manifest": {"op": "forward", **OWN["manifest"]}}
    assert [want["name"] for want in job["want"]] == ["o", "o.repeat", "o.guards"]
    report = page.work(job)
    assert report["status"] == "pass"
    assert report["warnings"] == ["not judged, since the kernel's manifest leaves it out: lse"]


def test_a_run_like_one_of_a_kernel_of_one_s_own_is_that_kernel_whatever_the_case_names(
    live: Any,
) -> None:
    page = live.page()
    first = live.client.post("/api/runs", json={"case": CASE, "own": OWN}).json()["runs"][0]
    page.work(page.next_event("job"))
    again = {"case": f"{CASE},kernel=baseline", "page": page.id, "like": first}
    assert live.client.post("/api/runs", json=again).json()["cases"] == [CASE]
    job = page.next_event("job")
    assert (job["kernel"], job["own"]["name"]) == ("auto", "mine")
    suite = live.client.post("/api/runs", json={"suite": "own", "page": page.id, "like": first})
    assert suite.status_code == 201
    assert len(suite.json()["runs"]) > 10


def test_a_suite_for_the_kernel_is_chosen_by_the_server(live: Any) -> None:
    answer = live.client.post("/api/runs", json={"suite": "own", "own": OWN})
    assert answer.status_code == 201
    runs = answer.json()["runs"]
    assert len(runs) > 10
    for run in runs:
        assert live.client.post(f"/api/runs/{run}/cancel").status_code == 204
    assert live.client.post("/api/runs", json={"suite": "own"}).status_code == 422


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"manifest": {"grid": ["T"], "bindings": {"Qm": "q"}}},
         "bindings.Qm: mine.wgsl declares no such variable; it declares o"),
        ({"manifest": {"grid": ["T"], "nonsense": 1}}, "nonsense: there is no such field"),
        ({"manifest": {"grid": ["T"], "outputs": ["attn"]}}, "outputs: attn is nothing that"),
        ({"files": {"../mine.wgsl": TEXT}}, "must be the name of a .wgsl file"),
        ({"files": {}}, "files"),
        ({"files": {f"f{n}.wgsl": "" for n in range(9)}}, "files"),
        ({"files": {"mine.wgsl": "x" * ((256 << 10) + 1)}}, "files"),
        ({"extra": 1}, "extra"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_kernel_is_refused_before_a_page_sees_it(
    live: Any, change: dict[str, Any], says: str
) -> None:
    before = live.store.all()
    answer = live.client.post("/api/runs", json={"case": CASE, "own": {**OWN, **change}})
    assert answer.status_code == 422
    assert says in answer.json()["detail"]
    assert live.store.all() == before


@pytest.mark.parametrize("path", ["/api/runs", "/api/benches"])
def test_a_kernel_of_ours_beside_one_s_own_is_refused_by_name(live: Any, path: str) -> None:
    answer = live.client.post(path, json={"case": CASE, "own": OWN, "kernel": "fa2"})
    assert answer.status_code == 422
    assert "kernel 'fa2' is one of ours" in answer.json()["detail"]
    taken = live.client.post(path, json={"case": CASE, "own": OWN, "kernel": "auto"})
    assert taken.status_code == 201
    live.client.post(f"{taken.headers['location']}/cancel")
