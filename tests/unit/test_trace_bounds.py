"""Traces are bounded: room for records, steps that are kept, cases that are taken at all."""

from __future__ import annotations

import io

import numpy as np
import pytest
from kept_runs import report_of
from rich.console import Console
from traced_float32 import told

from server.cases import Case
from server.errors import CaseError
from server.trace import KINDS, trace_of
from server.trace_buffer import (
    HEAD_WORDS,
    MOST_RECORDS,
    MOST_SCORES,
    check,
    count,
    decode,
    spec_of,
)
from server.trace_console import show_steps
from server.trace_report import to_dict
from server.trace_words import sentence

CASE = Case.parse("forward:T=70,H=2,D=8")
KERNELS = ("fa2_forward",)


def test_what_found_no_room_is_unknown_counted_and_no_departure() -> None:
    words = told(CASE, rows=(32, 64), room=1500)
    found = trace_of(CASE, words, traced=KERNELS, kappa=4)
    assert found.told.lost == count(words) - 1500 > 0
    assert found.departure is None
    said = sentence(found, 1)
    assert said.startswith("Right as far as it was told: ")
    left = "so key tiles 2 to 3 are left out."
    assert said.endswith(f"{found.told.lost} records found no room, {left}")
    assert [step.number for step in found.steps] == [0, 1]
    step = to_dict(found, CASE, report_of(str(CASE)))["steps"][-1]
    assert step["rows"]["l"]["actual"][-1] is None
    assert step["rows"]["l"]["ratio"][-1] == "NaN"
    assert step["quantities"]["O"]["unknown"] == step["quantities"]["O"]["total"]
    console = Console(file=io.StringIO(), width=200)
    show_steps(console, found, 1.0, report_of(str(CASE)), every=False)
    first, second = (
        line for line in console.file.getvalue().splitlines() if "key tile " in line[:12]
    )
    assert "?" not in first
    assert "O ?" in second


def unspoken(case: Case, rows: tuple[int, int], key_tile: int) -> np.ndarray:
    """Of a kernel that tells nothing, however much room there is."""
    words = np.zeros(spec_of(case, tiles=True).shape, "<u4")
    words[:HEAD_WORDS] = (0, 0, 0, *rows, 0, case.Tk, key_tile)
    return words


def test_a_kernel_that_tells_little_of_a_long_case_takes_little_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    most = 20_000
    monkeypatch.setattr("server.trace.MOST_NUMBERS", most)
    monkeypatch.setattr("server.trace_words.MOST_NUMBERS", most)
    case = Case.parse("forward:Tq=8,Tk=256,D=256")
    found = trace_of(case, unspoken(case, (0, 8), 4), traced=KERNELS, kappa=4)
    kept = sum(q.ratio.size for step in found.steps for q in step.quantities.values())
    assert kept <= most < kept + 8 * (4 + 4 + 256 + 3)
    assert found.left_out == (9, 64)
    said = sentence(found, 1)
    assert "S was never told, so the kernel did not visit key tile 0. From there on key" in said
    left = "key tiles 9 to 63 are left out: a trace holds at most 20000 numbers."
    assert said.endswith(left)
    json_of = to_dict(found, case, report_of(str(case)))
    assert (json_of["left_out"], len(json_of["steps"])) == ([9, 64], 9)


def test_of_key_tiles_that_no_row_sees_only_those_told_are_steps() -> None:
    case = Case.parse("forward:T=70,H=2,D=8,window=8:0")
    words = unspoken(case, (64, 70), 16)
    found = trace_of(case, words, traced=KERNELS, kappa=4)
    assert [step.number for step in found.steps] == [3, 4], "rows 64 to 69 see the keys from 56 on"
    words[0] = 1
    words[HEAD_WORDS:][:4] = (KINDS["S"] << 24 | 1, 64, 20, np.float32(1).view(np.uint32))
    found = trace_of(case, words, traced=KERNELS, kappa=4)
    assert [step.number for step in found.steps] == [1, 3, 4]
    assert "Already at key tile 1 S of row 64 is 1 instead of masked" in sentence(found, 1)


def test_a_buffer_filled_by_dbg_alone_leaves_every_step_out() -> None:
    words = told(CASE, rows=(32, 64), room=10)
    words[HEAD_WORDS:].reshape(-1, 4)[:, 0] = 240 << 24
    found = trace_of(CASE, words, traced=KERNELS, kappa=4)
    assert found.steps == []
    assert sentence(found, 1).startswith("No kernel told a tile. ")
    assert sentence(found, 1).endswith("found no room, so key tiles 0 to 3 are left out.")


def test_a_count_beyond_the_buffer_reads_nothing_beyond_it() -> None:
    words = np.full(HEAD_WORDS + 8, 2**32 - 1, np.uint32)
    found = decode(words)
    assert (found.wanted, found.capacity, len(found.kind)) == (2**32 - 1, 2, 2)
    assert found.lost == 2**32 - 3


def test_there_is_room_for_a_tile_within_bounds_and_for_dbg_alone() -> None:
    small = spec_of(CASE, tiles=True)
    huge = spec_of(Case.parse("forward:T=65536,D=256"), tiles=True)
    assert huge.bytes == 4 * HEAD_WORDS + 16 * MOST_RECORDS > small.bytes
    assert spec_of(CASE, tiles=False).bytes == 32 + 16 * 65536


@pytest.mark.parametrize("text", ["forward:T=65537,D=8", "backward:Tq=9,Tk=932068,H=2,D=8"])
def test_a_case_whose_truth_would_take_too_much_memory_is_refused(text: str) -> None:
    case = Case.parse(text)
    rows = min(case.Tq, 128)
    with pytest.raises(CaseError, match=f"at most {MOST_SCORES} are taken") as refused:
        check(case, {"b": 0, "h": 0})
    assert f"use Tk up to {MOST_SCORES // rows}, or Tq up to " in refused.value.message
    check(case.replace(Tk=MOST_SCORES // rows), {})
