"""A query tile of the forward in float32, telling what a traced kernel tells, and its mistakes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from server.cases import Case
from server.inputs import make_inputs
from server.trace import KINDS
from server.trace_buffer import HEAD_WORDS, spec_of

F32 = np.float32
State = dict[str, Any]
Fault = Callable[[State], None]


def told(
    case: Case,
    *,
    b: int = 0,
    h: int = 0,
    rows: tuple[int, int],
    key_tile: int = 16,
    faults: Mapping[str, Fault] | None = None,
    room: int | None = None,
) -> np.ndarray:
    """The tensor ``trace``. ``faults``: what happens to the state behind the quantity's name.

    ``room``: records that the buffer holds; None: as many as the server gives.
    """
    inputs = make_inputs(case)
    q = inputs["q"][b, rows[0] : rows[1], h].astype(F32)
    kv = h // (case.H // case.Hkv)
    k, v = inputs["k"][b, :, kv].astype(F32), inputs["v"][b, :, kv].astype(F32)
    R = len(q)
    ends = np.clip(np.arange(*rows) + case.offset + 1, 0, case.Tk)
    if not case.causal:
        ends = np.full(R, case.Tk)
    s: State = {"m": np.full(R, F32(-1e38)), "l": np.zeros(R, F32), "O": np.zeros_like(q)}
    records: list[tuple[int, int, int, float]] = []
    with np.errstate(all="ignore"):
        for tile in range(-(-int(ends.max()) // key_tile)):
            j = np.arange(tile * key_tile, min((tile + 1) * key_tile, case.Tk))
            s |= {"tile": tile, "j": j, "V": v[j], "seen": j < ends[:, None]}
            s |= {"old": {name: s[name].copy() for name in ("m", "l", "O")}}
            _step(s, q @ k[j].T * F32(case.scale_f32), faults or {})
            for name, kind in KINDS.items():
                value = s[name]
                for at in np.ndindex(value.shape):
                    column = 0 if len(at) == 1 else at[1] + (0 if name == "O" else j[0])
                    records.append((kind << 24 | tile, rows[0] + at[0], column, value[at]))
    return _packed(case, records, (b, h, *rows, 0, case.Tk, key_tile), room)


def _step(s: State, scores: np.ndarray, faults: Mapping[str, Fault]) -> None:
    def may_fail(name: str) -> None:
        if name in faults:
            faults[name](s)

    s["S"] = np.where(s["seen"], scores, F32(-1e38))
    may_fail("S")
    s["m"] = np.maximum(s["old"]["m"], s["S"].max(axis=1))
    may_fail("m")
    s["alpha"] = np.exp(s["old"]["m"] - s["m"])
    may_fail("alpha")
    s["P"] = np.where(s["S"] > F32(-1e38), np.exp(s["S"] - s["m"][:, None]), F32(0))
    may_fail("P")
    s["l"] = s["old"]["l"] * s["alpha"] + s["P"].sum(axis=1, dtype=F32)
    may_fail("l")
    s["O"] = s["old"]["O"] * s["alpha"][:, None] + s["P"] @ s["V"]
    may_fail("O")


def _packed(
    case: Case, records: list[tuple[int, int, int, float]], head: tuple[int, ...], room: int | None
) -> np.ndarray:
    words = np.zeros(spec_of(case, tiles=True).shape, "<u4")
    if room is not None:
        words = words[: HEAD_WORDS + 4 * room]
    words[:HEAD_WORDS] = (len(records), *head)
    space = words[HEAD_WORDS:].reshape(-1, 4)
    kept = records[: len(space)]
    space[: len(kept), :3] = [record[:3] for record in kept]
    space[: len(kept), 3] = np.array([record[3] for record in kept], F32).view(np.uint32)
    return words
