"""`fa2 trace --page` and Harness(page=…).last_trace(): told elsewhere, compared here."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Live
from fake_page import FakePage
from lent_page import Working, introduce
from traced_float32 import State, told
from typer.testing import CliRunner, Result

from server import told_file
from server.cases import Case
from server.cli import app
from server.errors import PageError
from server.harness import Harness
from server.inputs import digest
from server.remote import Refused, Remote
from server.trace_buffer import spec_of

CASE = Case.parse("forward:T=70,H=2,D=8")
TILE = 16  # what a fake page says of its kernel


def unmasked(s: State) -> None:
    """A fault of the third key tile."""
    if s["tile"] == 2:
        s["S"] = np.where(s["S"] > -1e38, s["S"], np.float32(0.5))


def broken(page: FakePage, job: dict[str, Any]) -> None:
    """Row 40 of head 1 is wrong; traced, its tile tells why."""
    inputs = page.inputs(job)
    tensors = page.tensors(job, inputs)
    for name in ("o", "o.repeat"):
        o = np.frombuffer(tensors[name], "<f4").copy().reshape(CASE.Tq, CASE.H, CASE.D)
        o[40, 1, 3] += 9
        tensors[name] = o.tobytes()
    wanted = job["trace"]
    if wanted is not None:
        rows = (wanted["i_tile"] * TILE, min((wanted["i_tile"] + 1) * TILE, CASE.Tq))
        words = told(CASE, h=wanted["h"], rows=rows, faults={"S": unmasked})
        tensors["trace"] = words.tobytes()
    for name, data in tensors.items():
        page.put(job, name, data).raise_for_status()
    traced = [] if wanted is None else ["fa2_forward"]
    page.done(job, input_sha256=digest(inputs), traced=traced).raise_for_status()


@pytest.fixture
def phone(live: Live) -> Iterator[Callable[..., Result]]:
    """``phone("--json", …)`` is `fa2 trace` on a page of that name with a broken kernel."""
    page = live.page(label="phone")
    introduce(page)
    working = Working(page, broken)

    def trace(*words: str) -> Result:
        where = ["--page", "phone", "--server", live.url]
        return CliRunner().invoke(app, ["trace", str(CASE), *where, *words])

    yield trace
    working.end()


def test_the_tile_of_the_worst_element_is_traced_there_and_compared_here(
    phone: Callable[..., Result], live: Live, tmp_path: Path
) -> None:
    rows, arrays = tmp_path / "rows.json", tmp_path / "all.npz"
    done = phone("--json", str(rows), "--npz", str(arrays))
    assert done.exit_code == 1, done.output
    assert "b=0 h=1, rows 32 to 47, told by fa2_forward: " in done.output
    assert "Right up to key tile 1; at key tile 2 S of rows 32–46 is 0.5" in done.output
    assert "keys that these rows must not see are not masked." in done.output
    run = live.store.all()[-1].id
    there = live.client.get(f"/api/runs/{run}/trace").raise_for_status().json()
    assert json.loads(rows.read_text()) == there, "the server's own words"
    with np.load(arrays) as file:
        assert file["tile2.S.actual"].shape == (16, 16)


def test_a_harness_has_what_was_told_there(phone: object, live: Live) -> None:
    with Harness(page="phone", server=live.url) as harness:
        assert harness.run(CASE).told == 0
        assert harness.last_trace() is None
        report = harness.run(CASE, trace={"b": 0, "h": 1, "i_tile": 2})
        found = harness.last_trace()
        assert found is not None
        assert report.told == found.told.wanted > 0
        assert found.traced == ("fa2_forward",)


OWN = """@group(0) @binding(0) var<storage, read> q: array<f32>;
@group(0) @binding(1) var<storage, read_write> o: array<f32>;
@compute @workgroup_size(16) fn main() { dbg_u(5u, 9u); o[0] = q[0]; }
"""


def test_values_of_dbg_in_a_kernel_of_ones_own_come_from_there_too(
    live: Live, tmp_path: Path
) -> None:
    def tells(page: FakePage, job: dict[str, Any]) -> None:
        (size,) = (spec["bytes"] for spec in job["want"] if spec["name"] == "trace")
        words = np.zeros(size // 4, np.uint32)
        words[0] = 1
        words[8:12] = (241 << 24 | 3, 5, 2, 9)
        page.work(job, trace=words.tobytes())

    kernel = tmp_path / "mine.wgsl"
    kernel.write_text(OWN, encoding="utf-8")
    page = live.page(label="tablet")
    introduce(page)
    working = Working(page, tells)
    where = ["--page", "tablet", "--server", live.url]
    done = CliRunner().invoke(app, ["check", str(kernel), str(CASE), "--grid", "1", *where])
    working.end()
    assert done.exit_code == 0, done.output
    assert "dbg() told 1 values:" in done.output
    assert "  tag 5  workgroup 2  invocation 3  9\n" in done.output


def test_what_the_server_no_longer_keeps_is_no_trace_and_says_so(
    phone: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    send = Remote.send

    def forgetful(self: Remote, method: str, path: str, *more: Any, **options: Any) -> bytes:
        if path.endswith("/trace/told.npz"):
            raise Refused("evicted", 404)
        return send(self, method, path, *more, **options)

    monkeypatch.setattr(Remote, "send", forgetful)
    done = phone("--tile=2")
    assert done.exit_code == 1, "its outputs are wrong all the same"
    assert "Not traced: the kernels told nothing, or it is no longer kept." in done.output


@pytest.mark.parametrize("data", [b"<html>", told_file.write(np.zeros(9, np.uint32), [])])
def test_a_file_that_cannot_be_read_leaves_the_verdict_as_it_is(
    phone: object, live: Live, monkeypatch: pytest.MonkeyPatch, data: bytes
) -> None:
    send = Remote.send

    def garbling(self: Remote, method: str, path: str, *more: Any, **options: Any) -> bytes:
        answer = send(self, method, path, *more, **options)
        return data if path.endswith("/trace/told.npz") else answer

    monkeypatch.setattr(Remote, "send", garbling)
    with Harness(page="phone", server=live.url) as harness:
        report = harness.run(CASE, trace={"b": 0, "h": 1, "i_tile": 2})
        assert (report.status, report.error) == ("fail", None)
        assert "kernels told" in report.warnings[-1]
        assert harness.last_trace() is None


def test_a_traced_run_whose_kernels_told_nothing_has_an_empty_trace_as_here(live: Live) -> None:
    page = live.page(label="tablet")
    introduce(page)
    working = Working(page, lambda page, job: page.work(job))
    with Harness(page="tablet", server=live.url) as harness:
        assert harness.run(CASE, trace={"b": 0, "h": 1, "i_tile": 2}).told == 0
        found = harness.last_trace()
    working.end()
    assert found is not None
    assert (found.traced, found.told.wanted) == ((), 0)


def test_a_file_of_another_size_or_of_something_else_is_refused() -> None:
    spec = spec_of(CASE, tiles=True)
    words = told(CASE, rows=(0, 16))
    back, traced = told_file.read(told_file.write(words, ["fa2_forward"]), spec)
    np.testing.assert_array_equal(back, words)
    assert traced == ["fa2_forward"]
    assert told_file.read(told_file.write(words, []), spec)[1] == []
    whole = told_file.write(words, ["fa2_forward"])
    for data in (b"", b"<html>", whole[: len(whole) // 2], whole.replace(b"words", b"sword")):
        with pytest.raises(PageError, match="no file of what kernels told"):
            told_file.read(data, spec)
    with pytest.raises(PageError, match="another version"):
        told_file.read(told_file.write(words[:-4], []), spec)
