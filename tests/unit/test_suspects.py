"""A mistake that a kernel makes is named from the values that it leaves, and a right one is not."""

import numpy as np
import pytest
from fake_upload import done, results, uploads

from server.cases import Case
from server.inputs import few_weights
from server.judge import tile_of
from server.judged_parts import Part, Subject
from server.measure import Bounds
from server.mistake import Place
from server.mistakes import mistakes
from server.outputs import AXES, outputs_of
from server.relations import relation
from server.suspects import Picks, Right, _values, suspects
from server.truths import Truths
from server.verdict import ratios

BACKWARD = "backward:B=2,Tq=37,Tk=45,H=4,Hkv=2,D=8"
OPEN = "backward:B=2,T=33,H=2,D=8,causal=0"
CAPPED = "forward:T=37,H=2,D=8,window=5:-1,softcap=2,bias=tt"
GROWING = "forward:T=70,H=2,D=8,dist=growing"


def subject_of(text):
    case = Case.parse(text)
    flat = uploads(case, results(case) if case.window == (-1, -1) else _truth(case))
    return Subject(
        id="run",
        case=case,
        tensors={spec.name: flat[spec.name].reshape(spec.shape) for spec in outputs_of(case)},
        tile=tile_of(done(case)),
        bounds=Bounds(4.0, few_weights(case), case.dtype == "f16"),
        inputs=None,
        sampled_above=None,
        truths=Truths(0),
    )


def _truth(case):
    return {spec.name: np.zeros(spec.shape, np.float32) for spec in outputs_of(case)}


def values(place, mistake, name):
    axis = "j" if name in ("dk", "dv") else "i"
    picks = Picks(axis, np.arange(place.part.shape[2 if axis == "j" else 1]))
    return np.maximum(_values(mistake, name, picks, Right(place.part, picks)), -3e38)


TOLD = [(BACKWARD, name) for name in ("o", "lse", "dq", "dk", "dv")]
TOLD += [(OPEN, "o"), (OPEN, "dk"), (CAPPED, "o"), (GROWING, "o"), (GROWING, "lse")]


@pytest.mark.parametrize(("text", "name"), TOLD)
def test_what_a_mistake_gives_is_named_as_that_mistake(text, name):
    one = subject_of(text)
    b, n = one.case.B - 1, one.case.Hkv - 1
    place = Place(one.problem, b, n, dict(one.tile))
    gives = {m.says: values(place, m, name) for m in mistakes(place) if name in m.outputs}
    axes, group = AXES[name], one.case.H // one.case.Hkv
    head = slice(n, n + 1) if "hkv" in axes else slice(n * group, (n + 1) * group)
    at = tuple({"b": slice(b, b + 1), "h": head, "hkv": head}.get(a, slice(None)) for a in axes)
    named = 0
    for says, made in gives.items():
        one.tensors[name][at] = made
        output = one.measured(name, Part(b, n))
        ratio = ratios(output.actual, output.expected, output.allowed)
        if (ratio <= 1).all():  # it changes nothing here
            continue
        found = suspects(one, name, output.place(int(np.argmax(ratio))))
        # Another one may give the same values, as a window and a causal mask do.
        same = {f"as if {other}" for other, given in gives.items() if _alike(given, made)}
        assert same & set(found), (says, found)
        named += 1
    assert named >= 5


def _alike(a, b):
    return a.shape == b.shape and np.allclose(a, b, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", ["o", "lse", "dq", "dk"])
def test_a_scale_that_is_a_little_off_is_told(name):
    one = subject_of("backward:T=37,H=2,D=8")
    wrong = results(one.case, scale=float(one.case.scale_f32) * 1.002)
    one.tensors[name][...] = wrong[name]
    (said,) = suspects(one, name, dict.fromkeys(AXES[name], 1) | {"b": 0})
    assert said == "as if the scale of the scores were 1.002 times what it should be"


@pytest.mark.parametrize("text", [BACKWARD, OPEN, GROWING])
def test_nothing_is_said_of_a_right_output(text):
    one = subject_of(text)
    for name, axes in ((name, AXES[name]) for name in one.tensors):
        assert suspects(one, name, dict.fromkeys(axes, 0)) == []


def test_noise_is_no_known_mistake():
    one = subject_of(BACKWARD)
    one.tensors["o"][...] = np.random.default_rng(1).normal(size=one.tensors["o"].shape)
    assert suspects(one, "o", {"b": 0, "i": 0, "h": 0, "d": 0}) == []


def test_where_no_mistake_is_tried_the_reason_is_told():
    one = subject_of("backward:T=33,H=2,D=8,causal=0,bias=tt")
    assert "dbias is a sum" in suspects(one, "dbias", {"b": 0, "h": 0, "i": 0, "j": 0})[0]
    one.tensors["o"][...] = np.nan
    assert "not finite" in suspects(one, "o", {"b": 0, "i": 0, "h": 0, "d": 0})[0]


def test_a_missing_barrier_is_told_by_the_rows_that_are_right():
    one = subject_of("forward:T=70,H=2,D=8")
    rows = np.arange(70)[None, :, None, None]
    noise = np.random.default_rng(1).normal(size=one.tensors["o"].shape)
    one.tensors["o"][...] = np.where(rows % 16 < 12, noise, one.tensors["o"])
    (said,) = suspects(one, "o", {"b": 0, "i": 0, "h": 0, "d": 0})
    assert said.startswith("only the last 4 of each 16 are right")
    assert "barrier" in said


def related(actual, expected=None):
    expected = np.arange(1.0, 31).reshape(6, 5) if expected is None else expected
    return relation(actual, expected, np.full(expected.shape, 1e-6), 0.25)


def test_factors_are_told_and_known_ones_named():
    right = np.arange(1.0, 31).reshape(6, 5)
    assert related(right * 0.25) == (
        "each wrong value is 0.25 times the right one (the scale, applied once more)"
    )
    assert "-1 times the right one (its sign is turned)" in related(-right)
    assert "1.4427 times the right one (log₂ e" in related(right * np.log2(np.e))
    assert related(right * 1.25) == "each wrong value is 1.25 times the right one"


def test_offsets_zeros_and_factors_of_whole_rows_are_told():
    right = np.arange(1.0, 31).reshape(6, 5)
    assert related(right + 0.5) == "each wrong value is the right one +0.5"
    assert related(right * 0) == "the wrong elements hold 0"
    rows = right * np.arange(2.0, 8)[:, None]
    assert "times a factor of its own, 2 to 7" in related(rows)


def test_of_values_without_a_simple_relation_nothing_is_told():
    rng = np.random.default_rng(2)
    assert related(rng.normal(size=(6, 5))) == ""
    assert related(np.full((6, 5), np.nan)) == ""
