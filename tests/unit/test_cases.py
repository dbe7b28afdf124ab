"""The grammar of case strings: what it reads, how it prints, and what it refuses."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from server import grammar
from server.cases import Case
from server.errors import CaseError
from server.grammar import DISTS, KEYS, MAX_ELEMENTS, show_float32

SIZES = st.integers(1, 40)
NORMAL_FLOAT32 = st.floats(width=32, allow_nan=False, allow_infinity=False, allow_subnormal=False)


@st.composite
def case_fields(draw: st.DrawFn) -> dict[str, Any]:
    Hkv, group, Tq = draw(SIZES), draw(st.integers(1, 8)), draw(SIZES)
    layout = draw(st.sampled_from(["bthd", "bhtd", "packed"]))
    side = st.integers(-1, 50)
    return {
        "op": draw(st.sampled_from(grammar.OPS)),
        "B": draw(SIZES),
        "Tq": Tq,
        "Tk": Tq if layout == "packed" else draw(st.just(Tq) | SIZES),
        "H": Hkv * group,
        "Hkv": Hkv,
        "D": draw(SIZES),
        "causal": draw(st.booleans()),
        "align": draw(st.sampled_from(["br", "tl"])),
        "window": (draw(side), draw(side)),
        "softcap": draw(st.just(0.0) | NORMAL_FLOAT32.map(abs)),
        "scale": draw(st.none() | NORMAL_FLOAT32),
        "bias": draw(st.sampled_from(["none", "tt", "htt", "bhtt", "b11t"])),
        "dtype": draw(st.sampled_from(["f32", "f16"])),
        "layout": layout,
        "dist": draw(st.sampled_from(DISTS)),
        "attn": draw(st.booleans()),
        "seed": draw(st.integers(0, 2**64 - 1)),
        "kernel": draw(st.from_regex(r"[a-z0-9][a-z0-9_-]{0,20}", fullmatch=True)),
    }


# --- reading and printing ------------------------------------------------------------------------


@given(case_fields())
def test_printing_and_parsing_round_trip(fields: dict[str, Any]) -> None:
    case = Case(**fields)
    text = str(case)
    assert Case.parse(text) == case
    assert str(Case.parse(text)) == text
    assert text.isascii()
    assert not set(text) & set(" +&#%?")  # nothing that a URL's query would change


@given(case_fields(), st.randoms(use_true_random=False))
def test_the_order_of_the_keys_does_not_matter(fields: dict[str, Any], random: Any) -> None:
    op, _, items = str(Case(**fields)).partition(":")
    shuffled = items.split(",")
    random.shuffle(shuffled)
    assert Case.parse(f"{op}:{','.join(shuffled)}") == Case(**fields)


@given(case_fields())
def test_keys_print_in_table_order_and_defaults_are_left_out(fields: dict[str, Any]) -> None:
    case = Case(**fields)
    items = dict(item.split("=") for item in str(case).partition(":")[2].split(","))
    assert list(items) == [name for name in KEYS if name in items]
    plain = Case(Tq=case.Tq, Tk=case.Tk, H=case.H, D=case.D)
    optional = [name for name in KEYS if name not in ("T", "Tq", "Tk", "D")]
    for name in optional:
        at_default = getattr(case, name) == (1 if name == "H" else getattr(plain, name))
        assert (name not in items) == at_default


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("forward:D=8,T=48,H=3,B=2,seed=7", "forward:B=2,T=48,H=3,D=8,seed=7"),
        ("forward:Tq=5,Tk=5,D=8", "forward:T=5,D=8"),
        ("forward:T=5,D=8,B=1,H=1,Hkv=1,causal=1,align=br,attn=0", "forward:T=5,D=8"),
        ("forward:T=5,D=8,window=-1:-1,softcap=0,bias=none,dtype=f32", "forward:T=5,D=8"),
        ("forward:T=5,D=8,layout=bthd,dist=normal,seed=0,kernel=auto", "forward:T=5,D=8"),
        ("forward:T=5,D=16,scale=0.25", "forward:T=5,D=16"),
        ("forward:T=5,D=3,scale=0.57735026", "forward:T=5,D=3"),
        ("forward:T=5,D=8,scale=-0", "forward:T=5,D=8,scale=0"),
        ("forward:T=5,D=8,scale=0.00e9", "forward:T=5,D=8,scale=0"),
        ("forward:T=5,D=8,scale=1e+20", "forward:T=5,D=8,scale=1e20"),
        ("forward:T=5,D=8,scale=0.10", "forward:T=5,D=8,scale=0.1"),
        ("forward:T=5,D=8,scale=.5,softcap=30.0", "forward:T=5,D=8,softcap=30,scale=0.5"),
        ("forward:T=5,D=8,seed=0x10", "forward:T=5,D=8,seed=16"),
        ("forward:T=5,D=8,seed=0XfF", "forward:T=5,D=8,seed=255"),
        ("forward:T=05,D=8", "forward:T=5,D=8"),
        ("backward:T=5,H=4,Hkv=2,D=8,window=3:-1", "backward:T=5,H=4,Hkv=2,D=8,window=3:-1"),
        ("forward:T=5,D=300", "forward:T=5,D=300"),
        ("forward:T=5,D=8,kernel=my-kernel_2", "forward:T=5,D=8,kernel=my-kernel_2"),
    ],
)
def test_a_case_prints_canonically(text: str, canonical: str) -> None:
    assert str(Case.parse(text)) == canonical


@given(NORMAL_FLOAT32)
def test_numbers_print_in_their_shortest_float32_form(x: float) -> None:
    text = show_float32(x)
    assert np.float32(text) == np.float32(x)
    assert len(text) <= len(str(np.float32(x)))
    assert not text.endswith(".0")


def test_defaults_are_those_of_the_grammar() -> None:
    case = Case.parse("forward:T=5,H=6,D=16")
    assert (case.B, case.Hkv, case.causal, case.align) == (1, 6, True, "br")
    assert (case.window, case.softcap, case.bias) == ((-1, -1), 0.0, "none")
    assert (case.scale, case.scale_f32) == (None, np.float32(0.25))
    assert (case.dtype, case.layout, case.dist) == ("f32", "bthd", "normal")
    assert (case.attn, case.seed, case.kernel) == (False, 0, "auto")


# --- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["forward:", "backward:"]),
        ("forward", ["forward:"]),
        ("sideways:T=5,D=8", ["'sideways'", "forward:", "backward:"]),
        ("forward:", ["''", "KEY=VALUE"]),
        ("forward:T=5,,D=8", ["''", "KEY=VALUE"]),
        ("forward:T=5,D=8,", ["''", "KEY=VALUE"]),
        ("forward:T=5,D", ["'D'", "KEY=VALUE"]),
        ("forward:T=5,D=8,heads=2", ["'heads'", "B, T, Tq, Tk, H, Hkv, D, causal"]),
        ("forward:t=5,D=8", ["'t'", "B, T, Tq"]),
        ("forward:op=backward,T=5,D=8", ["'op'", "the keys are"]),
        ("forward:T=5,D=8,D=8", ["D is given twice"]),
        ("forward:T=5,T=6,D=8", ["T is given twice"]),
        ("forward:T=5, D=8", ["no spaces"]),
        ("forward:T=5,D=8\n", ["no spaces"]),
        ("forward:T=5,D=8\u00a0", ["no spaces"]),
        ("forward:T=5,Tq=5,D=8", ["T beside Tq", "both Tq and Tk"]),
        ("forward:T=5,Tk=5,D=8", ["T beside Tk", "both Tq and Tk"]),
        ("forward:Tq=5,D=8", ["Tq", "both Tq and Tk"]),
        ("forward:Tk=5,D=8", ["Tk", "both Tq and Tk"]),
        ("forward:D=8", ["no length", "either T"]),
        ("forward:T=5", ["no D", "whole number"]),
        ("forward:T=0,D=8", ["T=0", "from 1 to 268435456"]),
        ("forward:Tq=5,Tk=0,D=8", ["Tk=0", "from 1"]),
        ("forward:T=-3,D=8", ["T=-3", "from 1 to 268435456"]),
        ("forward:T=1.5,D=8", ["T=1.5", "whole number"]),
        ("forward:T=1_0,D=8", ["T=1_0", "whole number"]),
        ("forward:T=٣,D=8", ["T=٣", "whole number"]),
        ("forward:T=,D=8", ["T= is not allowed", "whole number"]),
        ("forward:T=5,D=0", ["D=0", "whole number"]),
        ("forward:B=0,T=5,D=8", ["B=0", "whole number"]),
        ("forward:H=0,T=5,D=8", ["H=0", "whole number"]),
        ("forward:Hkv=0,T=5,D=8", ["Hkv=0", "whole number"]),
        ("forward:T=5,D=8,H=4,Hkv=3", ["Hkv=3", "divide", "H=4"]),
        ("forward:T=5,D=8,H=2,Hkv=4", ["Hkv=4", "divide", "H=2"]),
        ("forward:T=5,D=8,causal=true", ["causal=true", "0 or 1"]),
        ("forward:T=5,D=8,causal=2", ["causal=2", "0 or 1"]),
        ("forward:T=5,D=8,attn=yes", ["attn=yes", "0 or 1"]),
        ("forward:T=5,D=8,align=bottom", ["align=bottom", "br, tl"]),
        ("forward:T=5,D=8,window=3", ["window=3", "l:r", "-1"]),
        ("forward:T=5,D=8,window=3:", ["window=3:", "l:r"]),
        ("forward:T=5,D=8,window=1:2:3", ["window=1:2:3", "l:r"]),
        ("forward:T=5,D=8,window=-2:0", ["window=-2:0", "-1 for open"]),
        ("forward:T=5,D=8,window=open", ["window=open", "l:r"]),
        ("forward:T=5,D=8,softcap=-1", ["softcap=-1", "0 (off)"]),
        ("forward:T=5,D=8,softcap=1e-40", ["softcap=1e-40", "1.1754944e-38"]),
        ("forward:T=5,D=8,softcap=1e-400", ["softcap=1e-400", "1.1754944e-38"]),
        ("forward:T=5,D=8,scale=-.01e-999", ["scale=-.01e-999", "1.1754944e-38"]),
        ("forward:T=5,D=8,softcap=x", ["softcap=x", "number"]),
        ("forward:T=5,D=8,scale=nan", ["scale=nan", "finite"]),
        ("forward:T=5,D=8,scale=inf", ["scale=inf", "finite"]),
        ("forward:T=5,D=8,scale=1e39", ["scale=1e39", "finite"]),
        ("forward:T=5,D=8,scale=1e999", ["scale=1e999", "finite"]),
        ("forward:T=5,D=8,scale=1e-300", ["scale=1e-300", "1.1754944e-38"]),
        ("forward:T=5,D=8,scale=", ["scale= is", "number"]),
        ("forward:T=5,D=8,bias=full", ["bias=full", "none, tt, htt, bhtt, b11t"]),
        ("forward:T=5,D=8,dtype=bf16", ["dtype=bf16", "f32, f16"]),
        ("forward:T=5,D=8,layout=bhdt", ["layout=bhdt", "bthd, bhtd, packed"]),
        ("forward:Tq=5,Tk=6,D=8,layout=packed", ["packed", "Tq=5", "Tk=6", "bhtd"]),
        ("forward:T=5,D=8,dist=gauss", ["dist=gauss", "normal, uniform"]),
        ("forward:T=5,D=8,seed=-1", ["seed=-1", "2**64"]),
        ("forward:T=5,D=8,seed=18446744073709551616", ["seed=18446744073709551616", "2**64"]),
        ("forward:T=5,D=8,seed=0x10000000000000000", ["seed=0x10000000000000000", "2**64"]),
        ("forward:T=5,D=8,seed=1e3", ["seed=1e3", "decimal"]),
        ("forward:T=5,D=8,kernel=", ["kernel= is", "auto, baseline, fa2"]),
        ("forward:T=5,D=8,kernel=../x", ["kernel=../x", "a-z"]),
        ("forward:T=5,D=8,kernel=Fa2", ["kernel=Fa2", "a-z"]),
        ("forward:T=268435457,D=1", ["T=268435457", "268435456"]),
        ("forward:T=99999,D=99999", ["q would hold", "9999800001", "268435456"]),
        ("forward:T=32768,D=64,attn=1", ["attn would hold", "1073741824", "268435456"]),
        ("forward:T=32768,D=64,bias=tt", ["bias would hold", "1073741824", "268435456"]),
        ("forward:T=5,D=8,seed=" + "1" * 600, ["621 characters", "500"]),
    ],
)
def test_a_bad_case_is_refused_with_its_key_and_what_is_allowed(
    text: str, words: list[str]
) -> None:
    with pytest.raises(CaseError) as caught:
        Case.parse(text)
    message = str(caught.value)
    assert message.startswith("case ")
    for word in words:
        assert word in message
    assert len(message) < 900


@given(
    st.text(max_size=80)
    | st.text("forward:TDHkvBseed=0123,-.", max_size=60).map("forward:".__add__)
)
def test_any_text_is_parsed_or_refused_but_never_crashes(text: str) -> None:
    try:
        case = Case.parse(text)
    except CaseError:
        return
    assert Case.parse(str(case)) == case


@pytest.mark.parametrize(
    "fields",
    [
        {"B": True},
        {"B": 1.0},
        {"B": "1"},
        {"causal": "1"},
        {"causal": 2},
        {"window": (1,)},
        {"window": 3},
        {"window": (1.5, 2)},
        {"softcap": None},
        {"softcap": float("nan")},
        {"scale": "0.5"},
        {"scale": True},
        {"scale": 10**400},
        {"dist": None},
        {"dtype": np.float32},
        {"kernel": None},
        {"seed": -1},
        {"Hkv": -1},
        {"op": "both"},
    ],
    ids=str,
)
def test_a_case_made_in_python_obeys_the_same_rules(fields: dict[str, Any]) -> None:
    with pytest.raises(CaseError, match=next(iter(fields))):
        Case(**{"Tq": 5, "Tk": 5, "D": 8, **fields})


def test_numpy_numbers_are_taken() -> None:
    case = Case(
        Tq=np.int64(5), Tk=np.int32(5), D=np.uint8(8), causal=np.bool_(False), scale=np.float32(0.1)
    )
    assert str(case) == "forward:T=5,D=8,causal=0,scale=0.1"
    assert type(case.Tq) is int
    assert type(case.causal) is bool
    assert json.dumps(case.to_job())


# --- what else a case does -----------------------------------------------------------------------


def test_a_large_case_is_not_refused() -> None:
    case = Case.parse("forward:B=4,T=32768,H=32,D=64")
    assert case.B * case.Tq * case.H * case.D == MAX_ELEMENTS


def test_replace_checks_and_lets_defaults_follow() -> None:
    case = Case.parse("forward:T=48,H=4,D=16")
    assert str(case.replace(H=6, D=4, T=5)) == "forward:T=5,H=6,D=4"
    assert str(case.replace(Hkv=2).replace(H=8)) == "forward:T=48,H=8,Hkv=2,D=16"
    assert str(case.replace(op="backward", Tk=7)) == "backward:Tq=48,Tk=7,H=4,D=16"
    assert str(case.replace(scale=0.5).replace(scale=None)) == str(case)
    with pytest.raises(CaseError, match="Hkv=3 does not divide H=4"):
        case.replace(Hkv=3)
    with pytest.raises(CaseError, match="no key 'heads'"):
        case.replace(heads=3)


def test_the_offset_follows_the_alignment() -> None:
    assert Case.parse("forward:Tq=5,Tk=9,D=8").offset == 4
    assert Case.parse("forward:Tq=9,Tk=5,D=8").offset == -4
    assert Case.parse("forward:Tq=9,Tk=5,D=8,align=tl").offset == 0


def test_the_scale_is_the_float32_value() -> None:
    case = Case.parse("forward:T=5,D=8,scale=0.1")
    assert case.scale_f32.dtype == np.float32
    assert case.scale == case.to_job()["scale"] == float(np.float32(0.1))
    assert Case.parse("forward:T=5,D=3").to_job()["scale"] == float(np.float32(3**-0.5))


def test_a_job_holds_every_resolved_field() -> None:
    case = Case.parse("backward:B=2,Tq=3,Tk=4,H=6,Hkv=2,D=5,window=1:-1,seed=0xffffffffffffffff")
    assert case.to_job() == {
        "op": "backward",
        "B": 2,
        "Tq": 3,
        "Tk": 4,
        "H": 6,
        "Hkv": 2,
        "D": 5,
        "causal": True,
        "align": "br",
        "window": [1, -1],
        "softcap": 0.0,
        "scale": float(np.float32(5**-0.5)),
        "bias": "none",
        "dtype": "f32",
        "layout": "bthd",
        "dist": "normal",
        "attn": False,
        "seed": "18446744073709551615",
    }


def test_shapes_are_those_of_the_tensors_that_the_case_has() -> None:
    case = Case.parse("backward:B=2,Tq=3,Tk=4,H=6,Hkv=2,D=5,bias=htt,attn=1")
    assert case.shapes() == {
        "q": (2, 3, 6, 5),
        "k": (2, 4, 2, 5),
        "v": (2, 4, 2, 5),
        "do": (2, 3, 6, 5),
        "bias": (6, 3, 4),
        "attn": (2, 6, 3, 4),
    }
    biases = {name: case.replace(bias=name).shapes()["bias"] for name in ("tt", "bhtt", "b11t")}
    assert biases == {"tt": (3, 4), "bhtt": (2, 6, 3, 4), "b11t": (2, 1, 1, 4)}
    assert list(Case.parse("forward:T=3,D=5").shapes()) == ["q", "k", "v"]
