"""What `fa2 run` prints: a line a check, the failure texts, and one line that sums it up.

A check is one output of a case; the log-sum-exp is printed on the line of ``o``, which the same
pass computes. Colours and the progress bar appear on a terminal only.
"""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

from server.adapters import adapter_name
from server.progress_bar import ProgressBar
from server.report import Report
from server.results import Results
from server.terminal import VisibleConsole

# Statuses that are not all right, as the summary words them.
BAD = {"fail": "FAILED", "vacuous": "VACUOUS", "error": "ERROR"}
COLOURS = {"PASS": "green", "FAIL": "red", "VACUOUS": "red", "ERROR": "red", "SKIP": "yellow"}


def make_console(*, stderr: bool = False) -> Console:
    """Plain text when piped; rich itself honours NO_COLOR, FORCE_COLOR and TERM."""
    return VisibleConsole(stderr=stderr, highlight=False, markup=False, soft_wrap=True, emoji=False)


class Told:
    """Warnings that were printed: the same one at every case would hide the others."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def new(self, warnings: Iterable[str]) -> list[str]:
        """Those that are said for the first time, from now on told."""
        found = [text for text in dict.fromkeys(warnings) if text not in self._told]
        self._told.update(found)
        return found


class Printer:
    """Prints reports as they come."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.checks = 0
        self._warnings = Told()
        self.bar = ProgressBar(console)

    def heading(self, results: Results, cases: int, kappa: float) -> None:
        environment = results.environment
        engine = environment.get("engine") or "unknown browser"
        adapter = adapter_name(environment.get("adapter"))
        self._print(f"{_count(cases, 'case')} · {engine} · {adapter} · κ = {kappa:g}")

    def report(self, report: Report) -> None:
        """The lines of one case, its message unless it passes, and what it warns of."""
        lines = check_lines(report)
        for word, rest in lines:
            self._print(
                Text.assemble((f"{word:<8}", COLOURS[word]), f"{report.case}  {rest}".rstrip())
            )
        self.checks += len(lines) if report.status != "skip" else 0
        if report.status != "pass":
            for line in report.message.splitlines():
                self._print(f"        {line}")
        for warning in self._warnings.new(report.asides):
            self._print(f"        {warning}")
        self.bar.advance()

    def summary(self, results: Results, selected: int) -> None:
        """The last line: ALL PASS, or what did not."""
        counts, ran = results.counts, len(results.entries)
        left = "" if ran == selected else f" of {selected} selected"
        what = f"{_count(self.checks, 'check')} in {_count(ran, 'case')}{left}"
        what += f", {results.seconds:.1f} s"
        if worst := results.worst():
            ratio, name, case = worst
            what += f", worst |error|/allowed {_ratio(ratio)} ({name} of {case})"
        if counts["skip"]:
            what += f", {counts['skip']} refused"
        bad = [f"{counts[s]} {word}" for s, word in BAD.items() if counts[s]]
        if results.interrupted:
            word, colour = "INTERRUPTED", "yellow"
        elif results.refused and not bad:
            word, colour = f"{results.refused} REFUSED", "red"
        elif bad:
            word, colour = ", ".join(bad), "red"
        elif counts["pass"]:
            word, colour = "ALL PASS", "green"
        else:
            word, colour = "NOTHING RAN", "red"
        self._print(Text.assemble((word, f"bold {colour}"), ": ", what))

    def _print(self, text: str | Text) -> None:
        self.console.print(text)


def check_lines(report: Report) -> list[tuple[str, str]]:
    """``(word, text)`` a check: the verdict in a word, the output and its |error| / allowed."""
    if report.status in ("error", "skip") or not report.outputs:
        return [(report.status.upper(), "")]
    ratios = {name: output.worst_ratio for name, output in report.outputs.items()}
    groups = [[name] for name in ratios if name != "lse" or "o" not in ratios]
    for group in groups:
        if group == ["o"] and "lse" in ratios:
            group.append("lse")
    good = [all(ratios[name] <= 1 for name in group) for group in groups]
    texts = ["  ".join(f"{name} {_ratio(ratios[name])}" for name in group) for group in groups]
    if report.status != "fail":
        return [(report.status.upper(), text) for text in texts]
    # A fault that no ratio shows (memory written beyond an output, say) is every line's.
    shown = not all(good)
    return [
        ("PASS" if shown and fine else "FAIL", text) for fine, text in zip(good, texts, strict=True)
    ]


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def _ratio(value: float) -> str:
    return f"{value:.3g}"
