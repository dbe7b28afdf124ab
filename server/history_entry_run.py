"""A run, or a benchmark with the check that it began with, as the history keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from server.bench import Bench
from server.bench_report import BenchReport
from server.history_entry import Entry, worst_of
from server.history_own import texts_of, without_texts
from server.report import Report
from server.run import Run


@dataclass(frozen=True, kw_only=True)
class RunEntry(Entry):
    """``own`` and the texts are taken at once: the store lets those of older runs go."""

    run: Run
    judged: Report | None  # None: a benchmark that was called off before its check had one
    bench: BenchReport | None = None
    own: Mapping[str, Any] | None  # a kernel that is not ours, without its texts

    @classmethod
    def of_run(cls, run: Run, report: Report) -> RunEntry:
        return cls(**_of(run, report), kind="run", **_texts(run), judged=report)

    @classmethod
    def of_bench(cls, bench: Bench, report: BenchReport) -> RunEntry:
        """Under the id of its check, which is one with it: a benchmark is one row."""
        common = {**_of(bench.run, report), **_texts(bench)}
        return cls(**common, kind="bench", judged=report.report, bench=report)

    def columns(self) -> dict[str, Any]:
        report = self.judged
        outputs = list(report.outputs.values()) if report else []
        timing = self.bench.timing if self.bench else None
        return {
            "kernel": self._told.kernel,
            "own": own_name(self.own),
            "worst": worst_of(output.worst_ratio for output in outputs),
            "bad": sum(output.bad for output in outputs),
            "elapsed_ns": report.elapsed_ns if report else None,
            "gpu_ns": report.gpu_ns if report else None,
            "median_ns": timing.ns.median if timing and timing.ns else None,
            "tflops": timing.tflops if timing else None,
            "shader_sha256": report.shader_sha256 if report else "",
            "edited": len(report.edited) if report else 0,
        }

    def report(self) -> dict[str, Any]:
        told = {**self._told.to_dict(), "adapter": None}
        if isinstance(told.get("report"), dict):  # a benchmark has that of its check inside
            told["report"] = {**told["report"], "adapter": None}
        return told

    def request(self) -> dict[str, Any]:
        run, adapter = self.run, self.adapter or {}
        timing = self.bench.timing if self.bench else None
        return {
            "case": str(run.case),
            "kappa": run.kappa,
            "without": list(adapter.get("withheld", ())),
            "seeded": run.seeded,
            "deadline_s": run.deadline_s,
            "trace": run.trace,
            "tuned": run.tuned,
            "own": self.own,
            "samples": timing.samples if timing else None,
        }

    @property
    def _told(self) -> Report | BenchReport:
        """Whose verdict counts."""
        told = self.bench or self.judged
        assert told is not None, "a run has a report"
        return told


def own_name(own: Mapping[str, Any] | None) -> str:
    """What a kernel that is not ours is called; "" for one of ours."""
    return "" if own is None else str(own.get("name") or "own")[:200]


def _of(run: Run, told: Report | BenchReport) -> dict[str, Any]:
    return {
        "id": run.id,
        "case": told.case,
        "status": told.status,
        "message": told.message,
        "engine": told.engine,
        "adapter": told.adapter,
        "run": run,
        "tensors": dict(run.tensors),
    }


def _texts(made: Run | Bench) -> dict[str, Any]:
    """What it was made of; of a benchmark its own, since its run may have let them go."""
    return {
        "own": without_texts(made.own),
        "texts": {**made.shaders, **texts_of(made.own)},
    }
