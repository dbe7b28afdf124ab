"""Something finished on its way to the history, as plain values ready for SQLite.

What differs between a run, a benchmark, a golden check and a training stands in
``history_entry_run.py``, ``history_entry_golden.py`` and ``history_entry_train.py``.
"""

from __future__ import annotations

import hashlib
import json
import math
import platform
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from server import __version__
from server.adapters import adapter_name
from server.address import without_keys

Tensors = Mapping[str, npt.NDArray[Any]]

FAILED = ("fail", "vacuous")
MOST_HASHED = 1 << 30  # bytes of one run's outputs; hashing more would keep them in memory long


@dataclass(frozen=True)
class Circumstances:
    """Who asked for what this process runs, and what is the same for all of it."""

    origin: str  # page, python, pytest, or a command: run, check, bench, golden, train, …
    environment: Mapping[str, Any]

    @classmethod
    def here(cls, origin: str, launched: Mapping[str, Any]) -> Circumstances:
        """``launched``: how the browser was started; {} for somebody's own."""
        environment = {
            "webgpu-fa2": __version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "platform": platform.platform(),
            "launched": {**launched, "args": [without_keys(a) for a in launched.get("args", ())]},
        }
        return cls(origin, environment)


@dataclass(frozen=True, kw_only=True)
class Entry(ABC):
    """One row to be. Making one copies nothing."""

    id: str
    kind: str  # run, bench, golden, train
    case: str  # what was done, in a word that filters look at
    status: str
    message: str
    engine: str
    adapter: Mapping[str, Any] | None
    finished: float = field(default_factory=lambda: datetime.now(UTC).timestamp())
    texts: Mapping[str, str] = field(default_factory=dict)  # by path; the others are those on disk
    tensors: Tensors = field(default_factory=dict)

    @abstractmethod
    def columns(self) -> dict[str, Any]:
        """Those of ``runs`` that this kind fills, beside the ones that every kind has."""

    @abstractmethod
    def report(self) -> dict[str, Any]:
        """The verdict as JSON without the adapter, which lies in a table of its own, once."""

    @abstractmethod
    def request(self) -> dict[str, Any]:
        """What it takes to ask for the same again; texts lie in the bundle."""

    @property
    def tensor_bytes(self) -> int:
        return sum(array.nbytes for array in self.tensors.values())

    @property
    def held_bytes(self) -> int:
        """Memory that outputs and texts take while the entry waits."""
        return self.tensor_bytes + sum(map(sys.getsizeof, self.texts.values()))

    @property
    def keeps_outputs(self) -> bool:
        """Outputs that are wrong are worth their bytes; right ones can be computed again."""
        return self.status in FAILED and bool(self.tensors)

    def row(self, origin: str) -> dict[str, Any]:
        """The columns of ``runs`` but for adapter and bundle."""
        return {
            "id": self.id,
            "kind": self.kind,
            "origin": origin,
            "finished": self.finished,
            "case_id": self.case,
            "own": "",
            "status": self.status,
            "worst": None,
            "bad": 0,
            "engine": self.engine,
            "shader_sha256": "",
            "edited": 0,
            **self.columns(),
        }

    def digests(self) -> dict[str, dict[str, Any]]:
        """Of each output: the SHA-256 of its little-endian bytes in C order, its type and shape."""
        if self.tensor_bytes > MOST_HASHED:
            return {}
        return {
            name: {
                "sha256": hashlib.sha256(np.ascontiguousarray(array).data).hexdigest(),
                "dtype": array.dtype.str,
                "shape": list(array.shape),
            }
            for name, array in self.tensors.items()
        }

    def adapter_facts(self) -> tuple[str, str] | None:
        """The adapter's name in a few words, and its facts as JSON."""
        found = self.adapter
        return None if found is None else (adapter_name(dict(found)), dumps(dict(found)))


def worst_of(ratios: Iterable[float]) -> float | None:
    """The largest |error| / allowed; inf where one is NaN; None when nothing was compared."""
    return max((math.inf if math.isnan(r) else float(r) for r in ratios), default=None)


def dumps(value: Any) -> str:
    """Strict JSON, keys as they come."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
