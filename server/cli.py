"""`fa2` and its commands. Also `python -m server`.

Exit codes: 0 all pass · 1 a case or gate failed · 2 usage, or a case named on the command line is
refused · 3 no browser, no adapter, or nothing ran · 4 timeout or device lost · 130 interrupted.
"""

from __future__ import annotations

import signal
import sys
from typing import Annotated

import typer

from server import (
    __version__,
    cli_bench,
    cli_check,
    cli_compare,
    cli_doctor,
    cli_golden,
    cli_history,
    cli_repro,
    cli_run,
    cli_serve,
    cli_trace,
    cli_train,
    cli_tune,
)
from server.cli_peers import WithPeers
from server.console import make_console
from server.errors import CaseError, DeviceLost, HarnessError, NoAdapter, NoBrowser, Timeout
from server.results import ENDED, FAILED, INTERRUPTED, NOTHING_RAN, USAGE
from server.suites import SUITES, suite
from server.terminal import end_output, never_fail, visible

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="FlashAttention-2 in WGSL: run the kernels in a browser and judge what they compute.",
    epilog=(
        "Exit codes: 0 all pass, 1 a case or gate failed, 2 usage or a named case is refused, 3 no "
        "browser, no adapter or nothing ran, 4 timeout or device lost, 130 interrupted."
    ),
)
app.command("run")(cli_run.run)
app.command("check")(cli_check.check)
app.command("bench", cls=WithPeers)(cli_bench.bench)
app.command("golden")(cli_golden.golden)
app.command("train")(cli_train.train)
app.command("trace")(cli_trace.trace)
app.command("tune")(cli_tune.tune)
app.command("compare")(cli_compare.compare)
app.command("serve")(cli_serve.serve)
app.command("history")(cli_history.history)
app.command("repro")(cli_repro.repro)
app.command("replay")(cli_repro.replay)
app.command("doctor")(cli_doctor.doctor)


@app.callback(invoke_without_command=True)
def _options(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        print(f"fa2 {__version__}")
        raise typer.Exit


@app.command("list")
def list_cases(
    name: Annotated[
        str | None, typer.Option("--suite", metavar="NAME", help="Only this suite.")
    ] = None,
) -> None:
    """Print the case ids of the suites, one a line: each is an argument of `fa2 run`."""
    suites = {name: suite(name)} if name else SUITES
    console = make_console()
    for title, cases in suites.items():
        if not name:
            console.print(f"# {title}: {len(cases)} cases")
        for case in cases:
            console.print(str(case))


def main() -> None:
    """The console script. Errors become one paragraph on stderr and an exit code."""
    # So that a CI runner's polite end closes the browser too, like Ctrl+C.
    signal.signal(signal.SIGTERM, _terminated)
    never_fail()
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except HarnessError as error:
        print(f"fa2: {visible(error.message)}", file=sys.stderr)
        sys.exit(_code(error))
    finally:
        end_output()


def _code(error: HarnessError) -> int:
    if isinstance(error, NoBrowser | NoAdapter):
        return NOTHING_RAN
    if isinstance(error, Timeout | DeviceLost):
        return ENDED
    return USAGE if isinstance(error, CaseError) else FAILED


def _terminated(_signal: int, _frame: object) -> None:
    raise KeyboardInterrupt
