"""Golden cases: inputs and expected values that others published or computed, in a folder.

A folder holds ``index.json`` (``{"cases": [{"name", "file", …}]}``) and one ``.npz`` a case, in one
of two forms:

- *trained*: forward and backward, with native parameters in the index (``causal``, ``align``,
  ``window``, ``softcap``, ``scale``, ``bias``) and tolerances per output (``suggested_atol``);
- *operator*: forward only, from operator test suites. ``norm_json`` holds native parameters and
  ``bias_all`` every mask and bias folded into one additive bias. The native parameters are used
  where they alone say the same as the folded bias, which is checked; else the folded bias is.

Golden cases are judged by their own absolute tolerances, seeded cases by ``tolerance.py``.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from server.attention_problem import Problem, rows_with_keys
from server.verdict import LSE_EMPTY

Array = npt.NDArray[Any]
F64 = npt.NDArray[np.float64]

ATTN_FLOOR = 2e-6
OPERATOR_NOISE = {"float16": 2e-3, "bfloat16": 2e-2}
"""Rounding of published values per unit of size; float32 and float64: 4e-6."""


@dataclass(frozen=True)
class GoldenCase:
    """One golden case: what to compute and what must come out.

    ``expected`` and ``tolerance`` by output name; o, dq, dk, dv as ``[B,T,heads,D]``, lse
    ``[B,H,Tq]``, attn ``[B,H,Tq,Tk]`` or, with ``attn_rows``, those rows of it; dbias as the bias.
    ``needs`` names what an implementation must be able to do beyond causal float32 with Tq = Tk.
    """

    folder: str
    name: str
    problem: Problem
    align: str
    expected: dict[str, F64]
    tolerance: dict[str, float]
    needs: frozenset[str]
    relative: dict[str, float] = field(default_factory=dict)
    only_finite: frozenset[str] = frozenset()
    free_rows: tuple[int, ...] = ()
    attn_rows: npt.NDArray[np.intp] | None = None

    @property
    def options(self) -> dict[str, Any]:
        """Keyword arguments of :func:`server.reference.attention` beside q, k, v."""
        p = self.problem
        names = ("do", "bias", "causal", "window", "softcap", "scale")
        return {"align": self.align, **{name: getattr(p, name) for name in names}}


def iter_cases(folder: Path | str, can: Container[str] | None = None) -> Iterator[GoldenCase]:
    """The cases of a folder, those only whose ``needs`` are all in ``can`` (None: every case).

    Cases without values that can be used (no ``norm_json`` in operator form) are left out.
    """
    folder = Path(folder)
    for entry in json.loads((folder / "index.json").read_text("utf-8"))["cases"]:
        with np.load(folder / entry["file"]) as stored:
            arrays = {name: stored[name] for name in stored.files}
        if "norm_json" in arrays:
            case = _operator(folder.name, entry, arrays)
        elif "suggested_atol" in entry:
            case = _trained(folder.name, entry, arrays)
        else:
            continue
        if can is None or all(need in can for need in case.needs):
            yield case


def compare(case: GoldenCase, outputs: Mapping[str, Array]) -> list[str]:
    """What is wrong with ``outputs``, a sentence each; an empty list passes.

    Heads may be merged (``[B,T,heads·D]``) and attn may be whole. Outputs that the case knows
    nothing of are passed over; NaN and infinity never pass, except L of rows without keys.
    """
    found = []
    for name, given in outputs.items():
        if name not in case.expected:
            continue
        problem = _wrong(case, name, np.asarray(given))
        if problem:
            found.append(f"{name}: {problem}")
    return found


def _wrong(case: GoldenCase, name: str, given: Array) -> str | None:
    expected = case.expected[name]
    if name == "attn" and case.attn_rows is not None and given.ndim == 4:
        given = given[:, :, case.attn_rows]
    merged = (*expected.shape[:2], -1)
    if given.shape == expected.reshape(merged).shape and expected.ndim == 4:
        given = given.reshape(expected.shape)
    if given.shape != expected.shape:
        return f"shape {given.shape}, expected {expected.shape}"
    with np.errstate(all="ignore"):
        got = given.astype(np.float64)
        if np.isnan(got).any():
            return f"{int(np.isnan(got).sum())} NaN"
        empty = np.isneginf(expected) if name == "lse" else np.zeros(expected.shape, bool)
        if not (got[empty] <= LSE_EMPTY).all():
            return "a row that sees no key has neither −inf nor a value up to −1e30"
        free = _free(case, name, expected.shape) | empty
        if not np.isfinite(got[~free]).all():
            return f"{int((~np.isfinite(got[~free])).sum())} infinite"
        if name in case.only_finite:
            return None
        allowed = case.tolerance[name]
        if name in case.relative:
            size = np.abs(expected[np.isfinite(expected)]).max(initial=1.0)
            allowed = case.relative[name] * float(size)
        error = np.where(free, 0.0, np.abs(got - np.where(empty, 0.0, expected)))
        bad = ~(error <= allowed)
    if not bad.any():
        return None
    at = np.unravel_index(int(np.argmax(error)), error.shape)
    return (
        f"{int(bad.sum())} of {bad.size} off; worst at {tuple(map(int, at))}: {got[at]:.9g}, "
        f"expected {expected[at]:.9g} ± {allowed:.3g}"
    )


def _free(case: GoldenCase, name: str, shape: tuple[int, ...]) -> npt.NDArray[np.bool_]:
    """Elements of rows whose value is a matter of policy."""
    free = np.zeros(shape, bool)
    rows = list(case.free_rows)
    if rows and name in ("o", "dq"):
        free[:, rows] = True
    elif rows and name in ("lse", "attn"):
        free[:, :, rows] = True
    return free


def _heads(array: Array, heads: int) -> Array:
    return array.reshape(*array.shape[:2], heads, -1)


def _trained(folder: str, entry: dict[str, Any], arrays: dict[str, Array]) -> GoldenCase:
    H, Hkv, Tq, Tk = entry["H"], entry["Hkv"], entry["Tq"], entry["Tk"]
    align = "br" if entry["align"] == "bottomright" else "tl"
    problem = Problem(
        _heads(arrays["q"], H),
        _heads(arrays["k"], Hkv),
        _heads(arrays["v"], Hkv),
        scale=entry["scale"],
        do=_heads(arrays["do"], H),
        bias=arrays.get("bias"),
        causal=entry["causal"],
        offset=Tk - Tq if align == "br" else 0,
        window=tuple(entry.get("window") or (-1, -1)),
        softcap=entry.get("softcap") or 0.0,
    )
    heads = {"o": H, "dq": H, "dk": Hkv, "dv": Hkv}
    expected = {n: _heads(arrays[n], h).astype(np.float64) for n, h in heads.items()}
    expected |= {n: arrays[n].astype(np.float64) for n in ("lse", "dbias") if n in arrays}
    rows = arrays.get("attn_rows_idx")
    expected["attn"] = arrays["attn" if rows is None else "attn_rows"].astype(np.float64)
    tolerance = dict(entry["suggested_atol"])
    terms = float(entry["max_abs_score_terms"])
    tolerance["attn"] = max(ATTN_FLOOR, 1e-6 * terms)
    if "dbias" in expected:  # the rule of the other tolerances, on the size of dS
        size = 2 * (np.abs(problem.do).sum(axis=3).max() * np.abs(problem.v).max())  # type: ignore[arg-type]
        tolerance["dbias"] = float(size) * 2.0**-24 * (64 + 8 * terms + Tk**0.5)
    checks: dict[str, str] = entry["checks"]
    needs = _needs(problem, align)
    if entry.get("dtype") == "f16":
        needs |= {"f16"}
    return GoldenCase(
        folder,
        entry["name"],
        problem,
        align,
        expected,
        tolerance,
        needs,
        relative={n: float(c.split()[1]) for n, c in checks.items() if c.startswith("rel")},
        only_finite=frozenset(n for n, c in checks.items() if c == "finite"),
        free_rows=tuple(entry["rows_any"]),
        attn_rows=rows,
    )


def _operator(folder: str, entry: dict[str, Any], arrays: dict[str, Array]) -> GoldenCase:
    native = json.loads(str(arrays["norm_json"]))
    H, Hkv = native["H"], native["Hkv"]
    q, k, v = (arrays[n] for n in ("q_btc", "k_full_btc", "v_full_btc"))
    q, k, v = _heads(q, H), _heads(k, Hkv), _heads(v, Hkv)
    scale, softcap = native["scale"], native["softcap"] or 0.0
    problem = Problem(q, k, v, scale=scale, bias=arrays["bias_all"], causal=False, softcap=softcap)
    align = "tl"
    for name, offset in (("br", native["Tk"] - native["Tq"]), ("tl", 0)):
        plain = Problem(
            q, k, v,
            scale=scale,
            causal=native["causal"],
            offset=offset,
            window=tuple(native["window"]),
            softcap=softcap,
        )  # fmt: skip
        if np.array_equal(_as_bias(plain), np.broadcast_to(arrays["bias_all"], _full(plain))):
            problem, align = plain, name
            break
    kind = entry.get("dtype", "float32")
    noise = OPERATOR_NOISE.get(kind, 4e-6)
    expected = {"o": _heads(arrays["ctx_btc"], H).astype(np.float64)}
    tolerance = {"o": max(noise, entry.get("tol", 0.0)) * max(1.0, np.abs(expected["o"]).max())}
    if "ref64_lse" in arrays:
        lse = expected["lse"] = arrays["ref64_lse"]
        expected["attn"] = arrays["ref64_attn"]
        size = np.abs(lse[np.isfinite(lse)]).max(initial=1.0)
        tolerance |= {"lse": 4 * max(noise, 2e-5) * float(size), "attn": noise}
    needs = _needs(problem, align)
    needs |= {"f16"} if kind == "float16" else {"bf16"} if kind == "bfloat16" else set()
    return GoldenCase(folder, entry["name"], problem, align, expected, tolerance, needs)


def _full(problem: Problem) -> tuple[int, int, int, int]:
    B, Tq, Tk, H, _ = problem.shape
    return B, H, Tq, Tk


def _as_bias(problem: Problem) -> Array:
    """The mask of causality and window as an additive bias of full shape."""
    B, Tq, Tk, H, _ = problem.shape
    low, high = problem.key_range(np.arange(Tq))
    j = np.arange(Tk)
    seen = (j >= low[:, None]) & (j < high[:, None])
    return np.broadcast_to(np.where(seen, 0.0, -np.inf), (B, H, Tq, Tk))


def _needs(problem: Problem, align: str) -> frozenset[str]:
    """What the problem asks of an implementation beyond causal, Tq = Tk, one key head a head."""
    _, Tq, Tk, H, Hkv = problem.shape
    asks = {
        "non_causal": not problem.causal,
        "tq_ne_tk": Tq != Tk,
        "align_tl": align == "tl" and Tq != Tk and problem.causal,
        "gqa": Hkv != H,
        "window": problem.window != (-1, -1),
        "softcap": problem.softcap != 0,
        "bias": problem.bias is not None,
        "custom_scale": abs(problem.scale * problem.q.shape[3] ** 0.5 - 1) > 1e-6,
        "empty_rows": not rows_with_keys(problem).all(),
        "dv_ne_dk": problem.q.shape[3] != problem.v.shape[3],
    }
    return frozenset(name for name, asked in asks.items() if asked)
