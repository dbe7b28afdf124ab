"""The judge passes what is right and fails every way of being wrong, with the reason."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from fake_upload import ADAPTER, POISON, done, results, uploads, verdict_on

from server.cases import Case
from server.errors import CaseError
from server.grammar import DISTS
from server.poison import finite_words
from server.report import RunError

SMALL = Case.parse("forward:B=2,T=20,H=3,D=4,attn=1")
BACKWARD = Case.parse("backward:Tq=12,Tk=20,H=4,Hkv=2,D=4,layout=bhtd")


def broken(case, change):
    """The report on a faultless upload to which something was done."""
    tensors = uploads(case, results(case))
    change(tensors)
    return verdict_on(case, tensors)


def both(tensors, name, change):
    """The same change in both passes."""
    for tensor in (tensors[name], tensors[f"{name}.repeat"]):
        change(tensor)


# --- right ---------------------------------------------------------------------------------------

RIGHT = [
    "forward:B=2,T=20,H=3,D=4,attn=1",
    "forward:Tq=9,Tk=20,H=4,Hkv=2,D=5,layout=bhtd,attn=1",
    "forward:Tq=20,Tk=9,H=2,D=4,attn=1",
    "forward:T=20,D=4,softcap=1.5,bias=tt",
    "forward:T=20,H=4,Hkv=2,D=4,layout=packed,causal=0",
    "forward:T=20,H=2,D=3,dtype=f16",
    "forward:T=1,D=1,attn=1",
    "backward:Tq=12,Tk=20,H=4,Hkv=2,D=4,layout=bhtd",
    "backward:B=2,T=12,H=2,D=4,bias=b11t,softcap=2",
    "backward:B=2,T=12,H=2,D=4,bias=bhtt,causal=0",
    "backward:T=12,H=2,D=4,dtype=f16",
    "backward:Tq=20,Tk=9,H=2,D=4,align=tl",
]


@pytest.mark.parametrize("case", RIGHT)
def test_right_results_pass(case):
    report = verdict_on(case)
    assert report.ok, report.message
    assert all(0 <= o.worst_ratio < 0.7 and o.bad == 0 for o in report.outputs.values())
    assert any(c.changes for c in report.controls.values())


@pytest.mark.parametrize("dist", DISTS)
@pytest.mark.parametrize("op", ["forward", "backward"])
def test_right_results_pass_for_every_family_of_inputs(op, dist):
    report = verdict_on(f"{op}:B=2,T=40,H=4,Hkv=2,D=8,dist={dist},attn=1")
    assert report.ok, report.message


def test_a_report_has_every_field_and_is_strict_json():
    found = verdict_on(BACKWARD).to_dict()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert list(found) == [
        "case", "kernel", "status", "message", "outputs", "controls", "kappa", "input_sha256",
        "shader_sha256", "adapter", "engine", "passes", "elapsed_ns", "compile_ns",
        "first_result_ns", "gpu_ns", "edited", "told", "warnings", "finding", "error",
    ]  # fmt: skip
    assert list(found["outputs"]) == ["o", "lse", "dq", "dk", "dv"]
    fields = ["worst_ratio", "worst", "bad", "total", "nan", "inf", "where"]
    assert list(found["outputs"]["dk"]) == fields
    assert len(found["outputs"]["dk"]["worst"]["index"]) == 4
    assert found["adapter"] == ADAPTER
    assert found["kernel"] == "fa2_forward"
    assert found["elapsed_ns"] == 1e6


def test_rows_without_keys_may_hold_minus_infinity_or_a_very_negative_number():
    case = Case.parse("forward:Tq=20,Tk=9,H=2,D=4")

    def empty(value):
        def change(tensors):
            both(tensors, "lse", lambda t: t.reshape(2, 20)[:, :11].fill(value))

        return broken(case, change)

    assert empty(-np.inf).ok
    assert empty(-1e30).ok
    assert empty(-1e29).status == "fail"
    assert empty(0.0).status == "fail"
    assert empty(np.inf).status == "fail"
    assert empty(np.nan).status == "fail"


# --- wrong ---------------------------------------------------------------------------------------

WRONG = {
    "missing": (lambda t: t.pop("o"), "o was not uploaded"),
    "no repeat": (lambda t: t.pop("attn.repeat"), "attn.repeat was not uploaded"),
    "short": (lambda t: t.update(o=t["o"][:-1]), "float32[479], expected float32[2, 20, 3, 4]"),
    "mistyped": (lambda t: t.update(o=t["o"].view(np.uint32)), "o is uint32[480]"),
    "guard": (lambda t: t["lse.guards"].__setitem__(70, 0), "wrote behind the output: 1 of 64"),
    "unwritten": (
        lambda t: t["o"].view(np.uint32).__setitem__(slice(468, None), POISON[0]),
        "12 of 480 (2.5 %) elements were never written in pass 1",
    ),
    "unwritten again": (
        lambda t: t["o.repeat"].view(np.uint32).__setitem__(0, finite_words(POISON[1])[0]),
        "were never written in pass 2",
    ),
    "stale repeat": (
        lambda t: t["attn.repeat"].__setitem__(0, 0.999),
        "attn: 1 of 2400 (0.042 %) elements changed when the same dispatch ran again",
    ),
    "NaN": (
        lambda t: both(t, "o", lambda a: a.__setitem__(3, np.nan)),
        "o: 1 of 480 (0.21 %) elements are not finite (1 NaN, 0 inf)",
    ),
    "inf": (
        lambda t: both(t, "lse", lambda a: a.__setitem__(3, -np.inf)),
        "lse: 1 of 120 (0.83 %) elements are not finite (0 NaN, 1 inf)",
    ),
    "zeros": (lambda t: both(t, "o", lambda a: a.fill(0)), "o: 480 of 480 (100 %) elements are"),
    "one element": (
        lambda t: both(t, "o", lambda a: a.__setitem__(100, a[100] + 1e-5)),
        "o: 1 of 480 (0.21 %) elements are beyond their bound",
    ),
    "last row": (
        lambda t: both(t, "o", lambda a: a.reshape(2, 20, 12)[:, 19].fill(0)),
        "all in row i = 19, every element there",
    ),
    "attn beyond the mask": (
        lambda t: both(t, "attn", lambda a: a.__setitem__(5, 1e-30)),
        "attn: 1 of 2400 (0.042 %) elements are beyond their bound",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_broken_upload_fails_with_its_reason(name):
    change, words = WRONG[name]
    report = broken(SMALL, change)
    assert report.status == "fail"
    assert words in report.message
    assert "fa2 run 'forward:B=2,T=20,H=3,D=4,attn=1'" in report.message
    assert "/webgpu-test?case=forward:B=2,T=20,H=3,D=4,attn=1&run=1" in report.message
    assert "shader abababababab" in report.message
    assert "NumPy (software)" in report.message
    json.dumps(report.to_dict(), allow_nan=False)


@pytest.mark.parametrize("name", ["o", "lse", "dq", "dk", "dv"])
@pytest.mark.parametrize("value", [np.nan, np.inf, 0.0])
def test_every_output_of_backward_is_judged(name, value):
    report = broken(BACKWARD, lambda t: both(t, name, lambda a: a[: a.size // 2].fill(value)))
    assert report.status == "fail"
    assert report.message.startswith(f"{name}: ")
    assert report.outputs[name].bad > 0


@pytest.mark.parametrize(
    "change",
    [{"scale": 0.5 * 1.001}, {"offset": 9}, {"causal": False}, {"softcap": 30.0}],
    ids=str,
)
@pytest.mark.parametrize("case", [BACKWARD, BACKWARD.replace(op="forward")], ids=str)
def test_a_wrong_algorithm_fails(case, change):
    report = verdict_on(case, uploads(case, results(case, **change)))
    assert report.status == "fail"
    assert report.message.startswith("o: ")


def test_heads_of_another_layout_fail():
    report = verdict_on(BACKWARD, uploads(BACKWARD.replace(layout="bthd"), results(BACKWARD)))
    assert report.status == "fail"
    assert "structure" not in report.message


def test_the_first_failure_wins_and_the_numbers_stand_beside_it():
    def change(tensors):
        both(tensors, "o", lambda a: a.fill(np.nan))
        tensors["o.repeat"][0] = 1
        tensors["attn.guards"][3] = 0

    report = broken(SMALL, change)
    assert report.message.startswith("attn: the kernel wrote in front of the output")
    assert "The numbers beside that: o inf, lse 0." in report.message
    assert report.outputs["o"].nan == 480


def test_results_of_an_earlier_run_fail():
    other = SMALL.replace(seed=1)
    report = verdict_on(SMALL, uploads(SMALL, results(other)))
    assert report.status == "fail"


# --- what cannot be judged -----------------------------------------------------------------------


def test_other_inputs_are_an_error_that_names_both_digests():
    told = done(SMALL.replace(seed=1))
    report = verdict_on(SMALL, told=told)
    assert report.status == "error"
    assert report.error.kind == "page"
    assert told.input_sha256 in report.message
    assert done(SMALL).input_sha256 in report.message
    assert verdict_on(SMALL, told=done(SMALL, input_sha256=None)).status == "error"


def test_nothing_dispatched_is_an_error():
    report = verdict_on(SMALL, told=done(SMALL, dispatches=0))
    assert report.status == "error"
    assert "nothing was dispatched" in report.message


@pytest.mark.parametrize(
    ("case", "name"),
    [
        ("forward:T=16,H=2,D=8,scale=3e38,dist=uniform", "lse"),  # scores beyond float32
        ("backward:T=8,H=2,D=4,scale=1e4,dtype=f16,dist=large", "dk"),  # beyond f16
    ],
)
def test_a_right_kernel_that_overflows_is_no_failure_but_proves_nothing(case, name):
    case = Case.parse(case)
    got = results(case)
    got[name] = np.full_like(got[name], np.inf)
    report = verdict_on(case, uploads(case, got))
    assert report.status == "vacuous"
    assert name in report.message
    assert "beyond the largest number of their type" in report.message
    json.dumps(report.to_dict(), allow_nan=False)
    touched = uploads(case, got)
    touched["o.guards"][0] = 0
    assert verdict_on(case, touched).status == "fail"


def test_what_the_page_could_not_run_is_an_error_with_kind_and_place():
    error = {
        "kind": "compile",
        "message": "unresolved 'x'",
        "file": "a.wgsl",
        "line": 3,
        "column": 9,
    }
    told = done(SMALL, status="error", error=error)
    report = verdict_on(SMALL, {}, told=told)
    assert report.status == "error"
    assert report.error == RunError(**error)
    assert report.message.startswith("a.wgsl:3:9: unresolved 'x'\n")
    assert "again: fa2 run" in report.message


def test_a_refusal_is_a_skip_with_its_reason():
    error = {"kind": "unsupported", "message": "window=2:0 is not supported"}
    report = verdict_on(SMALL, {}, told=done(SMALL, status="skip", error=error))
    assert report.status == "skip"
    assert report.message == "window=2:0 is not supported"
    assert not report.ok


@pytest.mark.parametrize("told", [{"status": "ready"}, {"error": {"kind": "page"}}])
def test_an_unknown_ending_is_never_judged(told):
    assert verdict_on(SMALL, told=done(SMALL, **told)).status == "error"


@pytest.mark.parametrize("poison", [(0x7FC17E05, 0x7FC17E05), (0x7FC17E05, 0), (0x7FC00000, 1)])
def test_poison_that_cannot_work_is_refused(poison):
    with pytest.raises(CaseError, match="poison words"):
        verdict_on(SMALL, poison=poison)


# --- purity --------------------------------------------------------------------------------------


def test_threads_and_floating_point_traps_do_not_disturb_it():
    cases = [Case.parse(text) for text in RIGHT[:6]]
    prepared = [(c, uploads(c, results(c))) for c in cases]
    alone = [verdict_on(c, t).to_dict() for c, t in prepared]
    with np.errstate(all="raise"), ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda ct: verdict_on(*ct).to_dict(), prepared))
        assert together == alone
        assert verdict_on(*prepared[0]).to_dict() == alone[0]


def test_uploads_are_not_changed():
    tensors = uploads(SMALL, results(SMALL))
    for array in tensors.values():
        array.setflags(write=False)
    assert verdict_on(SMALL, tensors).ok


def test_an_unusable_tile_is_overlooked():
    report = verdict_on(SMALL, told=done(SMALL, tile={"Br": 0, "Bc": "x", "Bd": 3}))
    assert report.ok
    assert report.outputs["o"].worst.tile is None
