"""`fa2` without a browser: what it lists, and what it refuses before one would start."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from server import browser, cli
from server.errors import DeviceLost, HarnessError, NoAdapter, PageError, Timeout
from server.paths import STATIC

NOTES = str(STATIC.parent / "examples" / "notes_16x16.wgsl")
Fa2 = Callable[..., tuple[int, str, str]]


INTERRUPTED = """
import signal, sys

class WhileImporting:
    def find_spec(self, name, *_):
        if name == "server.cli_bench":
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, WhileImporting())
sys.argv = ["fa2", "list"]
from server.__main__ import main
main()
"""


@pytest.fixture
def fa2(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Fa2]:
    """Runs ``fa2`` in this process: exit code, stdout, stderr. No browser can be found."""

    def find(*_: object, **__: object) -> None:
        pytest.fail("a browser was looked for")

    def run(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["fa2", *words])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        code = ended.value.code
        assert isinstance(code, int)
        return code, *capsys.readouterr()

    monkeypatch.setattr(browser, "find", find)
    handler = signal.getsignal(signal.SIGTERM)
    yield run
    signal.signal(signal.SIGTERM, handler)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["run", "forward:T=16"], "it has no D"),
        (["run", "backward:X*"], "no case of the suite full matches"),
        (["run", "--suite", "nope"], "the suites are seed"),
        (["run", "--seed", "-1"], "seed takes a decimal"),
        (["run", "--kernel", "nope"], "the kernels are auto"),
        (["run", "--kappa", "nan"], "must be a positive number"),
        (["run", "--timeout", "inf"], "--timeout inf must be a number of seconds that ends"),
        (["run", "--timeout", "0"], "Invalid value"),
        (["run", "--adapter", "fast"], "Invalid value"),
        (["run", "--without", "zz"], "without='zz' is no feature that a kernel uses; they use sh"),
        (["tune", "--samples", "5"], "Input should be greater than or equal to 30"),
        (["run", "--no-such-option"], "No such option"),
        (["check"], "name the kernel's .wgsl file"),
        (["check", "kernel.txt"], "kernel.txt is no .wgsl file"),
        (["check", "no/such.wgsl"], "no/such.wgsl cannot be read: No such file"),
        (["check", NOTES, "forward:T=16"], "it has no D"),
        (["check", NOTES, "forward:T=16,D=8,kernel=fa2"], "names a kernel of ours"),
        (["check", NOTES, "--suite", "nope"], "the suites are seed"),
        (["check", NOTES, "--manifest", "no.json"], "no.json cannot be read: No such file"),
        (["check", NOTES, "--grid", "T; H"], "grid[0]: String should match pattern"),
        (["check", NOTES, "--kappa", "0"], "must be a positive number"),
        (["list", "--suite", "nope"], "the suites are seed"),
        (["nonsense"], "No such command"),
        (["serve", "--port", "70000"], "Invalid value"),
        (["serve", "--host", "192.0.2.1"], "--allow-remote"),
        (
            ["serve", "--allow-host", "https://desk.local:8000"],
            "'https://desk.local:8000' is no name",
        ),
        (["serve", "--allow-host", ""], "'' is no name of a host"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_usage_ends_with_2_and_says_what_is_allowed(
    fa2: Fa2, words: list[str], says: str
) -> None:
    code, out, err = fa2(*words)
    assert (code, out) == (2, "")
    assert says in " ".join(err.replace("│", " ").split())


SMALL = "forward:T=8,D=4"


@pytest.mark.parametrize(
    "words",
    [
        ["run", SMALL, "--json"],
        ["run", SMALL, "--junit"],
        ["bench", SMALL, "--json"],
        ["tune", SMALL, "--out"],
        ["train", "--json"],
        ["golden", str(STATIC.parent / "tests/data/golden"), "--json"],
        ["check", NOTES, "--json"],
        ["check", NOTES, "--junit"],
        ["compare", SMALL, "baseline", "fa2", "--json"],
        ["trace", SMALL, "--json"],
        ["trace", SMALL, "--npz"],
    ],
    ids=" ".join,
)
def test_a_file_that_cannot_be_written_is_refused_before_anything_runs(
    fa2: Fa2, tmp_path: Path, words: list[str]
) -> None:
    (tmp_path / "file").touch()
    for place in (tmp_path, tmp_path / "file" / "new"):
        code, out, err = fa2(*words, str(place))
        assert (code, out) == (2, "")
        assert f"{place} cannot be written: " in err.replace("\n", " ")


def test_list_prints_what_run_takes(fa2: Fa2) -> None:
    code, out, _ = fa2("list", "--suite", "seed")
    assert (code, out.splitlines()[0]) == (0, "forward:T=16,H=4,D=8,attn=1")
    titles = [line.split(":")[0] for line in fa2("list")[1].splitlines() if line[0] == "#"]
    assert titles == ["# seed", "# smoke", "# edges", "# full", "# long"]


def test_version_and_help_need_no_command(fa2: Fa2) -> None:
    assert fa2("--version") == (0, "fa2 0.1.0\n", "")
    code, out, _ = fa2("--help")
    assert code == 0
    assert "Exit codes: 0 all pass" in " ".join(out.split())


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (NoAdapter("no adapter"), 3),
        (Timeout("too late"), 4),
        (DeviceLost("lost"), 4),
        (PageError("broken"), 1),
        (KeyboardInterrupt(), 130),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_a_command_raises_becomes_a_paragraph_and_an_exit_code(
    fa2: Fa2, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int
) -> None:
    def raising(*_: object) -> None:
        raise error

    monkeypatch.setattr(cli, "suite", raising)
    found, out, err = fa2("list", "--suite", "seed")
    assert (found, out) == (code, "")
    assert err == (f"fa2: {error}\n" if isinstance(error, HarnessError) else "")


def test_ctrl_c_while_modules_are_imported_ends_it_without_a_word() -> None:
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, timeout=30)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")
