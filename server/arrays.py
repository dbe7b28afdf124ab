"""A caller's own arrays, checked and turned into a case and its inputs, and back.

float32 is taken as it is. Where q, k, v and dO are all float16, the case has dtype=f16: tensors
stored in f16, sums in float32. One float16 array among others fits into float32 exactly; float64
is rounded to float32, the precision that the kernels compute in, and refused where that would
overflow. Strided, read-only and byte-swapped arrays are copied. A bias may hold −inf: that key is
masked. Everything else is refused by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from server.cases import Case
from server.errors import CaseError, ShapeError

Array = NDArray[Any]

# A kernel may store this or less for the −inf of a row that sees no key (WGSL has no infinity).
EMPTY_LSE = -1e30

_NUMPY: dict[str, type[np.floating[Any]]] = {"f32": np.float32, "f16": np.float16}


def to_inputs(
    q: ArrayLike,
    k: ArrayLike,
    v: ArrayLike,
    *,
    H: int,
    Hkv: int | None = None,
    bias: ArrayLike | None = None,
    dO: ArrayLike | None = None,
    **options: Any,
) -> tuple[Case, dict[str, Array]]:
    """``(case, inputs)`` for q [B,Tq,H·D], k and v [B,Tk,Hkv·D], bias [Tq,Tk] … [B,H,Tq,Tk].

    With dO, shaped as q, the case is a backward. ``options`` are further fields of the case. The
    inputs are contiguous, in the case's dtype and in the logical order of inputs.py: q, do
    [B,Tq,H,D], k and v [B,Tk,Hkv,D].

    Raises ShapeError for arrays that disagree, CaseError for values that cannot be used.
    """
    Hkv = H if Hkv is None else Hkv
    all_half = all(_is_half(x) for x in (q, k, v, dO) if x is not None)
    kind = "f16" if all_half else "f32"
    arrays = {name: _checked(name, x, kind) for name, x in (("q", q), ("k", k), ("v", v))}
    for name, x in arrays.items():
        if x.ndim != 3 or not x.size:
            what = "[B, T, heads·D] with at least one element"
            raise ShapeError(f"{name} has the shape {list(x.shape)}; it must be {what}")
    q, k, v = (arrays[name] for name in "qkv")
    _same("k", k.shape, "v", v.shape, "k and v must have the same shape")
    _same("q", q.shape[:1], "k", k.shape[:1], "the batch sizes must be equal")
    D = _head_size("q", q, "H", H)
    if _head_size("k", k, "Hkv", Hkv) != D:
        raise ShapeError(
            f"q {list(q.shape)} has head size {q.shape[2]}/H={H} = {D}, k {list(k.shape)} has "
            f"{k.shape[2]}/Hkv={Hkv} = {k.shape[2] // Hkv}; they must be equal: check H and Hkv"
        )
    B, Tq, Tk = q.shape[0], q.shape[1], k.shape[1]
    case = Case(B=B, Tq=Tq, Tk=Tk, H=H, Hkv=Hkv, D=D, dtype=kind, **options)
    inputs = {"q": q.reshape(B, Tq, H, D)}
    inputs |= {"k": k.reshape(B, Tk, Hkv, D), "v": v.reshape(B, Tk, Hkv, D)}
    if dO is not None:
        given = _checked("dO", dO, kind)
        _same("dO", given.shape, "q", q.shape, "dO must have the shape of o, which is q's")
        case = case.replace(op="backward")
        inputs["do"] = given.reshape(B, Tq, H, D)
    if bias is not None:
        inputs["bias"] = _checked("bias", bias, kind)
        case = case.replace(bias=_bias_kind(case, inputs["bias"].shape))
    return case, inputs


def to_results(case: Case, tensors: Mapping[str, Array]) -> dict[str, Array]:
    """``o`` [B,Tq,H·D], ``lse`` [B,H,Tq] (−inf for a row without keys) and ``attn`` if asked.

    Of a backward also ``dq`` [B,Tq,H·D], ``dk`` and ``dv`` [B,Tk,Hkv·D]. o and the gradients have
    the case's dtype, lse and attn are float32.
    """
    lse = tensors["lse"].astype(np.float32)
    results = {
        "o": _own(tensors["o"], case).reshape(case.B, case.Tq, case.H * case.D),
        "lse": np.where(lse <= EMPTY_LSE, np.float32(-np.inf), lse),
    }
    if case.attn:
        results["attn"] = tensors["attn"].astype(np.float32)
    if case.op == "backward":
        rows, keys = (case.B, case.Tq, case.H * case.D), (case.B, case.Tk, case.Hkv * case.D)
        for name, shape in (("dq", rows), ("dk", keys), ("dv", keys)):
            results[name] = _own(tensors[name], case).reshape(shape)
    return results


def _own(tensor: Array, case: Case) -> Array:
    return tensor.astype(_NUMPY[case.dtype])


def _is_half(values: ArrayLike) -> bool:
    dtype = np.asarray(values).dtype
    return dtype.kind == "f" and dtype.itemsize == 2


def _checked(name: str, values: ArrayLike, kind: str) -> Array:
    array = np.asarray(values)
    if array.dtype.kind != "f" or array.dtype.itemsize > 8:
        raise CaseError(
            f"{name} has the type {array.dtype}; give float32 or float16 (float64 is converted)"
        )
    masked = np.isneginf(array) & (name == "bias")
    if not (np.isfinite(array) | masked).all():
        at = tuple(int(i) for i in np.argwhere(~(np.isfinite(array) | masked))[0])
        raise CaseError(
            f"{name}{list(at)} is {array[at]}; WebGPU may assume that no value is NaN or "
            "infinite, so the result would mean nothing: clean the array first"
        )
    with np.errstate(over="ignore"):
        stored = np.ascontiguousarray(array, dtype=_NUMPY[kind])
    if not (np.isfinite(stored) | masked).all():
        at = tuple(int(i) for i in np.argwhere(~(np.isfinite(stored) | masked))[0])
        kind = _NUMPY[kind].__name__
        raise CaseError(f"{name}{list(at)} is {array[at]}, beyond {kind}; scale the array down")
    return stored


def _head_size(name: str, array: Array, heads_name: str, heads: int) -> int:
    width = array.shape[2]
    if not isinstance(heads, int | np.integer) or heads < 1:
        raise CaseError(f"{heads_name}={heads!r} is no number of heads; it is 1 or more")
    if width % heads:
        raise ShapeError(
            f"{name} has the shape {list(array.shape)} and {heads_name}={heads}; its last axis, "
            f"{width}, must be a multiple of {heads_name}"
        )
    return int(width // heads)


def _same(a: str, shape: tuple[int, ...], b: str, other: tuple[int, ...], rule: str) -> None:
    if shape != other:
        raise ShapeError(f"{a} is {list(shape)}, {b} is {list(other)}; {rule}")


def _bias_kind(case: Case, shape: tuple[int, ...]) -> str:
    kinds = {
        kind: case.replace(bias=kind).shapes()["bias"] for kind in ("tt", "htt", "bhtt", "b11t")
    }
    for kind, wanted in kinds.items():
        if shape == wanted:
            return kind
    offered = ", ".join(str(list(wanted)) for wanted in kinds.values())
    raise ShapeError(f"bias has the shape {list(shape)}; with these q and k it may be {offered}")
