"""Which cases a peer can do at all; what it cannot do is refused by name.

(onnxruntime-web, for one, takes a softcap on WebGPU and ignores it.)
"""

from __future__ import annotations

from server.cases import Case


def refusal(peer: str, case: Case) -> str:
    """Why this peer does not take this case, as a sentence; "" if it does."""
    return _common(case) or _REASONS[peer](case)


def _common(case: Case) -> str:
    """What no comparison takes."""
    used = {
        "window": case.window != (-1, -1),
        "softcap": case.softcap != 0,
        "bias": case.bias != "none",
        "attn": case.attn,
        "layout": case.layout != "bthd",
    }
    named = [name for name, is_used in used.items() if is_used]
    return f"only plain attention is compared, without {' and '.join(named)}" if named else ""


def _ort(case: Case) -> str:
    if case.op == "backward":
        return "it has no gradients"
    if case.causal and case.Tq != case.Tk:
        return "its causal attention takes as many queries as keys"
    if not case.causal and case.Hkv != case.H:
        return "its attention without a causal mask takes as many key heads as query heads"
    return ""


def _jax(case: Case) -> str:
    if case.causal and case.Tq != case.Tk and case.align != "tl":
        return "its causal mask has the corner of align=tl"
    return ""


def _tfjs(case: Case) -> str:
    if case.dtype != "f32":
        return "it computes in float32 alone"
    if case.Hkv != case.H:
        return "it has no grouped key heads"
    return ""


_REASONS = {"ort": _ort, "jax": _jax, "tfjs": _tfjs}
