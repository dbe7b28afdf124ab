"""What a case writes, and how its memory is read."""

from __future__ import annotations

import numpy as np
import pytest

from server.cases import Case
from server.outputs import AXES, logical, outputs_of, predicted_work, want


def shapes(text):
    return {s.name: (s.dtype, s.shape) for s in outputs_of(Case.parse(text))}


def test_forward_writes_o_and_lse_and_attn_when_asked():
    assert shapes("forward:B=2,Tq=5,Tk=7,H=4,Hkv=2,D=3,attn=1") == {
        "o": ("f32", (2, 5, 4, 3)),
        "lse": ("f32", (2, 4, 5)),
        "attn": ("f32", (2, 4, 5, 7)),
    }
    assert list(shapes("forward:T=5,D=3")) == ["o", "lse"]


def test_backward_adds_the_gradients_in_the_layout_of_the_case():
    assert shapes("backward:B=2,Tq=5,Tk=7,H=4,Hkv=2,D=3,layout=bhtd,bias=htt,dtype=f16") == {
        "o": ("f16", (2, 4, 5, 3)),
        "lse": ("f32", (2, 4, 5)),
        "dq": ("f16", (2, 4, 5, 3)),
        "dk": ("f16", (2, 2, 7, 3)),
        "dv": ("f16", (2, 2, 7, 3)),
        "dbias": ("f32", (4, 5, 7)),
    }
    assert shapes("backward:T=5,H=4,Hkv=2,D=3,layout=packed")["dk"] == ("f32", (1, 5, 2, 3))


def test_each_output_is_wanted_twice_and_with_guards():
    specs = {s.name: s for s in want(Case.parse("forward:T=5,D=3,dtype=f16"))}
    assert list(specs) == ["o", "o.repeat", "o.guards", "lse", "lse.repeat", "lse.guards"]
    assert specs["o"].bytes == specs["o.repeat"].bytes == 30
    assert specs["o.guards"].bytes == 1024
    assert specs["lse"].bytes == 20


@pytest.mark.parametrize("layout", ["bthd", "bhtd"])
@pytest.mark.parametrize("name", ["o", "lse", "attn", "dq", "dk", "dv", "dbias"])
def test_logical_order_is_the_same_for_every_layout(layout, name):
    case = Case.parse(f"backward:B=2,Tq=5,Tk=7,H=4,Hkv=2,D=3,attn=1,bias=tt,layout={layout}")
    spec = next(s for s in outputs_of(case) if s.name == name)
    flat = np.arange(np.prod(spec.shape))
    view = logical(case, spec, flat)
    sizes = {"b": 2, "i": 5, "j": 7, "h": 4, "hkv": 2, "d": 3}
    expected = tuple(sizes[a] for a in AXES[name]) if name != "dbias" else (1, 1, 5, 7)
    assert view.shape == expected
    last = view[tuple(n - 1 for n in view.shape)]
    assert last == flat[-1]
    if layout == "bhtd" and name in ("o", "dq"):
        assert view[1, 2, 3, 1] == flat.reshape(2, 4, 5, 3)[1, 3, 2, 1]


def test_work_grows_with_every_size_and_with_what_is_asked():
    base = predicted_work(Case.parse("forward:T=64,D=8"))
    assert base == 4 * 8 * 64 * 64
    assert predicted_work(Case.parse("forward:T=128,D=8")) == 4 * base
    assert predicted_work(Case.parse("forward:T=64,D=8,attn=1")) == 1.5 * base
    assert predicted_work(Case.parse("backward:T=64,D=8")) == 4.5 * base
