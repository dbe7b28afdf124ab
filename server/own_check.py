"""What `fa2 check` does with a kernel: a round of cases, and another one after every save."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from server import grammar
from server.bench_console import BenchPrinter
from server.cases import Case
from server.cli_files import write_each
from server.console import Printer, make_console
from server.errors import CaseError, CompileError, ManifestError
from server.harness import Harness
from server.junit import write_junit
from server.own_cases import cases_for
from server.own_given import Given
from server.own_watch import saves, side_by_side
from server.report import Report
from server.results import USAGE, Results
from server.selection import Selected, select
from server.trace_console import show_values
from server.why import Reasons

SAME_FOR_ALL = (ManifestError.kind, CompileError.kind)
"""Every other case would say the same."""


class Checking:
    """A kernel on disk and the cases that it is to pass.

    ``files``: where the reports are written as JSON and as JUnit XML, after each round.
    """

    def __init__(
        self,
        given: Given,
        *,
        words: Sequence[str],
        suite: str | None,
        seed: str | None,
        kappa: float,
        bench: bool,
        files: tuple[Path | None, Path | None],
    ) -> None:
        self._given = given
        self._words, self._suite = words, suite
        self._seed = None if seed is None else grammar.read_value("seed", seed)
        self._kappa, self._bench, self._files = kappa, bench, files
        self._console = make_console()
        self._before: dict[str, Report] = {}
        self._own: dict[str, Any] = {}
        self._read: dict[Path, bytes | None] = {}  # what was read last
        self._code = USAGE  # of the last round that came to its end

    def load(self) -> None:
        """Reads the files and chooses the cases. Raises CaseError and ManifestError."""
        self._read = self._contents()
        self._own = self._given.read()
        self._read = {**self._contents(), **self._read}
        self._selected()

    def round(self, harness: Harness) -> int:
        """Runs every case once; the exit code. Ctrl+C ends it early and goes through."""
        selected = self._selected()
        results, printer = Results(environment=harness.environment), Printer(self._console)
        reasons = Reasons()
        printer.heading(results, len(selected), self._kappa)
        try:
            with printer.bar.shown(len(selected)):
                for one in selected:
                    printer.bar.running(str(one.case))
                    report = harness.run(one.case, own=self._own, kappa=self._kappa)
                    report = replace(report, message=self._named(report.message))
                    report = reasons.added(report, harness)
                    results.add(one, report)
                    printer.report(report)
                    if report.told and (told := harness.last_trace()) is not None:
                        show_values(self._console, told)
                    if report.error is not None and report.error.kind in SAME_FOR_ALL:
                        break
            self._code = results.exit_code()
        except KeyboardInterrupt:
            results.interrupted = True
            raise
        finally:
            self._write(results)
            if self._before and results.entries:
                self._say("before → now, worst |error|/allowed:")
                for line in side_by_side(self._before, results.reports):
                    self._say(f"  {line}")
            printer.summary(results, len(selected))
        self._before.update({report.case: report for report in results.reports})
        if self._bench:
            self._time(harness, [one.case for one, report in results.entries if report.ok])
        return self._code

    def watch(self, harness: Harness) -> int:
        """A round after every save until Ctrl+C; the exit code of the last one."""
        try:
            for names in saves(self._folders(), self._changed):
                self._say(f"\n{', '.join(sorted(names))} saved")
                self._again(harness)
        except KeyboardInterrupt:
            pass
        return self._code

    def _again(self, harness: Harness) -> None:
        try:
            self.load()
        except CaseError as error:  # the next save may mend it
            self._code = USAGE
            self._say(f"fa2: {error.message}")
            return
        self.round(harness)

    def _folders(self) -> list[Path]:
        return list(dict.fromkeys(path.parent for path in self._paths()))

    def _paths(self) -> list[Path]:
        kernel = self._given.kernel
        manifest = self._given.manifest or kernel.with_suffix(".json")
        others = [kernel.parent / name for name in self._own.get("files", ())]
        return list(dict.fromkeys([kernel, manifest, *others]))

    def _contents(self) -> dict[Path, bytes | None]:
        found: dict[Path, bytes | None] = {}
        for path in self._paths():
            try:
                found[path] = path.read_bytes()
            except OSError:
                found[path] = None
        return found

    def _changed(self) -> set[str]:
        """Names of the files that are no longer what was read."""
        now = self._contents()
        return {path.name for path, data in now.items() if self._read.get(path) != data}

    def _selected(self) -> list[Selected]:
        if self._words or self._suite:
            found = select(self._words, self._suite)
        else:
            found = [Selected(case) for case in cases_for(self._own)]
        for one in found:
            if one.named and one.case.kernel != "auto":
                raise CaseError(
                    f"{one.case} names a kernel of ours; fa2 check runs {self._given.kernel.name}"
                )
        changes = {} if self._seed is None else {"seed": self._seed}
        plain = [Selected(one.case.replace(kernel="auto", **changes), one.named) for one in found]
        return list({one.case: one for one in plain}.values())

    def _time(self, harness: Harness, cases: Sequence[Case]) -> None:
        printer = BenchPrinter(self._console)
        with printer.bar.shown(len(cases)):
            for case in cases:
                timed = harness.bench(case, own=self._own, kappa=self._kappa, watch=printer.watch)
                printer.report(replace(timed, message=self._named(timed.message)))

    def _named(self, message: str) -> str:
        return self._given.named_again(message, self._own)

    def _write(self, results: Results) -> None:
        json_file, junit_file = self._files
        write_each((json_file, results.write_json), (junit_file, partial(write_junit, results)))

    def _say(self, text: str) -> None:
        self._console.print(text)
