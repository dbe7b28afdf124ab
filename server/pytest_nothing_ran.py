"""Under --require-webgpu a session in which nothing ran is red.

A refused case is a skip, and pytest is content with skips alone. Whoever requires WebGPU wants
kernels to have run: if every test that uses ``fa2_run`` was skipped, for whatever reason, the
session ends with exit status 1 and says so.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

_used = pytest.StashKey[bool]()
_MARK = "fa2_run"
"""An attribute of reports: pytest-xdist carries it from the process that ran the test."""


class NothingRan:
    """The hooks, registered as a plugin. Tests run in processes of pytest-xdist or in this one;
    the verdict is that of the process that has all reports."""

    def __init__(self) -> None:
        self._skipped = 0
        self._ran = False
        self._said = ""

    @pytest.hookimpl
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any], request: Any) -> None:
        """A test may ask for the fixture by ``getfixturevalue``."""
        if fixturedef.argname == "fa2_run":
            request.node.stash[_used] = True

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        named = "fa2_run" in getattr(item, "fixturenames", ())  # a skip by mark sets up no fixture
        vars(report)[_MARK] = named or item.stash.get(_used, False)
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not getattr(report, _MARK, False):
            return
        expected = hasattr(report, "wasxfail") and report.when == "call"  # a failure, not a skip
        if report.failed or expected or (report.when == "call" and report.passed):
            self._ran = True
        elif report.skipped:
            self._skipped += 1

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workerinput"):
            return  # the others may have run something
        if self._skipped and not self._ran and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
            self._said = (
                "fa2: --require-webgpu: nothing ran: every test that uses fa2_run was skipped "
                f"({self._skipped}; -rs says why)"
            )

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._said:
            terminalreporter.write_line(self._said, red=True)
