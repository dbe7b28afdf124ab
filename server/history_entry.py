"""What the history keeps of a finished run or benchmark, as plain values ready for SQLite."""

from __future__ import annotations

import hashlib
import json
import math
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from server import __version__
from server.adapters import adapter_name
from server.bench import Bench
from server.bench_report import BenchReport
from server.history_own import without_texts
from server.report import Report
from server.run import Run

Tensors = Mapping[str, npt.NDArray[Any]]

FAILED = ("fail", "vacuous")
MOST_HASHED = 1 << 30  # bytes of one run's outputs; hashing more would keep them in memory long


@dataclass(frozen=True)
class Circumstances:
    """Who asked for the runs of this process, and what is the same for all of them."""

    origin: str  # page, python, pytest, or a command: run, check, bench, compare, replay
    environment: Mapping[str, Any]

    @classmethod
    def here(cls, origin: str, launched: Mapping[str, Any]) -> Circumstances:
        """``launched``: how the browser was started; {} for somebody's own."""
        environment = {
            "webgpu-fa2": __version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "platform": platform.platform(),
            "launched": {**launched, "args": [_without_login(a) for a in launched.get("args", ())]},
        }
        return cls(origin, environment)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A finished run on its way to the history. Making one copies nothing."""

    id: str
    kind: str  # run or bench
    finished: float
    run: Run
    report: Report | None
    bench: BenchReport | None = None
    tensors: Tensors = field(default_factory=dict)

    @classmethod
    def of_run(cls, run: Run, report: Report) -> Entry:
        return cls(
            id=run.id,
            kind="run",
            finished=datetime.now(UTC).timestamp(),
            run=run,
            report=report,
            tensors=dict(run.tensors),
        )

    @classmethod
    def of_bench(cls, bench: Bench, report: BenchReport) -> Entry:
        """Under the id of its check, which is one with it: a benchmark is one row."""
        return cls(
            id=bench.run.id,
            kind="bench",
            finished=datetime.now(UTC).timestamp(),
            run=bench.run,
            report=report.report,
            bench=report,
            tensors=dict(bench.run.tensors),
        )

    @property
    def told(self) -> Report | BenchReport:
        """Whose status, kernel and adapter count."""
        told = self.bench or self.report
        assert told is not None, "an entry has a report"
        return told

    @property
    def tensor_bytes(self) -> int:
        return sum(array.nbytes for array in self.tensors.values())

    @property
    def keeps_outputs(self) -> bool:
        """Outputs that are wrong are worth their bytes; right ones can be computed again."""
        return self.told.status in FAILED and bool(self.tensors)

    def row(self, origin: str) -> dict[str, Any]:
        """The columns of ``runs`` but for adapter and bundle."""
        told, report = self.told, self.report
        timing = self.bench.timing if self.bench else None
        return {
            "id": self.id,
            "kind": self.kind,
            "origin": origin,
            "finished": self.finished,
            "case_id": told.case,
            "kernel": told.kernel,
            "own": own_name(self.run.own),
            "status": told.status,
            "worst": worst_ratio(report),
            "bad": sum(output.bad for output in report.outputs.values()) if report else 0,
            "elapsed_ns": report.elapsed_ns if report else None,
            "gpu_ns": report.gpu_ns if report else None,
            "median_ns": timing.ns.median if timing and timing.ns else None,
            "tflops": timing.tflops if timing else None,
            "engine": told.engine,
            "shader_sha256": report.shader_sha256 if report else "",
            "edited": len(report.edited) if report else 0,
        }

    def report_json(self) -> str:
        """Without the adapter, which lies in a table of its own, once."""
        told = {**self.told.to_dict(), "adapter": None}
        if isinstance(told.get("report"), dict):  # a benchmark has that of its check inside
            told["report"] = {**told["report"], "adapter": None}
        return dumps(told)

    def request_json(self, circumstances: Circumstances) -> str:
        """What it takes to ask for the same again, and where; texts lie in the bundle."""
        run, adapter = self.run, self.told.adapter or {}
        return dumps(
            {
                "case": str(run.case),
                "kappa": run.kappa,
                "without": list(adapter.get("withheld", ())),
                "seeded": run.seeded,
                "deadline_s": run.deadline_s,
                "trace": run.trace,
                "tuned": run.tuned,
                "own": without_texts(run.own),
                "samples": self.bench.timing.samples if self.bench and self.bench.timing else None,
                "environment": circumstances.environment,
            }
        )

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

    def adapter(self) -> tuple[str, str] | None:
        """Its name in a few words, and its facts as JSON."""
        adapter = self.told.adapter
        return None if adapter is None else (adapter_name(dict(adapter)), dumps(dict(adapter)))


def worst_ratio(report: Report | None) -> float | None:
    """The largest |error| / allowed; inf where one is NaN; None when nothing was compared."""
    ratios = [output.worst_ratio for output in report.outputs.values()] if report else []
    return max((math.inf if math.isnan(r) else float(r) for r in ratios), default=None)


def _without_login(argument: str) -> str:
    """A browser's argument without the user and password of a URL in it.

    >>> _without_login("--proxy-server=http://me:secret@proxy:3128")
    '--proxy-server=http://proxy:3128'
    """
    return re.sub(r"//[^/@\s]*@", "//", argument)


def own_name(own: Mapping[str, Any] | None) -> str:
    """What a kernel that is not ours is called; "" for one of ours."""
    return "" if own is None else str(own.get("name") or "own")[:200]


def dumps(value: Any) -> str:
    """Strict JSON, keys as they come."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
