"""What `fa2 golden` prints: a line for each failure, the refused by reason, and a sum."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from server.adapters import adapter_name
from server.console import Told
from server.golden_outcome import Outcome
from server.golden_results import GoldenResults


class GoldenPrinter:
    """Prints outcomes as they come; passed and refused ones are only counted."""

    def __init__(self, console: Console) -> None:
        self._console, self._warnings = console, Told()

    def heading(self, cases: int, environment: dict[str, Any]) -> None:
        engine = environment.get("engine") or "unknown browser"
        self._print(f"{cases} cases · {engine} · {adapter_name(environment.get('adapter'))}")

    def outcome(self, outcome: Outcome) -> None:
        """A line for each thing that is wrong; an error's further lines stand below it. What the
        page warns of is said once, whatever the verdict."""
        if outcome.status == "fail":
            for problem in outcome.message.splitlines():
                self._print(Text.assemble(("FAIL    ", "red"), f"{outcome.case}  {problem}"))
        elif outcome.status == "error":
            first, *more = outcome.message.splitlines()
            self._print(Text.assemble(("ERROR   ", "red"), f"{outcome.case}  {first}"))
            for line in more:
                self._print(f"        {line}")
        for warning in self._warnings.new(outcome.warnings):
            self._print(Text.assemble(("WARNING ", "yellow"), f"{outcome.case}  {warning}"))

    def summary(self, results: GoldenResults, cases: int) -> None:
        """The refused by reason, then the line that says how it went."""
        for reason, number in results.refused.items():
            self._print(Text.assemble(("REFUSED ", "yellow"), f"{number:>3}  {reason}"))
        counts, ran = results.counts, len(results.outcomes)
        bad = [f"{counts[s]} {w}" for s, w in (("fail", "FAILED"), ("error", "ERROR")) if counts[s]]
        if results.interrupted:
            word, colour = "INTERRUPTED", "yellow"
        elif bad:
            word, colour = ", ".join(bad), "red"
        elif counts["pass"]:
            word, colour = "ALL PASS", "green"
        else:
            word, colour = "NOTHING RAN", "red"
        failed = counts["fail"] + counts["error"]
        what = f"{counts['pass']} passed, {failed} failed, {counts['refused']} refused of {cases} "
        what += f"cases, {results.seconds:.1f} s"
        if ran < cases:
            what += f", {cases - ran} not run"
        if worst := results.worst():
            ratio, name, case = worst
            what += f", worst |error|/tolerance {ratio:.3g} ({name} of {case})"
        self._print(Text.assemble((word, f"bold {colour}"), ": ", what))

    def _print(self, text: str | Text) -> None:
        self._console.print(text)
