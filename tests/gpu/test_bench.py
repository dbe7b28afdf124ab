"""Times of real kernels: what `fa2 bench` gives, and that nothing wrong is timed."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from pathlib import Path

import pytest
from fa2_process import FA2, alive, children, fa2, gone
from mutant import Mutant

from server.bench import Bench
from server.bench_results import BenchResults
from server.bench_spec import flops, size_bytes
from server.cases import Case
from server.harness import Harness

FORWARD, BACKWARD = "forward:T=64,H=2,D=16", "backward:T=32,D=8"
BROKEN = Mutant(
    "sees one key too many",
    "forward:T=70,H=2,D=8,kernel=fa2_forward",
    "causal_offset + 1,",
    "causal_offset + 2,",
    "o: .* beyond",
    "common/masking.wgsl",
)


@pytest.fixture(autouse=True)
def _adapter_first(harness: Harness) -> None:
    """Without a browser that has an adapter here, these tests are skipped like all others."""


def test_cases_are_judged_and_timed_and_every_number_is_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "bench.json"
    done = fa2("bench", FORWARD, BACKWARD, "--json", str(file))
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    lines = done.stdout.splitlines()
    for case in (FORWARD, BACKWARD):
        line = rf"TIMED +{case}  [\d.]+ (µs|ms) \(gpu\), \S+ TFLOP/s, \S+ % of the f32 peak"
        assert any(re.fullmatch(line, one) for one in lines), done.stdout
    assert re.match("DONE: 2 timed on ", lines[-1])
    found = json.loads(file.read_text())
    assert found["counts"]["timed"] == 2
    assert found["adapter"]["limits"]
    assert found["peaks"]["f32_tflops"] > 0 < found["peaks"]["copy_gbps"]
    if found["software"]:
        assert "A software adapter" in lines[1]
    for entry, case in zip(found["results"], map(Case.parse, (FORWARD, BACKWARD)), strict=True):
        assert (entry["case"], entry["status"], entry["clock"]) == (str(case), "timed", "gpu")
        assert entry["report"]["status"] == "pass"
        assert entry["kernel"] == entry["report"]["kernel"]
        assert entry["samples"] == 30
        assert 0 < entry["p20_ns"] <= entry["median_ns"] <= entry["p80_ns"]
        assert entry["wall_ns"] > 0
        ns = entry["median_ns"]
        assert entry["tflops"] == pytest.approx(flops(case) / ns / 1e3)
        assert entry["gbps"] == pytest.approx(size_bytes(case) / ns)
        assert entry["share_of_peak"] == pytest.approx(
            entry["tflops"] / found["peaks"]["f32_tflops"]
        )


def test_a_broken_kernel_is_not_timed_and_that_ends_with_1(harness: Harness) -> None:
    report = harness.bench(BROKEN.case, shaders=BROKEN.shaders())
    assert (report.status, report.timing) == ("fail", None)
    assert report.report is not None
    assert re.match(BROKEN.says, report.report.message)
    assert BenchResults(reports=[report]).exit_code() == 1
    assert harness.bench(BROKEN.case).status == "timed"


def test_sixteen_times_the_work_takes_longer_by_both_clocks(harness: Harness) -> None:
    seen: list[str] = []

    def watch(bench: Bench) -> None:
        seen.append(bench.state)

    times = []
    for T in (64, 256):
        report = harness.bench(f"forward:T={T},H=2,D=16,causal=0", watch=watch)
        assert report.timing is not None, report.message
        ns, wall = report.timing.ns, report.timing.wall
        assert ns is not None
        assert wall is not None
        assert wall.median > 0.5 * ns.median, "queued calls take the time of their dispatches"
        times.append((ns.median, wall.median))
    (short, short_wall), (long, long_wall) = times
    assert long > 2 * short
    assert long_wall > 2 * short_wall
    assert seen[-1] == "timed"


def test_the_report_of_a_run_has_its_gpu_time(harness: Harness) -> None:
    report = harness.run("backward:T=128,H=4,D=16")
    assert report.gpu_ns is not None
    assert report.elapsed_ns is not None
    assert 0 < report.gpu_ns < report.elapsed_ns


def test_ctrl_c_ends_a_sweep_with_130_and_keeps_what_is_there(tmp_path: Path) -> None:
    file = tmp_path / "bench.json"
    words = ["bench", FORWARD, "--sweep", "--json", str(file)]
    process = subprocess.Popen([*FA2, *words], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout:
        for line in process.stdout:
            if line.startswith("TIMED"):
                break
        family = children(process.pid)
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
    assert process.wait(20) == 130
    assert re.search(r"INTERRUPTED: [1-9]\d* timed", rest)
    assert gone(family, 20), f"still running: {alive(family)}"
    assert json.loads(file.read_text())["interrupted"]
