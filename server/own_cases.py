"""What `fa2 check` runs unless cases are named: few and small, each with a reason to be there.

Cases that a kernel does not support are refused by name; those that hardly any does (f16, a bias, a
window, softcap, attn) are asked for only if its manifest speaks of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from server.cases import Case
from server.own_width import widest

SUITE = "own"
"""What a request calls these cases; they depend on the kernel, so they are no suite of ours."""

_COMMON = """
    T=1,D=4
    T=16,H=2,D=8
    T=8,H=4,D=8
    B=2,T=37,H=3,D=16
    T=65,H=2,D=32
    T=20,H=2,D=64
    B=2,T=33,H=2,D=16,causal=0
    B=2,Tq=19,Tk=45,H=2,D=16
    B=2,Tq=45,Tk=19,H=2,D=16
    Tq=19,Tk=45,H=2,D=16,align=tl
    Tq=45,Tk=19,H=2,D=16,align=tl
    B=2,Tq=33,Tk=70,H=2,D=16,causal=0
    Tq=1,Tk=70,H=2,D=8
    B=2,T=40,H=4,Hkv=2,D=8
    B=2,Tq=21,Tk=34,H=6,Hkv=2,D=24
    B=2,T=21,H=3,D=5,layout=bhtd
    B=3,Tq=21,Tk=34,H=4,Hkv=2,D=8,layout=bhtd
    B=2,T=24,H=2,D=8,layout=packed
    T=35,H=2,D=16,scale=-0.5
    T=40,H=2,D=8,dist=large
    T=70,H=2,D=8,dist=growing
    B=2,T=35,H=3,D=16,dist=headscaled
    """

_LONG = (
    "T={T},H=2",
    "T={T},H=2,dist=growing",
    "T={T},H=4,Hkv=2,dist=growing",
    "T={T},H=2,causal=0",
    "Tq=19,Tk={T},H=4,Hkv=2,causal=0",
)
"""With scores that grow along a row, what a step forgets of those before shows."""
LEAST_LONG = 300
"""Longer than a workgroup that every device has (256), so that its second step has work, too."""
_BEYOND = 44
"""Rows after a whole step: neither one nor a power of two."""
_WIDE = 129
"""A head size beyond what a kernel may have room for without saying so (max_D)."""

_IF_SAID = {
    "dtype": ("B=2,T=21,H=2,D=5,dtype=f16",),
    "bias": tuple(
        f"{shape},D=8,bias={kind}"
        for kind in ("tt", "htt", "bhtt", "b11t")
        for shape in ("B=2,T=33,H=3", "B=2,Tq=19,Tk=33,H=3")
    ),
    "window": (
        "T=40,H=2,D=8,window=5:0",
        "T=40,H=2,D=8,causal=0,window=3:4",
        "T=40,H=2,D=8,causal=0,window=4:-1",
        "Tq=19,Tk=45,H=2,D=8,window=5:0",
        "Tq=19,Tk=45,H=2,D=8,causal=0,window=-1:4",
    ),
    "softcap": ("T=40,H=2,D=8,softcap=3",),
}


def cases_for(own: Mapping[str, Any]) -> list[Case]:
    """The cases for a kernel, as ``own_kernel.checked`` gives it."""
    manifest = own["manifest"]
    supports = manifest.get("supports", {})
    texts = _COMMON.split()
    for field, more in _IF_SAID.items():
        said = supports.get(field)
        if said and said != ["f32"]:
            texts += [text for text in more if field != "bias" or text.rpartition("=")[2] in said]
    if "lse" in manifest.get("outputs", ["lse"]) or manifest["op"] == "backward":
        texts.append("T=40,H=2,D=8,dist=negative")  # o alone hardly changes with the scale there
    if "attn" in manifest.get("outputs", ()) or "attn" in manifest.get("bindings", {}).values():
        texts += [f"B=2,{T},H=3,D=16,attn=1" for T in ("T=33", "Tq=19,Tk=45", "Tq=33,Tk=19")]
    texts += [f"T=17,D={_head_size(supports, _WIDE)}", *_long(own)]
    cases = [Case.parse(f"{manifest['op']}:{text}") for text in texts]
    if supports.get("dtype") == ["f16"]:
        cases = [case.replace(dtype="f16") for case in cases]
    return list(dict.fromkeys(cases))


def _long(own: Mapping[str, Any]) -> list[str]:
    """Cases of more rows and keys than the kernel takes in one step, as far as it takes them."""
    supports = own["manifest"].get("supports", {})
    step = supports.get("T_multiple_of", 1)
    T = -(-max(LEAST_LONG, widest(own) + _BEYOND) // step) * step
    T = min(T, max(step, supports.get("max_T", T) // step * step))
    D = _head_size(supports, 8)
    return [f"{text.format(T=T)},D={D}" for text in _LONG]


def _head_size(supports: Mapping[str, Any], D: int) -> int:
    """The size nearest to ``D`` that the kernel takes by its word."""
    step = supports.get("D_multiple_of", 1)
    D = -(-D // step) * step
    return int(min(D, max(step, supports.get("max_D", D) // step * step)))
