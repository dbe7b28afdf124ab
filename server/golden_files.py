"""Reading golden cases: inputs and expected values that others published or computed.

A set is a folder with ``index.json`` (``{"cases": [{"name", "file", …}]}``) and one ``.npz`` a
case, in one of two forms:

- *trained*: forward and backward, with native parameters in the index (``causal``, ``align``,
  ``window``, ``softcap``, ``scale``, ``bias``) and tolerances per output (``suggested_atol``, and
  for f16 ``suggested_atol_f16``);
- *operator*: forward only, from operator test suites. ``norm_json`` holds native parameters and
  ``bias_all`` every mask and bias folded into one additive bias. The native parameters are used
  where they alone say the same as the folded bias, which is checked; else the folded bias is.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from server.attention_problem import Problem, rows_with_keys
from server.errors import CaseError, HarnessError
from server.golden import Array, GoldenCase
from server.golden_bounds import bound, bounds, relative

Entry = dict[str, Any]
Arrays = dict[str, Array]

INDEX = "index.json"
_OUTPUTS = ("o", "lse", "attn", "attn_rows", "attn_rows_idx", "dq", "dk", "dv", "dbias")
TRAINED = frozenset(("q", "k", "v", "do", "bias", *_OUTPUTS))
"""The arrays of a trained case."""

ATTN_FLOOR = 2e-6
OPERATOR_NOISE = {"float16": 2e-3, "bfloat16": 2e-2}
"""Rounding of published values per unit of size; float32 and float64: 4e-6."""

# What NumPy raises for a file that is no .npz, is cut short, or holds objects.
_BROKEN = (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError)


@dataclass(frozen=True)
class Unusable:
    """A case of an index that has no parameters this project knows; ``why`` says what it needs."""

    folder: str
    name: str
    why: str

    def __str__(self) -> str:
        return f"{self.folder}/{self.name}"


def sets_in(folder: Path) -> list[Path]:
    """``folder`` if it is a set, else the sets right below it, by name. CaseError if none is."""
    if (folder / INDEX).is_file():
        return [folder]
    if not folder.is_dir():
        raise CaseError(f"{folder} is no folder; name one that holds {INDEX}, or several that do")
    found = sorted(path.parent for path in folder.glob(f"*/{INDEX}"))
    if not found:
        raise CaseError(f"neither {folder} nor a folder in it holds {INDEX}, so no cases are there")
    return found


def read_set(folder: Path | str) -> Iterator[GoldenCase | Unusable]:
    """The cases of a set in the order of its index. CaseError names the file that is broken."""
    folder = Path(folder)
    for entry in _entries(folder / INDEX):
        arrays = _load(folder / entry["file"])
        try:
            if "norm_json" in arrays:
                yield _operator(folder.name, entry, arrays)
            elif "suggested_atol" in entry:
                yield _trained(folder.name, entry, arrays)
            else:
                needs = ", ".join(entry.get("needs", ())) or "parameters that it does not give"
                yield Unusable(folder.name, entry["name"], needs.replace("_", " "))
        except (KeyError, TypeError, ValueError, HarnessError) as error:
            lacks = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            raise CaseError(
                f"{folder / entry['file']} and its entry in {INDEX} make no case: {lacks}"
            ) from error


def _entries(index: Path) -> list[Entry]:
    try:
        cases = json.loads(index.read_text("utf-8"))["cases"]
        for entry in cases:
            if not (isinstance(entry["name"], str) and isinstance(entry["file"], str)):
                raise TypeError
    except OSError as error:
        raise CaseError(f"{index} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise CaseError(f"{index} is no JSON: {error}") from error
    except (KeyError, TypeError) as error:
        raise CaseError(
            f'{index} is no index of cases; it must be {{"cases": [{{"name": …, "file": …}}, …]}}'
        ) from error
    return list(cases)


def _load(path: Path) -> Arrays:
    try:
        # np.load would leave a broken file open that it was given by name.
        with path.open("rb") as file, np.load(file) as stored:
            return {name: stored[name] for name in stored.files}
    except FileNotFoundError as error:
        raise CaseError(f"{path} is missing, but {INDEX} lists it") from error
    except (*_BROKEN, AttributeError, TypeError) as error:
        raise CaseError(f"{path} is no readable .npz file: {error}") from error


def _heads(array: Array, heads: int) -> Array:
    return array.reshape(*array.shape[:2], heads, -1)


def _in_f16(arrays: Arrays, names: tuple[str, ...]) -> Arrays:
    """Inputs that are stored in a wider type, as the f16 numbers that they are."""
    halves = {name: arrays[name].astype(np.float16) for name in names if name in arrays}
    for name, half in halves.items():
        if not np.array_equal(half.astype(arrays[name].dtype), arrays[name]):
            raise ValueError(f"the case is f16, but not every number of {name} is an f16 number")
    return arrays | halves


def _all_used(arrays: Arrays) -> None:
    """ValueError for gradients that would be left out, because dO or they bear another name."""
    for name in arrays:
        if name not in TRAINED and name.lower() in TRAINED:
            raise ValueError(f"the array {name} is expected under the name {name.lower()}")
    gradients = [name for name in ("dq", "dk", "dv", "dbias") if name in arrays]
    if gradients and "do" not in arrays:
        raise ValueError(
            f"it holds {', '.join(gradients)}, but not the dO that they belong to; it is expected "
            f"under the name do, and the arrays are {', '.join(sorted(arrays))}"
        )


def _trained(folder: str, entry: Entry, arrays: Arrays) -> GoldenCase:
    H, Hkv, Tq, Tk = entry["H"], entry["Hkv"], entry["Tq"], entry["Tk"]
    align = "br" if entry["align"] == "bottomright" else "tl"
    f16 = entry.get("dtype") == "f16"
    if f16:
        arrays = _in_f16(arrays, ("q", "k", "v", "do", "bias"))
    _all_used(arrays)
    problem = Problem(
        _heads(arrays["q"], H),
        _heads(arrays["k"], Hkv),
        _heads(arrays["v"], Hkv),
        scale=entry["scale"],
        do=_heads(arrays["do"], H) if "do" in arrays else None,
        bias=arrays.get("bias"),
        causal=entry["causal"],
        offset=Tk - Tq if align == "br" else 0,
        window=tuple(entry.get("window") or (-1, -1)),
        softcap=entry.get("softcap") or 0.0,
    )
    heads = {"o": H} | ({} if problem.do is None else {"dq": H, "dk": Hkv, "dv": Hkv})
    expected = {n: _heads(arrays[n], h).astype(np.float64) for n, h in heads.items()}
    rows = arrays.get("attn_rows_idx")
    whole = {"lse": "lse", "dbias": "dbias", "attn": "attn" if rows is None else "attn_rows"}
    expected |= {n: arrays[a].astype(np.float64) for n, a in whole.items() if a in arrays}
    tolerance = bounds("suggested_atol", entry["suggested_atol"])
    if f16:  # of the outputs that are stored in f16; lse stays float32
        halves = bounds("suggested_atol_f16", entry["suggested_atol_f16"])
        tolerance |= {n: halves[n] for n in heads}
    terms = bound("max_abs_score_terms", entry["max_abs_score_terms"])
    tolerance["attn"] = max(ATTN_FLOOR, 1e-6 * terms)
    if "dbias" in expected and problem.do is not None:  # the others' rule, on the size of dS
        size = 2 * (np.abs(problem.do).sum(axis=3).max() * np.abs(problem.v).max())
        tolerance["dbias"] = float(size) * 2.0**-24 * (64 + 8 * terms + Tk**0.5)
        bound("the tolerance derived for dbias", tolerance["dbias"])
    checks: dict[str, str] = entry.get("checks", {})
    needs = _needs(problem, align)
    if f16:
        needs |= {"f16"}
    return GoldenCase(
        folder,
        entry["name"],
        problem,
        align,
        expected,
        tolerance,
        needs,
        relative=relative(checks),
        only_finite=frozenset(n for n, c in checks.items() if c == "finite"),
        free_rows=tuple(entry.get("rows_any", ())),
        attn_rows=rows,
    )


def _operator(folder: str, entry: Entry, arrays: Arrays) -> GoldenCase:
    native = json.loads(str(arrays["norm_json"]))
    H, Hkv = native["H"], native["Hkv"]
    kind = entry.get("dtype", "float32")
    if kind == "float16":
        arrays = _in_f16(arrays, ("q_btc", "k_full_btc", "v_full_btc"))
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
    noise = OPERATOR_NOISE.get(kind, 4e-6)
    expected = {"o": _heads(arrays["ctx_btc"], H).astype(np.float64)}
    stated = bound("tol", entry.get("tol", 0.0))
    tolerance = {"o": max(noise, stated) * max(1.0, np.abs(expected["o"]).max())}
    if "ref64_lse" in arrays:
        lse = expected["lse"] = arrays["ref64_lse"]
        expected["attn"] = arrays["ref64_attn"]
        size = np.abs(lse[np.isfinite(lse)]).max(initial=1.0)
        tolerance |= {"lse": 4 * max(noise, 2e-5) * float(size), "attn": noise}
    for name, derived in tolerance.items():
        bound(f"the tolerance derived for {name}", float(derived))
    needs = _needs(problem, align)
    needs |= {"f16"} if kind == "float16" else {"bf16"} if kind == "bfloat16" else set()
    if problem.bias is not None and native.get("nonpad") is not None:
        needs |= {"key_lengths"}  # each batch has its own, and the bias stands for them
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
