"""The two gates of training, green with the shipped kernels and red with broken ones; `fa2 train`
as a person meets it.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest
from fa2_process import FA2, NO_WEBGPU, alive, children, fa2, gone

from server.gpt import Twin
from server.harness import Harness
from server.paths import STATIC
from server.presets import preset
from server.training import Training

ROUNDING = 1e-5
"""Relative difference of losses that float32 alone explains. Measured: 2e-7; the gate allows 5 %,
and a dV that stays zero would pass it with 0.6 %.
"""
WITHOUT = [f"--browser-arg={flag}" for flag in NO_WEBGPU]


@pytest.fixture(autouse=True)
def _adapter_first(harness: Harness) -> None:
    """Without a browser that has an adapter here, these tests are skipped like all others."""


def broken(file: str, old: str, new: str) -> dict[str, str]:
    text = (STATIC / "shaders" / file).read_text(encoding="utf-8")
    assert text.count(old) == 1, f"the shipped text no longer holds {old!r} once"
    return {file: text.replace(old, new)}


# The gates


def test_fifty_steps_stay_with_numpy_and_the_command_says_by_how_much(tmp_path: Path) -> None:
    file = tmp_path / "train.json"
    done = fa2("train", "--gate", "drift", "--seed", "1", "--json", str(file))
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    lines = done.stdout.splitlines()
    steps = [line for line in lines if re.match(r"step +\d+ of 50  page \d\.\d+  NumPy \d", line)]
    assert len(steps) == 11
    verdict = r"PASS: drift gate, attention fa2, worst \S+ % of 5 % allowed, at step \d+ .* steps/s"
    assert re.fullmatch(verdict, lines[-1])
    (report,) = json.loads(file.read_text())["results"]
    assert report["worst"] < ROUNDING
    assert len(report["losses"]) == len(report["twin"]) == 50
    assert report["losses"][-1] < 3 < 5.4 < report["losses"][0]
    assert re.fullmatch(r"fa2_forward\w* fa2_backward\w*", " ".join(report["kernels"]))
    assert report["adapter"]["limits"]


@pytest.mark.slow
def test_a_tiny_model_overfits_one_batch(harness: Harness) -> None:
    seen: list[int] = []

    def watch(training: Training) -> None:
        seen.append(len(training.losses))

    report = harness.train("tiny", "overfit", watch=watch)
    assert report.ok, report.message
    assert re.match(r"loss 5\.5\d+ at step 1, 0\.0\d+ at step 150", report.message)
    assert seen == sorted(seen)
    assert seen[-1] == 150
    assert any(0 < steps < 150 for steps in seen), "losses are seen while they come"


@pytest.mark.parametrize("attention", ["fa2", "baseline"])
def test_both_attentions_take_the_same_steps_as_numpy(harness: Harness, attention: str) -> None:
    """A few steps of another shape; the gate of fifty takes its time."""
    kernels = {
        "fa2": r"fa2_forward\w* fa2_backward\w*",  # which of the family depends on the adapter
        "baseline": "attn_fused_sv attn_backward",
    }
    report = harness.train("tiny", "none", attention=attention, steps=4, context=21, seed=5)
    assert report.ok, report.message
    assert re.fullmatch(kernels[attention], " ".join(report.kernels))
    for page, twin in zip(report.losses, numpy_losses(4, context=21, seed=5), strict=True):
        assert abs(page - twin) < ROUNDING * twin


def numpy_losses(steps: int, *, context: int, seed: int) -> list[float]:
    twin = Twin(replace(preset("tiny"), T=context), seed=seed)
    return [twin.step() for _ in range(steps)]


@pytest.mark.slow
def test_a_gradient_of_the_wrong_sign_fails_the_drift_gate(harness: Harness) -> None:
    shaders = {
        **broken("fa2_dkdv.wgsl", "dv_row + d, dv[r]);", "dv_row + d, -dv[r]);"),
        **broken("fa2_dkdv_rows.wgsl", "4u * c, dv[e]);", "4u * c, -dv[e]);"),
    }
    report = harness.train("tiny", "drift", shaders=shaders)
    assert report.status == "fail"
    assert re.match(r"worst (\d\d|[6-9])\S* % of 5 % allowed", report.message)


def test_a_loss_that_is_no_number_ends_the_training_as_a_failure(harness: Harness) -> None:
    shaders = broken(
        "train/gelu.wgsl",
        "Y[at] = 0.5 * x * (1.0 + gelu_tanh(x));",
        "Y[at] = bitcast<f32>(0x7fc00000u | params.rows);",
    )
    report = harness.train("tiny", "overfit", shaders=shaders)
    assert report.status == "fail"
    assert "the loss nan at step 1" in report.message
    assert len(report.losses) == 1


# What goes wrong


@pytest.mark.slow
def test_a_step_that_never_ends_is_a_timeout_and_the_next_training_runs() -> None:
    # Reads memory in its condition and writes some in its body: no compiler may drop the loop.
    endless = broken(
        "train/gelu.wgsl",
        "let x = X[at];",
        "let x = X[at];\n  while (X[at] < 1.0e30) { Y[at] += 1.0; }",
    )
    with Harness() as own:
        report = own.train("tiny", "none", steps=1, shaders=endless, timeout_s=8)
        assert report.error is not None
        assert report.error.kind == "timeout"
        assert "training step 1 of 1" in report.message
        assert own.train("tiny", "none", steps=1).ok


def test_a_shader_that_does_not_compile_is_an_error_with_its_line(harness: Harness) -> None:
    shaders = broken("train/add.wgsl", "@compute", "@compote")
    report = harness.train("tiny", "none", steps=1, shaders=shaders)
    assert report.error is not None
    assert (report.error.kind, report.error.file) == ("compile", "train/add.wgsl")
    assert report.error.line
    assert harness.train("tiny", "none", steps=1).ok


def test_what_the_adapter_cannot_hold_is_refused_with_both_numbers() -> None:
    done = fa2("train", "--bench", "--attention", "baseline", "--context", "8000")
    assert done.returncode == 2, done.stdout
    last = done.stdout.splitlines()[-1]
    assert re.match(
        rf"REFUSED: attention baseline, attn needs a buffer of {4 * 16 * 3 * 8000**2} bytes, "
        r"this device offers \d+ \(max\w+\)",
        last,
    )


@pytest.mark.slow
def test_what_the_adapter_is_too_slow_for_is_refused_with_the_numbers() -> None:
    began = time.monotonic()
    done = fa2("train", "--bench", "--preset", "large", "--limit", "0.01")
    assert done.returncode == 2, done.stdout
    for line in done.stdout.splitlines()[-2:]:
        assert re.match(
            r"REFUSED: attention \w+, a step of preset large takes 26\.5 GFLOP, and this adapter "
            r"did [\d.]+ [MGT]FLOP/s in steps of one block: it would take about [\d.]+ s, more "
            r"than the limit of 0\.01 s",
            line,
        )
    assert time.monotonic() - began < 60


@pytest.mark.slow
def test_a_benchmark_prints_both_times_and_their_ratio() -> None:
    done = fa2("train", "--bench", "--preset", "tiny", "--steps", "1")
    assert done.returncode == 0, done.stdout
    *_, baseline, with_fa2, last = done.stdout.splitlines()
    assert re.match(r"baseline +[\d.]+ m?s a step, .* loss 5\.5\d+", baseline)
    assert re.match(r"fa2 +[\d.]+ m?s a step, .* loss 5\.5\d+", with_fa2)
    assert re.match(r"DONE: a step with fa2 is [\d.]+ times as fast as with the baseline", last)


def test_without_an_adapter_it_ends_with_3_and_too_late_with_4() -> None:
    done = fa2("train", *WITHOUT)
    assert done.returncode == 3
    assert "requestAdapter() gave null" in done.stderr
    late = fa2("train", "--gate", "none", "--timeout", "0.001", FA2_FLOPS_PER_S="1e18")
    assert late.returncode == 4, late.stdout
    assert late.stdout.splitlines()[-1].startswith("ERROR: attention fa2, ")


@pytest.mark.slow
def test_ctrl_c_ends_a_training_at_once_and_leaves_no_process(tmp_path: Path) -> None:
    file = tmp_path / "train.json"
    words = ["train", "--gate", "overfit", "--json", str(file)]
    process = subprocess.Popen([*FA2, *words], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout:
        for line in process.stdout:
            if line.startswith("step"):
                break
        family = children(process.pid)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
    assert process.wait(20) == 130
    assert time.monotonic() - began < 15
    assert rest.splitlines()[-1] == "INTERRUPTED"
    assert gone(family, 20), f"still running: {alive(family)}"
    assert json.loads(file.read_text())["interrupted"]
