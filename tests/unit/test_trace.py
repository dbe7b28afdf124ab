"""Traces: the buffer taken apart, the float64 state of each key tile, and the first departure."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import numpy as np
import pytest
from kept_runs import report_of
from traced_float32 import State, told

from server.cases import Case
from server.errors import CaseError
from server.inputs import make_inputs
from server.judge import problem_of
from server.measure import Bounds
from server.reference import attention
from server.report import Finding
from server.trace import trace_of
from server.trace_buffer import (
    HEAD_WORDS,
    check,
    count,
    decode,
    values,
)
from server.trace_reference import backward, forward, pair_of, tile_of
from server.trace_report import npz, to_dict, values_csv, values_npy
from server.trace_words import mark, sentence

CASE = Case.parse("forward:T=70,H=2,D=8")
KERNELS = ("fa2_forward",)
CASES = [
    "forward:T=70,H=2,D=8",
    "forward:B=2,Tq=19,Tk=45,H=4,Hkv=2,D=8",
    "forward:Tq=45,Tk=19,H=2,D=8",
    "forward:T=70,H=2,D=8,causal=0",
    "forward:T=70,H=2,D=8,dist=large",
    "forward:T=70,H=2,D=8,dist=ties",
    "forward:T=70,H=2,D=8,dist=negative",
    "forward:T=70,H=2,D=16,dist=growing",
]


@pytest.mark.parametrize("text", CASES)
def test_the_state_after_the_last_key_tile_is_the_reference(text: str) -> None:
    case = Case.parse(text)
    inputs = make_inputs(case)
    b, h, rows = case.B - 1, case.H - 1, (case.Tq // 2, case.Tq)
    with np.errstate(all="ignore"):
        whole = attention(
            inputs["q"], inputs["k"], inputs["v"], causal=case.causal, scale=float(case.scale_f32)
        )
        tile = tile_of(problem_of(case, inputs), b, h, rows)
        *_, last = forward(tile, 16, Bounds(4, False, False))
        m, l_i, o = (last[name].value for name in ("m", "l", "O"))
        sees = l_i > 0
        np.testing.assert_allclose(
            (o / np.where(sees, l_i, 1)[:, None]),
            whole["o"][b, rows[0] : rows[1], h],
            rtol=1e-12,
            atol=1e-14,
        )
        lse = np.where(sees, m + np.log(np.where(sees, l_i, 1)), -np.inf)
    np.testing.assert_allclose(lse, whole["lse"][b, h, rows[0] : rows[1]], rtol=1e-12)


@pytest.mark.parametrize("text", CASES)
def test_a_right_float32_tile_departs_nowhere(text: str) -> None:
    case = Case.parse(text)
    h, rows = case.H - 1, (case.Tq // 2, case.Tq)
    found = trace_of(case, told(case, b=case.B - 1, h=h, rows=rows), traced=KERNELS, kappa=4)
    assert found.departure is None, sentence(found, float(case.scale_f32))
    worst = max(q.worst for step in found.steps for q in step.quantities.values())
    assert 0 < worst < 0.7
    assert sentence(found, 1).startswith("Right in every step: ")
    assert mark(found) == ""


def test_the_gradients_of_a_tile_pair_are_those_of_the_reference() -> None:
    case = Case.parse("backward:T=40,H=4,Hkv=2,D=8")
    inputs = make_inputs(case)
    problem = problem_of(case, inputs)
    keys = np.arange(16, 40)
    with np.errstate(all="ignore"):
        truth = attention(
            inputs["q"], inputs["k"], inputs["v"], do=inputs["do"], scale=float(case.scale_f32)
        )
        pair = backward(pair_of(problem, 0, 3, (24, 40), (0, 40)), Bounds(4, False, False))
        dq = float(case.scale_f32) * pair["dS"].value @ inputs["k"][0, :, 1].astype(float)
        part = backward(pair_of(problem, 0, 3, (24, 40), (16, 40)), Bounds(4, False, False))
    np.testing.assert_allclose(dq, truth["dq"][0, 24:40, 3], rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(part["P"].value, truth["attn"][0, 3, 24:40][:, keys])
    delta = (inputs["do"].astype(float) * truth["o"])[0, 24:40, 3].sum(axis=1)
    np.testing.assert_allclose(part["delta"].value, delta)
    np.testing.assert_allclose(
        part["dS"].value, part["P"].value * (part["dP"].value - delta[:, None]), atol=1e-15
    )


def _alpha_is_one(s: State) -> None:
    s["alpha"] = np.ones_like(s["alpha"])


def _old_sum_not_rescaled(s: State) -> None:
    s["l"] = s["old"]["l"] + s["P"].sum(axis=1)


def _old_sum_lost(s: State) -> None:
    s["l"] = s["P"].sum(axis=1)


def _output_not_rescaled(s: State) -> None:
    s["O"] = s["old"]["O"] + s["P"] @ s["V"]


def _mask_one_too_few(s: State) -> None:
    if s["tile"] == 2:
        s["S"] = np.where(s["S"] > -1e38, s["S"], np.float32(0.5))


def _scale_twice(s: State) -> None:
    s["S"] = np.where(s["S"] > -1e38, s["S"] * np.float32(CASE.scale_f32), s["S"])


def _scores_off(s: State) -> None:
    s["S"] = np.where(s["S"] > -1e38, s["S"] * np.float32(1.001), s["S"])


def _maximum_of_the_tile(s: State) -> None:
    s["m"] = s["S"].max(axis=1)


def _old_maximum(s: State) -> None:
    if s["tile"]:
        shift = np.where(s["S"] > -1e38, s["S"] - s["old"]["m"][:, None], -200)
        s["P"] = np.exp(shift).astype(np.float32)


@pytest.mark.parametrize(
    ("at", "fault", "step", "quantity", "why"),
    [
        ("alpha", _alpha_is_one, 1, "alpha", "the old sums are not rescaled"),
        ("l", _old_sum_not_rescaled, 1, "l", "the old sum was not rescaled"),
        ("l", _old_sum_lost, 1, "l", "the sum of the tiles before is lost"),
        ("O", _output_not_rescaled, 1, "O", "the old sum was not rescaled"),
        ("S", _mask_one_too_few, 2, "S", "keys that these rows must not see are not masked"),
        ("S", _scale_twice, 0, "S", "scale is applied twice"),
        ("S", _scores_off, 0, "S", "each is 1.001 times the right one"),
        ("m", _maximum_of_the_tile, 1, "m", "the maximum of the tiles before is forgotten"),
        ("P", _old_maximum, 1, "P", "it is taken against the maximum before this tile"),
    ],
)
def test_the_first_departure_is_named_with_its_reason(
    at: str, fault: object, step: int, quantity: str, why: str
) -> None:
    words = told(CASE, h=1, rows=(32, 64), faults={at: fault})  # type: ignore[dict-item]
    found = trace_of(CASE, words, traced=KERNELS, kappa=4)
    assert found.departure is not None
    assert (found.departure.step, found.departure.quantity) == (step, quantity)
    said = sentence(found, float(CASE.scale_f32))
    assert said.endswith(f": {why}."), said
    before = f"Right up to key tile {step - 1}; at key tile {step} " if step else "Already at"
    assert said.startswith(before), said
    assert mark(found).endswith(f" after key tile {step}")


def test_a_key_tile_that_is_never_visited_is_where_they_part() -> None:
    words = told(CASE, rows=(32, 64))
    records = words[HEAD_WORDS:].reshape(-1, 4)
    records[(records[:, 0] & 0xFFFFFF) == 2] = 0  # no kind
    found = trace_of(CASE, words, traced=KERNELS, kappa=4)
    assert found.departure is not None
    assert found.departure.step == 2
    assert "S was never told, so the kernel did not visit key tile 2" in sentence(found, 1)


def test_nan_that_a_kernel_told_is_not_taken_for_silence() -> None:
    def broken(s: State) -> None:
        s["m"] = np.full_like(s["m"], np.nan)

    found = trace_of(CASE, told(CASE, rows=(32, 64), faults={"m": broken}), traced=KERNELS, kappa=4)
    assert found.departure is not None
    assert found.departure.quantity == "m"
    assert "m_i of rows 32–63 is NaN instead of" in sentence(found, 1)
    row = to_dict(found, CASE, report_of(str(CASE)))["steps"][0]["rows"]["m"]["actual"][0]
    assert row == "NaN"


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (("attn",), "Only attn is wrong, and no traced kernel writes it: attn_writeback computes"),
        (("o", "lse"), "the fault comes after the last key tile: in the division by l_i, in the "
         "log-sum-exp, or in how they are stored."),
        (("lse", "attn"), "or in how they are stored. attn is written by attn_writeback."),
        (("dk",), "look at what is made of P and dS"),
    ],
)  # fmt: skip
def test_where_no_step_is_wrong_the_outputs_say_what_is_left(
    wrong: tuple[str, ...], says: str
) -> None:
    found = trace_of(CASE, told(CASE, rows=(32, 64)), traced=KERNELS, kappa=4)
    one = report_of(str(CASE), "fail").outputs["o"]
    report = report_of(
        str(CASE),
        "fail",
        outputs=dict.fromkeys(wrong, one),
        passes=({"kernel": "fa2_forward"}, {"kernel": "attn_writeback"}),
    )
    assert says in sentence(found, 1, report)
    assert ("after the last key tile" in sentence(found, 1, report)) == (wrong[0] in ("o", "lse"))
    unwritten = replace(report, outputs={}, finding=Finding("written", wrong[0], "everywhere"))
    if len(wrong) == 1:
        assert says in sentence(found, 1, unwritten)
    assert "wrong" not in sentence(found, 1, report_of(str(CASE)))


def test_parts_of_a_sum_are_added_and_the_rows_of_others_left_out() -> None:
    words = told(CASE, rows=(32, 64))
    right = trace_of(CASE, words, traced=KERNELS, kappa=4).steps[0].quantities["l"].actual
    records = words[HEAD_WORDS:].reshape(-1, 4)
    sums = np.flatnonzero(records[:, 0] == 5 << 24)
    halves = records[sums].copy()
    halves[:, 3] = (halves[:, 3].view(np.float32) / 2).view(np.uint32)
    records[sums] = halves
    halves[:, 2] = 7  # another invocation of the same rows
    end = count(words)
    records[end : end + len(halves)] = halves
    records[end + len(halves)] = (5 << 24, 3, 0, 1)  # no row of this tile
    words[0] += len(halves) + 1
    again = trace_of(CASE, words, traced=KERNELS, kappa=4).steps[0].quantities["l"].actual
    np.testing.assert_array_equal(again, right)


@pytest.mark.parametrize(
    "head", [(0, 9, 0, 0, 32, 0, 70, 16), (0, 0, 0, 32, 32, 0, 70, 16), (0, 0, 0, 0, 99, 0, 70, 16)]
)
def test_a_head_that_does_not_fit_the_case_is_refused(head: tuple[int, ...]) -> None:
    words = told(CASE, rows=(32, 64))
    words[:HEAD_WORDS] = head
    with pytest.raises(ValueError, match="head of the trace"):
        trace_of(CASE, words, traced=KERNELS, kappa=4)


def test_values_of_dbg_come_sorted_with_their_types() -> None:
    words = np.zeros(HEAD_WORDS + 4 * 8, np.uint32)
    one = np.array([1.5], np.float32).view(np.uint32)[0]
    words[0] = 6
    words[HEAD_WORDS:].reshape(-1, 4)[:6] = [
        (241 << 24 | 2, 7, 1, 2**32 - 1),
        (240 << 24 | 3, 7, 0, one),
        (246 << 24 | 0, 3, 0, one),
        (2 << 24, 0, 0, one),  # a trace's
        (248 << 24, 3, 0, one),  # nobody's: there is no fifth component
        (255 << 24, 3, 0, one),
    ]
    got = [(v.tag, v.workgroup, v.invocation, v.component, v.value) for v in values(decode(words))]
    assert got == [(3, 0, 0, 2, 1.5), (7, 0, 3, None, 1.5), (7, 1, 2, None, 2**32 - 1)]
    found = trace_of(CASE, words, traced=(), kappa=4)
    assert found.steps == []
    assert found.departure is None
    assert values_csv(found).decode().splitlines()[1:] == [
        "3,0,0,2,1.5", "7,0,3,,1.5", "7,1,2,,4294967295.0",
    ]  # fmt: skip
    assert values_npy(found).startswith(b"\x93NUMPY")


def test_the_json_has_no_number_that_json_lacks_and_the_npz_every_array() -> None:
    words = told(CASE, rows=(0, 32))
    found = trace_of(CASE, words, traced=KERNELS, kappa=4)
    text = json.dumps(to_dict(found, CASE, report_of(str(CASE))), allow_nan=False)
    assert json.loads(text)["steps"][0]["rows"]["m"]["expected"]
    arrays = np.load(io.BytesIO(npz(found)))
    assert arrays["tile1.P.actual"].shape == (32, 16)
    assert arrays["tile0.O.expected"].shape == (32, 8)


@pytest.mark.parametrize(
    ("trace", "says"),
    [
        ({"b": 1, "h": 0, "i_tile": 0}, "b=1 must be below 1"),
        ({"b": 0, "h": 2, "i_tile": 0}, "h=2 must be below 2"),
        ({"b": 0, "h": 0, "i_tile": 70}, "i_tile=70 must be below 70"),
        ({"b": 0, "h": 0, "i_tile": 0, "j_tile": 1}, "j_tile=1 is for a backward"),
    ],
)
def test_a_tile_that_no_kernel_can_have_is_refused(trace: dict[str, int], says: str) -> None:
    with pytest.raises(CaseError, match=says):
        check(CASE, trace)
