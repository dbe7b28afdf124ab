"""`fa2 train` without a browser: what is asked for, what is printed, exit codes, the JSON file."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

from server import cli_train
from server.cli import app
from server.errors import CaseError
from server.report import RunError
from server.training import Training
from server.training_console import PHASES, TrainingPrinter
from server.training_report import TrainingReport
from server.training_results import TrainingResults
from server.training_spec import TrainingSpec

TWIN = [5.5 * 0.98**n for n in range(50)]


class FakeHarness:
    """``answers`` gives the report on each training, or raises, in the order they are asked for."""

    def __init__(self, answers: Sequence[Callable[[Training], TrainingReport]]) -> None:
        self.environment = {"engine": "Fake 1", "adapter": {"vendor": "none", "fallback": True}}
        self.asked: list[dict[str, Any]] = []
        self._answers = list(answers)

    def __call__(self, *_: Any, **__: Any) -> FakeHarness:
        return self

    def __enter__(self) -> FakeHarness:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to end."""

    def train(self, name: str, gate: str, *, watch: Any, limit_s: Any, **asked: Any) -> Any:
        self.asked.append({"preset": name, "gate": gate, "limit_s": limit_s, **asked})
        spec = TrainingSpec.of(name, gate=gate, **asked)
        training = Training(spec, 1.0, False, deadline_s=1.0, state="sent")
        answer = self._answers.pop(0)
        training.progress = {"phase": "prepare", "done": 0, "total": 1}
        watch(training)
        report = answer(training)
        training.twin = list(report.twin)
        for step, loss in enumerate(report.losses):
            training.took([loss], [report.elapsed_ns[step]])
            watch(training)
        training.settle(report)
        watch(training)
        return report


def ends(
    status: str,
    losses: Sequence[float] = (),
    *,
    twin: Sequence[float] = (),
    kind: str | None = None,
    step_ms: float = 100,
    warnings: tuple[str, ...] = (),
) -> Callable[[Training], TrainingReport]:
    def answer(training: Training) -> TrainingReport:
        return TrainingReport(
            spec=training.spec,
            status=status,
            message="why",
            losses=tuple(losses),
            twin=tuple(twin),
            elapsed_ns=(step_ms * 1e6,) * len(losses),
            kernels=("k",),
            size_bytes=4_500_000,
            error=RunError(kind, "why") if kind else None,
            warnings=warnings,
        )

    return answer


def interrupted(_: Training) -> TrainingReport:
    raise KeyboardInterrupt


Run = Callable[..., tuple[Result, FakeHarness]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    def run(*words: str, answers: Sequence[Any] = ()) -> tuple[Result, FakeHarness]:
        harness = FakeHarness(answers)
        monkeypatch.setattr(cli_train, "Harness", harness)
        return CliRunner().invoke(app, ["train", *words]), harness

    return run


def test_a_gate_that_passes_prints_some_steps_and_the_verdict(run: Run) -> None:
    page = [1.0001 * loss for loss in TWIN]
    result, harness = run(answers=[ends("pass", page, twin=TWIN)])
    assert result.exit_code == 0, result.output
    (asked,) = harness.asked
    assert (asked["preset"], asked["gate"], asked["attention"]) == ("tiny", "drift", "fa2")
    lines = result.output.splitlines()
    assert lines[0] == "Fake 1 · none (software)"
    assert lines[1].startswith("preset tiny: 2 blocks, C 48, context 32, batch 16, 3 heads of 16")
    steps = [line for line in lines if line.startswith("step")]
    assert [int(line.split()[1]) for line in steps] == [1, *range(5, 51, 5)]
    assert all("apart 0.01 %" in line for line in steps)
    assert lines[-1] == ("PASS: drift gate, attention fa2, why; 50 steps in 5 s, 10 steps/s"), (
        lines[-1]
    )
    assert "\x1b" not in result.output, "escape codes in piped output"


@pytest.mark.parametrize(
    ("answer", "code", "word"),
    [
        (ends("fail", TWIN, twin=TWIN), 1, "FAIL"),
        (ends("error", kind="page"), 1, "ERROR"),
        (ends("error", kind="compile"), 1, "ERROR"),
        (ends("skip", kind="unsupported"), 2, "REFUSED"),
        (ends("error", kind="no-adapter"), 3, "ERROR"),
        (ends("error", kind="timeout"), 4, "ERROR"),
        (ends("error", kind="device-lost"), 4, "ERROR"),
        (interrupted, 130, "INTERRUPTED"),
    ],
    ids=["fail", "page", "compile", "refused", "no adapter", "timeout", "lost", "interrupted"],
)
def test_every_end_has_its_exit_code_and_its_word(
    run: Run, answer: Any, code: int, word: str
) -> None:
    result, _ = run("--gate", "drift", answers=[answer])
    assert result.exit_code == code, result.output
    assert result.output.splitlines()[-1].startswith(word)


def test_a_benchmark_times_both_attentions_and_gives_their_ratio(run: Run) -> None:
    answers = [ends("pass", [5.5], step_ms=3000), ends("pass", [5.500001], step_ms=2000)]
    result, harness = run("--bench", "--preset", "mega", "--steps", "1", answers=answers)
    assert result.exit_code == 0, result.output
    assert [asked["attention"] for asked in harness.asked] == ["baseline", "fa2"]
    assert {asked["gate"] for asked in harness.asked} == {"bench"}
    lines = result.output.splitlines()
    assert "1 step of each attention, after an untimed warm-up" in result.output
    assert re.match(r"baseline +3 s a step, 57\.5 GFLOP/s, loss 5\.500000, 4\.5 MB", lines[-3])
    assert re.match(r"fa2 +2 s a step", lines[-2])
    assert lines[-1].startswith("DONE: a step with fa2 is 1.5 times as fast as with the baseline (")
    assert "software adapter" in lines[-1]


def test_what_the_page_warns_of_is_said_once_and_is_in_the_file(run: Run, tmp_path: Path) -> None:
    file, warned = tmp_path / "train.json", ("the tuned table of this adapter is not used: why",)
    both = [ends("pass", [4.0], warnings=warned), ends("pass", [4.0], warnings=warned)]
    result, _ = run("--bench", "--json", str(file), answers=both)
    assert result.exit_code == 0, result.output
    assert result.output.count(warned[0]) == 1
    told = [one["warnings"] for one in json.loads(file.read_text())["results"]]
    assert told == [[warned[0]]] * 2


def test_attentions_that_disagree_fail_although_both_ran(run: Run) -> None:
    result, _ = run("--bench", answers=[ends("pass", [5.5]), ends("pass", [5.51])])
    assert result.exit_code == 1
    last = result.output.splitlines()[-1]
    assert last.startswith("FAIL: step 1 has the loss 5.500000 with baseline and 5.510000 with fa2")


def test_a_benchmark_times_what_it_can_when_one_attention_is_refused(run: Run) -> None:
    answers = [ends("skip", kind="unsupported"), ends("pass", [5.5])]
    result, _ = run("--bench", answers=answers)
    assert result.exit_code == 2
    assert "REFUSED: attention baseline, why" in result.output
    assert result.output.splitlines()[-1].startswith("fa2 ")


def test_a_benchmark_of_one_attention_is_no_comparison(run: Run) -> None:
    result, harness = run("--bench", "--attention", "fa2", answers=[ends("pass", [5.5])])
    assert result.exit_code == 0
    assert len(harness.asked) == 1
    assert "times as fast" not in result.output


def test_options_reach_the_training(run: Run) -> None:
    words = ["--gate", "none", "--steps", "3", "--seed", "0x10", "--context", "64", "--limit", "9"]
    _, harness = run(*words, "--attention", "baseline", answers=[ends("pass", [1, 1, 1])])
    assert harness.asked == [
        {
            "preset": "tiny",
            "gate": "none",
            "attention": "baseline",
            "seed": 16,
            "steps": 3,
            "context": 64,
            "limit_s": 9.0,
        }
    ]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--bench", "--gate", "drift"], "leave --gate out"),
        (["--preset", "giga"], "preset=giga: unknown"),
        (["--steps", "3"], "the drift gate takes 50 steps"),
        (["--seed", "-1"], "seed=-1 is not allowed"),
        (["--timeout", "inf"], "a number of seconds that ends"),
        (["--limit", "inf"], "a number of seconds that ends"),
        (["--context", "99999"], "bytes of the text"),
    ],
)
def test_wrong_usage_is_refused_before_a_browser_starts(
    run: Run, words: list[str], says: str
) -> None:
    result, harness = run(*words)
    assert isinstance(result.exception, CaseError)  # which main() turns into exit code 2
    assert says in str(result.exception)
    assert harness.asked == []


def test_the_file_holds_losses_times_and_verdicts_also_when_interrupted(
    run: Run, tmp_path: Path
) -> None:
    file = tmp_path / "new" / "train.json"
    answers = [ends("pass", [5.5], step_ms=30), interrupted]
    result, _ = run("--bench", "--json", str(file), answers=answers)
    assert result.exit_code == 130
    found = json.loads(file.read_text())
    assert (found["engine"], found["interrupted"], found["speedup"]) == ("Fake 1", True, None)
    (report,) = found["results"]
    assert (report["losses"], report["elapsed_ns"], report["status"]) == ([5.5], [3e7], "pass")
    assert (report["config"]["T"], report["seed"]) == (32, "0")


def test_a_loss_that_is_no_number_is_a_word_in_the_file(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "train.json"
    answer = ends("fail", [5.5, float("nan")], twin=TWIN)
    run("--json", str(file), answers=[answer])
    assert json.loads(file.read_text())["results"][0]["losses"] == [5.5, "NaN"]


def test_a_file_that_cannot_be_written_is_an_error(run: Run, tmp_path: Path) -> None:
    answers = [ends("pass", TWIN, twin=TWIN)]
    result, _ = run("--json", str(tmp_path), answers=answers)
    assert "cannot be written" in str(result.exception)


def test_nothing_that_ran_is_no_success() -> None:
    assert TrainingResults().exit_code() == 3


def test_steps_are_shown_once_numpy_has_done_them_too() -> None:
    spec = TrainingSpec.of("tiny")
    training = Training(spec, 1.0, False, deadline_s=1.0, state="sent")
    out = io.StringIO()
    console = Console(file=out)
    watch = TrainingPrinter(console).watcher(spec)
    training.took(TWIN, [1.0] * 50)
    training.twin = TWIN[:12]
    watch(training)
    assert [line.split()[1] for line in out.getvalue().splitlines()] == ["1", "5", "10"]
    training.twin = TWIN
    watch(training)
    assert len(out.getvalue().splitlines()) == 11


def test_the_speed_leaves_the_first_step_out_unless_it_is_the_only_one() -> None:
    spec = TrainingSpec.of("tiny")
    training = Training(spec, 1.0, False, deadline_s=1.0)
    report = ends("pass", [1, 1, 1], step_ms=100)(training)
    assert replace(report, elapsed_ns=(9e9, 1e8, 1e8)).steps_per_s == pytest.approx(10)
    assert replace(report, elapsed_ns=(2e9,)).steps_per_s == pytest.approx(0.5)
    assert replace(report, elapsed_ns=()).steps_per_s is None


def test_a_long_silence_is_broken_by_what_is_being_done(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.training_console.SILENCE_S", -1.0)
    result, _ = run("--bench", "--attention", "fa2", answers=[ends("pass", [5.5])])
    assert PHASES["prepare"] in result.output
