"""The pytest plugin in somebody else's project: header, ids, skips, errors, evidence."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from fa2_process import NO_WEBGPU, TIMEOUT_S

from server.harness import Harness

PROJECT = """
from server.pytest_plugin import fa2_cases

@fa2_cases("seed")
def test_seed(case, fa2_run):
    fa2_run(case)

def test_without_a_browser():
    pass
"""
ONE = "test_theirs.py::test_seed[forward:T=8,H=4,D=8,attn=1]"
WITHOUT = [f"--fa2-browser-arg={flag}" for flag in NO_WEBGPU]


@pytest.fixture(autouse=True)
def _adapter_first(harness: Harness) -> None:
    """Without a browser that has an adapter here, these tests are skipped like all others."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "test_theirs.py").write_text(PROJECT)
    (tmp_path / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    return tmp_path


def run_pytest(project: Path, *words: str) -> subprocess.CompletedProcess[str]:
    checkout = Path(__file__).parents[2]
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "server.pytest_plugin", *words],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(checkout)},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )


def test_the_header_names_browser_and_adapter_and_ids_are_case_ids(project: Path) -> None:
    done = run_pytest(project, "-v", "--require-webgpu", ONE)
    assert done.returncode == 0, done.stdout
    assert "fa2: browser /" in done.stdout
    assert "(software)" in done.stdout or "fa2: Chrom" in done.stdout
    assert f"{ONE} PASSED" in done.stdout


def test_processes_of_xdist_have_a_browser_each_and_say_which(project: Path) -> None:
    done = run_pytest(project, "-n", "2", "--require-webgpu")
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("fa2: Chrom") == 1
    assert " 7 passed in " in done.stdout


def test_no_adapter_is_an_error_where_webgpu_is_required(project: Path) -> None:
    done = run_pytest(project, "--require-webgpu", *WITHOUT)
    assert done.returncode == 1
    assert "--require-webgpu: The browser has WebGPU but offers no adapter" in done.stdout
    assert "1 passed, 6 errors" in done.stdout


def test_no_adapter_is_a_skip_with_its_reason_elsewhere(project: Path) -> None:
    done = run_pytest(project, "-rs", *WITHOUT)
    assert done.returncode == 0
    assert "1 passed, 6 skipped" in done.stdout
    assert "offers no adapter" in done.stdout


def test_no_browser_is_treated_alike(project: Path) -> None:
    browser = "--fa2-browser=/no/such/browser"
    assert "1 passed, 6 errors" in run_pytest(project, "--require-webgpu", browser).stdout
    assert "1 passed, 6 skipped" in run_pytest(project, browser).stdout


def test_a_failure_leaves_its_text_the_console_and_a_picture(project: Path) -> None:
    done = run_pytest(project, "--fa2-kappa=1e-6", ONE, "--junitxml=junit.xml")
    assert done.returncode == 1
    folder = project / "test-results" / "forward-T=8,H=4,D=8,attn=1"
    assert "beyond their bound" in (folder / "failure.txt").read_text()
    assert (folder / "console.txt").exists()
    assert (folder / "screenshot.png").read_bytes().startswith(b"\x89PNG")
    assert str(folder.relative_to(project)) in done.stdout
    assert ONE.partition("::")[2] in (project / "junit.xml").read_text()


def test_collecting_starts_no_browser(project: Path) -> None:
    done = run_pytest(project, "--collect-only", "-q", *WITHOUT)
    assert done.returncode == 0
    assert "no WebGPU" not in done.stdout
    assert done.stdout.count("test_seed[") == 6
