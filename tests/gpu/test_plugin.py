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
    (project / "test_more.py").write_text(MIXED)
    words = ("--require-webgpu", "-k", "seed or browser or by_mark")
    done = run_pytest(project, "-n", "2", *words)
    assert done.returncode == 0, done.stdout  # a skip in one of them is no session of skips
    assert done.stdout.count("fa2: Chrom") == 1
    assert " 8 passed, 1 skipped in " in done.stdout


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


REFUSED = "forward:T=4,D=300"
NAMED = ("--pyargs", "server.pytest_cases")
MIXED = """
import pytest

@pytest.mark.parametrize("D", [300, 301])
def test_refused(D, fa2_run):
    fa2_run(f"forward:T=4,D={D}")

@pytest.mark.skip(reason="not today")
def test_skipped_by_mark(fa2_run):
    pass

def test_asks_late(request):
    request.getfixturevalue("fa2_run")("forward:T=4,D=300")

def test_without_a_browser():
    pass

def test_small(fa2_run):
    fa2_run("forward:T=4,D=8")
"""


def test_a_session_in_which_nothing_ran_is_red_where_webgpu_is_required(project: Path) -> None:
    (project / "test_theirs.py").write_text(MIXED)
    done = run_pytest(project, "--require-webgpu", "-k", "not small")
    assert "1 passed, 4 skipped" in done.stdout
    assert "nothing ran: every test that uses fa2_run was skipped (4;" in done.stdout
    assert done.returncode == 1


def test_with_xdist_it_is_red_as_well(project: Path) -> None:
    (project / "test_theirs.py").write_text(MIXED)
    done = run_pytest(project, "-n", "1", "--require-webgpu", "-k", "by_mark or without")
    assert "1 passed, 1 skipped" in done.stdout
    assert "nothing ran: every test that uses fa2_run was skipped (1;" in done.stdout
    assert done.returncode == 1


def test_skips_beside_a_case_that_ran_are_green(project: Path) -> None:
    (project / "test_theirs.py").write_text(MIXED)
    done = run_pytest(project, "--require-webgpu")
    assert done.returncode == 0, done.stdout
    assert "2 passed, 4 skipped" in done.stdout
    assert "nothing ran" not in done.stdout


def test_skips_alone_are_green_without_the_option(project: Path) -> None:
    (project / "test_theirs.py").write_text(MIXED)
    done = run_pytest(project, "-k", "not small")
    assert done.returncode == 0, done.stdout
    assert "1 passed, 4 skipped" in done.stdout


def test_a_named_case_that_is_refused_fails_with_the_reason(project: Path) -> None:
    done = run_pytest(project, *NAMED, "--fa2-case", REFUSED)
    assert f"{REFUSED}: refused" in done.stdout
    assert "256" in done.stdout  # the largest D there is
    assert "1 failed" in done.stdout
    assert done.returncode == 1


@pytest.mark.parametrize("how", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_no_named_case_and_a_malformed_one_are_mistakes_in_the_command(
    how: tuple[str, ...], project: Path
) -> None:
    done = run_pytest(project, *NAMED, *how)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "write pytest --pyargs server.pytest_cases --fa2-case 'forward:" in done.stderr
    done = run_pytest(project, *NAMED, *how, "--fa2-case", "nonsense:T=4")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "a case starts with forward: or backward:" in done.stderr
    assert "Traceback" not in done.stdout + done.stderr
