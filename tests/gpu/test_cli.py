"""`fa2` as a person or a CI job meets it: lines, files, exit codes, Ctrl+C."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from fa2_process import FA2, NO_WEBGPU, alive, children, fa2, gone

from server.harness import Harness

SMALL = "forward:T=16,D=8"
WITHOUT = [f"--browser-arg={flag}" for flag in NO_WEBGPU]


@pytest.fixture(autouse=True)
def _adapter_first(harness: Harness) -> None:
    """Without a browser that has an adapter here, these tests are skipped like all others."""


def test_the_seed_suite_prints_twelve_checks_and_all_pass(tmp_path: Path) -> None:
    json_file, junit_file = tmp_path / "new" / "report.json", tmp_path / "junit.xml"
    done = fa2("run", "--suite", "seed", "--json", str(json_file), "--junit", str(junit_file))
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert sum(line.startswith("PASS ") for line in lines) == 12
    assert re.match(r"ALL PASS: 12 checks in 6 cases, .* worst \|error\|/allowed 0\.\d", lines[-1])
    assert not re.search(r"[\x00-\x08\x0b-\x1f]", done.stdout), "escape codes in piped output"
    report = json.loads(json_file.read_text())
    assert report["counts"]["pass"] == len(report["results"]) == 6
    assert report["adapter"]["features"] is not None
    assert report["results"][0]["outputs"]["attn"]["worst_ratio"] < 1
    assert len(ET.parse(junit_file).getroot()[0]) == 6


def test_a_browser_without_webgpu_ends_with_3_and_the_remedy(tmp_path: Path) -> None:
    done = fa2("run", SMALL, *WITHOUT, "--json", str(tmp_path / "report.json"))
    assert done.returncode == 3
    assert "requestAdapter() gave null" in done.stderr
    assert "PASS" not in done.stdout
    assert json.loads((tmp_path / "report.json").read_text())["results"] == []


def test_a_browser_that_does_not_exist_or_is_none_ends_with_3() -> None:
    assert fa2("run", SMALL, "--browser", "/no/such/browser").returncode == 3
    done = fa2("run", SMALL, "--browser", "/bin/false", "--launch", "process")
    assert done.returncode == 3
    assert "ended before its page was up" in done.stderr


def test_a_named_case_that_is_refused_ends_with_2_and_the_reason() -> None:
    done = fa2("run", f"{SMALL},window=4:0", SMALL)
    assert done.returncode == 2
    assert re.search(r"^SKIP +forward:T=16,D=8,window=4:0$", done.stdout, re.M)
    assert "window" in done.stdout.splitlines()[2]
    assert re.match("1 REFUSED: 1 check in 2 cases.*, 1 refused", done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_a_failure_ends_with_1_and_is_run_again_until_it_passes(tmp_path: Path) -> None:
    cache = {"XDG_CACHE_HOME": str(tmp_path)}
    strict = fa2("run", SMALL, "forward:T=8,D=8,attn=1", "--kappa", "1e-6", **cache)
    assert strict.returncode == 1
    assert strict.stdout.splitlines()[-1].startswith("2 FAILED: 3 checks in 2 cases")
    assert "--kappa 1e-06" in strict.stdout, "the command that replays it is missing"
    first = fa2("run", SMALL, "forward:T=8,D=8", "--kappa", "1e-6", "--fail-fast", **cache)
    assert "1 FAILED: 1 check in 1 case of 2 selected" in first.stdout
    again = fa2("run", "--rerun-failed", **cache)
    assert again.returncode == 0
    assert "ALL PASS: 3 checks in 2 cases" in again.stdout
    assert "1 check in 1 case" in fa2("run", "--rerun-failed", SMALL, **cache).stdout


def test_a_timeout_ends_with_4() -> None:
    done = fa2("run", "forward:T=600,H=2,D=16", SMALL, "--timeout", "0.001")
    assert done.returncode == 4
    assert "ERROR" in done.stdout


def test_kernel_and_seed_go_into_every_case() -> None:
    done = fa2("run", SMALL, "--kernel", "baseline", "--seed", "0x10")
    assert done.returncode == 0
    assert "PASS    forward:T=16,D=8,seed=16,kernel=baseline  o " in done.stdout


@pytest.mark.slow
def test_without_playwright_a_plain_process_does_the_same(tmp_path: Path) -> None:
    # What an import sees when a package is not there, in this process and nowhere else.
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['playwright'] = None\n")
    blocked = {"PYTHONPATH": os.pathsep.join([str(tmp_path), os.getcwd()])}
    proof = subprocess.run(
        [sys.executable, "-c", "import playwright"],
        env={**os.environ, **blocked},
        capture_output=True,
    )
    assert b"ModuleNotFoundError" in proof.stderr
    for words in ([], ["--launch", "process"]):
        done = fa2("run", SMALL, *words, **blocked)
        assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert fa2("run", SMALL, "--launch", "playwright", **blocked).returncode == 2
    assert "no playwright" in fa2("doctor", **blocked).stdout


def test_doctor_walks_every_step_to_a_kernel() -> None:
    done = fa2("doctor")
    assert done.returncode == 0, done.stdout
    steps = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("ok ")]
    walk = ["browser", "page", "secure-context", "navigator.gpu", "adapter", "device"]
    assert steps == [*walk, "kernel", "kernel"]
    assert re.search(r"\d+ ms .* run again by fa2_forward\w*: pass", done.stdout)


def test_doctor_says_which_step_is_missing() -> None:
    done = fa2("doctor", *WITHOUT)
    assert done.returncode == 3
    last = done.stdout.splitlines()[-1]
    assert re.match(r"missing +adapter .*--enable-unsafe-webgpu", last)
    done = fa2("doctor", "--browser", "/no/such/browser", "--install")
    assert done.returncode == 3
    assert re.match(r"missing +browser .*does not exist", done.stdout.splitlines()[-1])


@pytest.mark.parametrize("launch", ["playwright", "process"])
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl+C", "terminated"])
def test_an_interrupted_run_ends_at_once_keeps_its_files_and_leaves_no_process(
    launch: str, end: signal.Signals, tmp_path: Path
) -> None:
    file = tmp_path / "report.json"
    words = ["run", "--suite", "full", "--launch", launch, "--json", str(file)]
    process = subprocess.Popen(
        [*FA2, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdout, process.stderr:
        for line in process.stdout:
            if line.startswith("PASS"):
                break
        family = children(process.pid)
        assert family, "no browser was seen"
        began = time.monotonic()
        if end == signal.SIGINT:  # a terminal sends it to all that it has started
            os.killpg(process.pid, end)
        else:
            process.send_signal(end)
        rest, complaints = process.stdout.read(), process.stderr.read()
    assert (process.wait(20), complaints) == (130, "")
    assert time.monotonic() - began < 15
    assert "INTERRUPTED: " in rest
    assert gone(family, 20), f"still running: {alive(family)}"
    report = json.loads(file.read_text())
    assert report["interrupted"]
    assert report["counts"]["pass"] == len(report["results"]) > 0


@pytest.mark.parametrize("launch", ["playwright", "process"])
def test_a_killed_run_leaves_no_process_either(launch: str) -> None:
    command = [*FA2, "run", "--suite", "full", "--launch", launch]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout:
        while not process.stdout.readline().startswith("PASS"):
            assert process.poll() is None
        family = children(process.pid)
        assert family, "no browser was seen"
        process.kill()
        process.wait()
    assert gone(family, 20), f"still running: {alive(family)}"


def test_serve_prints_the_page_and_ends_on_ctrl_c() -> None:
    command = [*FA2, "serve", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout:
        url = process.stdout.readline().split()[-1]
        port = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/webgpu-test", url)
        assert port is not None
        busy = fa2("serve", "--port", port[1])
        assert busy.returncode == 2
        assert "--port 0" in busy.stderr
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
    assert time.monotonic() - began < 15


def test_serve_refuses_other_machines_unless_told_and_then_prints_a_token() -> None:
    refused = fa2("serve", "--host", "0.0.0.0", "--port", "0")
    assert refused.returncode == 2
    assert "--allow-remote" in refused.stderr
    command = [*FA2, "serve", "--host", "0.0.0.0", "--port", "0", "--allow-remote"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout:
        assert re.search(r"/webgpu-test\?token=[\w-]{43}$", process.stdout.readline())
        assert "the token in the URL is the key" in process.stdout.readline()
        assert "WebGPU exists only on https" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
