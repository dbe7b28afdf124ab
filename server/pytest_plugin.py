"""pytest: a browser for the session, cases as parameters, evidence of failures.

In a test, ``harness`` is a Harness with a working adapter and ``fa2_run`` runs a case and fails
the test unless it passes, or skips it if the case is refused::

    @fa2_cases("smoke")
    def test_the_smoke_suite_passes(case, fa2_run):
        fa2_run(case)

Options: --require-webgpu, --adapter, --fa2-browser, --fa2-launch, --fa2-browser-arg, --fa2-cdp,
--fa2-playwright-ws, --fa2-listen, --fa2-serve-url, --fa2-page, --fa2-server, --fa2-without,
--fa2-kappa, --fa2-timeout, --fa2-artifacts, --fa2-history.

Any case is a test by itself: ``pytest --pyargs server.pytest_cases --fa2-case CASE``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any, NoReturn, cast

import pytest

from server import browser
from server.adapters import adapter_name
from server.cases import Case
from server.errors import CaseError, HarnessError, NoAdapter, NoBrowser
from server.harness import Harness
from server.launch import LAUNCHERS
from server.launch_flags import ADAPTERS
from server.pytest_nothing_ran import NothingRan
from server.report import Report
from server.suites import suite
from server.why import Reasons

FIXTURES = ("harness", "fa2_run")
NAMED = "server.pytest_cases"
_state = pytest.StashKey["_State"]()
_reasons = pytest.StashKey[Reasons]()


def fa2_cases(*names: str) -> pytest.MarkDecorator:
    """Parametrises ``case`` over suites, each case once; the ids are the case ids."""
    cases = dict.fromkeys(case for name in names for case in suite(name))
    return pytest.mark.parametrize("case", cases, ids=str)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("fa2", "webgpu-fa2: kernels in a browser")
    add = group.addoption
    add("--require-webgpu", action="store_true", help="no WebGPU is an error; so are skips alone")
    add("--adapter", choices=ADAPTERS, default="any", help="the kind of adapter that is acceptable")
    add("--fa2-browser", metavar="PATH|firefox", help="the browser; else an installed one")
    add("--fa2-launch", choices=LAUNCHERS, help="how the browser is started")
    add("--fa2-browser-arg", action="append", default=[], metavar="ARG", help="may be repeated")
    add("--fa2-cdp", metavar="URL", help="open the page in a Chromium that runs already")
    add("--fa2-playwright-ws", metavar="URL", help="open it in a Chromium of a Playwright server")
    add("--fa2-listen", metavar="HOST:PORT", help="where the tests' own server listens")
    add("--fa2-serve-url", metavar="URL", help="where such a browser finds it")
    add("--fa2-page", metavar="NAME", help="a page that is open on a running `fa2 serve`")
    add("--fa2-server", metavar="URL", help="where that is, as it printed; the token may be in it")
    add("--fa2-without", action="append", default=[], metavar="FEATURE", help="kernels do without")
    add("--fa2-kappa", type=float, default=4.0, metavar="X", help="scales all error bounds")
    add("--fa2-timeout", type=float, default=60.0, metavar="S", help="seconds for a small case")
    add("--fa2-artifacts", default="test-results", metavar="DIR", help="evidence of failures")
    add("--fa2-case", action="append", default=[], metavar="CASE", help="for server.pytest_cases")
    add("--fa2-history", action="store_true", help="keep the runs in your history (`fa2 history`)")


class _State:
    """The session's harness: started once, when the first test needs it."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self._harness: Harness | None = None
        self._problem: HarnessError | None = None
        self.elsewhere: set[str] = set()  # what the processes of pytest-xdist have said

    def harness(self) -> Harness:
        """Raises NoBrowser or NoAdapter, each time the same."""
        if self._problem is not None:
            raise self._problem
        if self._harness is None:
            option = self.config.getoption
            try:
                self._harness = Harness(
                    option("--fa2-browser"),
                    option("--adapter"),
                    option("--fa2-timeout"),
                    launch=option("--fa2-launch"),
                    browser_args=option("--fa2-browser-arg"),
                    cdp=option("--fa2-cdp"),
                    playwright_ws=option("--fa2-playwright-ws"),
                    listen=option("--fa2-listen"),
                    serve_url=option("--fa2-serve-url"),
                    page=option("--fa2-page"),
                    server=option("--fa2-server"),
                    without=option("--fa2-without"),
                    history=option("--fa2-history") and "pytest",
                ).start()
            except (NoBrowser, NoAdapter) as problem:
                self._problem = problem
                raise
        return self._harness

    def said(self) -> str:
        """Browser and adapter, once they are known, or what they lack."""
        if self._problem is not None:
            return f"fa2: no WebGPU: {self._problem.message}"
        if self._harness is None:
            return ""
        known = self._harness.environment
        return f"fa2: {known.get('engine')}, {adapter_name(known.get('adapter'))}"

    def close(self) -> None:
        harness, self._harness = self._harness, None
        if harness is not None:
            harness.close()


def pytest_configure(config: pytest.Config) -> None:
    """Raises UsageError for a malformed --fa2-case, and where one is missing."""
    config.stash[_state] = _State(config)
    if config.getoption("--require-webgpu"):
        config.pluginmanager.register(NothingRan())
    if config.getoption("--fa2-case") or any(a.partition("::")[0] == NAMED for a in config.args):
        _named_cases(config)  # now: while tests are collected it would be a page of traceback


def pytest_unconfigure(config: pytest.Config) -> None:
    config.stash[_state].close()


def pytest_report_header(config: pytest.Config) -> str:
    wanted = f"adapter wanted: {config.option.adapter}"
    if page := config.getoption("--fa2-page"):
        return f"fa2: page {page!r}, {wanted}"
    if config.getoption("--fa2-cdp") or config.getoption("--fa2-playwright-ws"):
        return f"fa2: a browser that runs already, {wanted}"
    try:
        found = browser.find(config.getoption("--fa2-browser"))
    except NoBrowser:
        return "fa2: no browser"
    return f"fa2: browser {found.path} ({found.source}), {wanted}"


def pytest_report_collectionfinish(
    config: pytest.Config, items: list[pytest.Item]
) -> list[str] | str:
    """The adapter is known only once the browser runs: it is started if a test needs it."""
    if config.option.collectonly or not any(_needs_browser(item) for item in items):
        return []
    state = config.stash[_state]
    try:
        state.harness()
    except HarnessError as problem:
        return f"fa2: no WebGPU: {problem.message}"
    return state.said()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A process of pytest-xdist has no terminal, and its browser is its own."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["fa2"] = session.config.stash[_state].said()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """A process of pytest-xdist has ended."""
    if said := getattr(node, "workeroutput", {}).get("fa2"):
        node.config.stash[_state].elsewhere.add(said)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    for said in sorted(config.stash[_state].elsewhere):
        terminalreporter.write_line(said)


def _needs_browser(item: pytest.Item) -> bool:
    return any(name in getattr(item, "fixturenames", ()) for name in FIXTURES)


@pytest.fixture(scope="session")
def harness(pytestconfig: pytest.Config) -> Harness:
    """The session's Harness. Without an adapter: a skip, or an error under --require-webgpu."""
    try:
        return pytestconfig.stash[_state].harness()
    except (NoBrowser, NoAdapter) as problem:
        refuse(pytestconfig, problem)


def refuse(config: pytest.Config, problem: HarnessError) -> NoReturn:
    """Skips the test for want of a browser or adapter, or fails it under --require-webgpu."""
    if config.getoption("--require-webgpu"):
        pytest.fail(f"--require-webgpu: {problem.message}", pytrace=False)
    pytest.skip(problem.message)


@pytest.fixture
def fa2_run(harness: Harness, request: pytest.FixtureRequest) -> Callable[..., Report]:
    """Runs a case and fails the test, with the report's text, unless it passes.

    A refused case is a skip; one that was named by --fa2-case is a failure as well.
    """
    reasons = request.config.stash.setdefault(_reasons, Reasons())

    def run(case: Any, **options: Any) -> Report:
        options.setdefault("kappa", request.config.getoption("--fa2-kappa"))
        report = reasons.added(harness.run(case, **options), harness)
        ratios = "".join(f", {name} {out.worst_ratio:.3g}" for name, out in report.outputs.items())
        request.node.add_report_section("call", "fa2", f"{report.kernel}: {report.status}{ratios}")
        if report.status == "skip" and "named_case" not in request.fixturenames:
            pytest.skip(report.message)
        if report.status != "pass":
            status = "refused" if report.status == "skip" else report.status
            pytest.fail(f"{case}: {status}\n{report.message}", pytrace=False)
        return report

    return run


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """``named_case`` is each --fa2-case in turn; the ids are the case ids."""
    if "named_case" in metafunc.fixturenames:
        metafunc.parametrize("named_case", _named_cases(metafunc.config), ids=str)


def _named_cases(config: pytest.Config) -> list[Case]:
    """Each --fa2-case once; UsageError for a malformed one and where there is none."""
    words = config.getoption("--fa2-case")
    if not words:
        raise pytest.UsageError(
            f"{NAMED} tests the cases that are named, and none is; "
            f"write pytest --pyargs {NAMED} --fa2-case 'forward:T=48,H=4,D=16'"
        )
    try:
        return list(dict.fromkeys(Case.parse(word) for word in words))
    except CaseError as error:
        raise pytest.UsageError(f"--fa2-case: {error.message}") from None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """On failure: the page's console, a screenshot and the failure text under test-results/."""
    report = yield
    if report.failed and call.when in ("setup", "call") and _needs_browser(item):
        folder = artifact_folder(Path(item.config.getoption("--fa2-artifacts")), item)
        kept = keep_evidence(folder, report.longreprtext, _used(item))
        report.sections.append(("fa2", f"evidence: {', '.join(map(str, kept))}"))
    return report


def artifact_folder(root: Path, item: pytest.Item) -> Path:
    """A folder named by the case, or by the test if it has none; safe on every file system."""
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    name = str(parameters.get("case", item.name))
    return root / re.sub(r"[^A-Za-z0-9=,._-]+", "-", name)[:150].strip("-.")


def keep_evidence(folder: Path, failure: str, harness: Harness | None) -> list[Path]:
    """Writes ``failure.txt``, ``console.txt`` and ``screenshot.png``; returns what was written."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {"failure.txt": failure}
    if harness is not None:
        texts["console.txt"] = "\n".join(harness.page_console)
    for name, text in texts.items():
        (folder / name).write_text(text + "\n", encoding="utf-8", errors="replace")
    kept = [folder / name for name in texts]
    picture = folder / "screenshot.png"
    if harness is not None and harness.screenshot(picture):
        kept.append(picture)
    return kept


def _used(item: pytest.Item) -> Harness | None:
    used = cast("dict[str, Any]", getattr(item, "funcargs", {}))
    found: Iterator[Harness] = (x for x in used.values() if isinstance(x, Harness))
    return next(found, None)
