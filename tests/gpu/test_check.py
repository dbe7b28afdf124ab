"""`fa2 check`: kernels that are not ours before the same judge, right ones and broken ones."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from fa2_process import FA2
from typer.testing import CliRunner

from server import cli, cli_check, own_kernel
from server.harness import Harness
from server.paths import STATIC
from server.report import Report

Check = Callable[..., tuple[int, str]]

EXAMPLES = STATIC.parent / "examples"
SMALL = "forward:B=2,T=37,H=2,D=8"


@pytest.fixture(autouse=True)
def _adapter_first(harness: Harness) -> None:
    """Without a browser that has an adapter here, these tests are skipped like all others."""


@pytest.fixture
def check(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> Check:
    """`fa2 check` in this process, on the browser that is open: exit code and what it printed."""

    def run(*words: str) -> tuple[int, str]:
        monkeypatch.setattr(cli_check, "Harness", lambda *_, **__: nullcontext(harness))
        done = CliRunner().invoke(cli.app, ["check", *words])
        return done.exit_code, done.stdout

    return run


def own(
    name: str, *changes: tuple[str, str], files: dict[str, str] | None = None, **manifest: Any
) -> dict[str, Any]:
    """An example, its text changed, its manifest changed, and other files beside it."""
    path = EXAMPLES / f"{name}.wgsl"
    text = path.read_text(encoding="utf-8")
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    said = json.loads(path.with_suffix(".json").read_text(encoding="utf-8")) | manifest
    texts = {path.name: text, **(files or {})}
    return own_kernel.checked({"name": name, "manifest": said, "files": texts})


@pytest.mark.parametrize(
    ("name", "checks", "refused"),
    [("notes_16x16", 14, 15), ("row_per_invocation", 25, 3), ("two_pass", 35, 0)],
)
def test_the_examples_pass_and_refuse_by_name(
    check: Check, tmp_path: Path, name: str, checks: int, refused: int
) -> None:
    code, said = check(str(EXAMPLES / f"{name}.wgsl"), "--json", str(tmp_path / "all.json"))
    assert code == 0, said
    assert f"ALL PASS: {checks} checks" in said
    assert said.count("SKIP ") == refused == said.count("does not take this case")
    results = json.loads((tmp_path / "all.json").read_text())["results"]
    assert {report["kernel"] for report in results} == {name}
    assert all(report["controls"] for report in results if report["status"] == "pass")


def test_the_backward_example_passes_with_the_o_and_lse_of_our_forward(harness: Harness) -> None:
    kernel = own("backward_rows")
    for case in ("backward:B=2,T=21,H=4,Hkv=2,D=8", "backward:Tq=45,Tk=19,H=2,D=5"):
        report = harness.run(case, own=kernel)
        assert report.ok, report.message
        assert list(report.outputs) == ["o", "lse", "dq", "dk", "dv"]


def test_a_backward_can_have_a_forward_of_its_own(harness: Harness) -> None:
    forward = json.loads((EXAMPLES / "notes_16x16.json").read_text())
    forward |= {"file": "notes_16x16.wgsl"}
    text = (EXAMPLES / "notes_16x16.wgsl").read_text()
    files = {"notes_16x16.wgsl": text.replace("m_i + log(l_i)", "m_i + log(l_i) + 1.0")}
    kernel = own("backward_rows", forward=forward, files=files)
    report = harness.run("backward:T=20,H=2,D=8", own=kernel)
    assert report.status == "fail"
    assert report.outputs["lse"].bad == 40


BROKEN = [
    ("notes_16x16", ("start + jj <= i &&", "start + jj < i + 2u &&"), "beyond their bound"),
    ("notes_16x16", ("sum * params.scale;", "sum * params.scale * 1.001;"), "beyond their bound"),
    ("notes_16x16", ("    workgroupBarrier();\n\n", "\n"), None),
    ("notes_16x16", ("if (i < params.T) {", "if (i < params.T - 1u) {"), "never written"),
    ("two_pass", ("select(MASKED, m + log(l), l > 0.0); }", "m; }"), "beyond their bound"),
    ("row_per_invocation", ("l_i * alpha + p;", "l_i + p;"), "beyond their bound"),
]


@pytest.mark.parametrize(
    ("name", "change", "says"), BROKEN, ids=lambda v: v if isinstance(v, str) else ""
)
def test_a_broken_copy_fails(
    harness: Harness, name: str, change: tuple[str, str], says: str | None
) -> None:
    report = harness.run(SMALL, own=own(name, change))
    assert report.status == "fail", report.message
    assert says is None or says in report.message
    assert f"again: fa2 check {name}.wgsl '{SMALL}'" in report.message


def test_a_kernel_that_writes_beyond_its_output_is_caught_by_the_guards(harness: Harness) -> None:
    beyond = ("if (lane == 0u) { L[", "if (lane == 0u) { L[150] = 1.0; L[")  # 2 · 37 · 2 elements
    report = harness.run(SMALL, own=own("two_pass", beyond))
    assert report.status == "fail"
    assert "lse: the kernel wrote behind the output: 1 of 64" in report.message


FLAT = """
struct Params { H: u32, T: u32, D: u32, scale: f32 }
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> q: array<f32>;
@group(0) @binding(2) var<storage, read> k: array<f32>;
@group(0) @binding(3) var<storage, read> v: array<f32>;
@group(0) @binding(4) var<storage, read_write> out: array<f32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let n = id.x;
  if (n >= arrayLength(&out)) { return; }
  let C = p.H * p.D;
  let head = n % C / p.D * p.D;
  let i = n / C % p.T;
  let first = n / (C * p.T) * p.T * C + head;
  var l = 0.0;
  var sum = 0.0;
  for (var j = 0u; j <= i; j++) {
    var s = 0.0;
    for (var d = 0u; d < p.D; d++) { s += q[first + i * C + d] * k[first + j * C + d]; }
    let weight = exp(s * p.scale);
    l += weight;
    sum += weight * v[first - head + j * C + n % C];
  }
  out[n] = sum / l;
}
"""


def test_a_kernel_may_end_where_the_length_of_its_output_says(harness: Harness) -> None:
    """An invocation for each element; the last workgroup has some to spare."""
    manifest = {"grid": ["ceil_div(B * T * C, 64)"], "outputs": ["o"]}

    def judged(text: str) -> Report:
        kernel = {"name": "flat", "manifest": manifest, "files": {"flat.wgsl": text}}
        return harness.run("forward:B=2,T=7,H=3,D=5", own=own_kernel.checked(kernel))

    assert judged(FLAT).ok, judged(FLAT).message
    for bound, says in {
        "arrayLength(&out) - 1u": "o: 1 of 210 (0.48 %) elements were never written",
        "max(p.T * p.H * p.D * 2u, 212u)": "o: the kernel wrote behind the output: 2 of 64",
    }.items():
        report = judged(FLAT.replace("arrayLength(&out)", bound))
        assert report.status == "fail"
        assert says in report.message


def test_a_kernel_that_uses_scratch_before_it_is_written_is_caught(harness: Harness) -> None:
    one_pass = [{"entry": "softmax_v", "grid": ["Tq", "H", "B"]}]
    assert harness.run(SMALL, own=own("two_pass", passes=one_pass)).status == "fail"


def test_what_does_not_compile_is_told_by_its_own_file_and_line(
    check: Check, tmp_path: Path
) -> None:
    for suffix in ("wgsl", "json"):
        shutil.copy(EXAMPLES / f"notes_16x16.{suffix}", tmp_path)
    kernel = tmp_path / "notes_16x16.wgsl"
    lines = kernel.read_text().splitlines()
    at = next(n for n, line in enumerate(lines) if "let width = " in line)
    lines[at] = "  let width = params.H * nothing;"
    kernel.write_text("\n".join(lines))
    code, said = check(str(kernel), SMALL)
    assert code == 1
    assert f"notes_16x16.wgsl:{at + 1}:26: unresolved value 'nothing'" in said


def test_a_failure_names_the_mistake_on_the_command_line_and_in_pytest(
    check: Check, tmp_path: Path, fa2_run: Callable[..., Any]
) -> None:
    changed = own("notes_16x16", ("sum * params.scale;", "sum;"))
    for name, text in changed["files"].items():
        (tmp_path / name).write_text(text)
    shutil.copy(EXAMPLES / "notes_16x16.json", tmp_path)
    why = "why: o looks as if the scale of the scores were left out"
    assert why in check(str(tmp_path / "notes_16x16.wgsl"), SMALL)[1]
    with pytest.raises(pytest.fail.Exception, match=why):
        fa2_run(SMALL, own=changed)


def test_a_case_that_is_named_and_not_supported_ends_with_2(check: Check) -> None:
    code, said = check(str(EXAMPLES / "notes_16x16.wgsl"), f"{SMALL},causal=0", SMALL)
    assert code == 2
    assert "does not take this case: causal=0 is not supported" in said


def test_a_manifest_that_only_the_page_sees_through_ends_with_2(
    check: Check, tmp_path: Path
) -> None:
    manifest = tmp_path / "wrong.json"
    manifest.write_text(json.dumps({"grid": ["ceil_div(T, BR)", "B * N"]}))
    code, said = check(str(EXAMPLES / "notes_16x16.wgsl"), "--manifest", str(manifest))
    assert code == 2
    assert 'grid[1]: size "B * N": unknown name "N"; the names are B, H' in said


def test_a_grid_is_all_that_a_kernel_with_our_names_needs(check: Check, tmp_path: Path) -> None:
    kernel = shutil.copy(EXAMPLES / "notes_16x16.wgsl", tmp_path)
    code, said = check(str(kernel), SMALL, "--grid", "ceil_div(T, 16)", "--grid", "B * H")
    assert code == 0, said


def test_outputs_that_are_not_judged_are_named(harness: Harness) -> None:
    report = harness.run(f"{SMALL},attn=1", own=own("two_pass", outputs=["attn"]))
    assert report.ok, report.message
    assert list(report.outputs) == ["attn"]
    assert report.warnings == ("not judged, since the kernel's manifest leaves it out: o, lse",)
    assert report.warnings[0] in report.message


def test_a_kernel_is_timed_by_the_same_clock(harness: Harness) -> None:
    report = harness.bench("forward:T=64,H=2,D=16", own=own("notes_16x16"), samples=30)
    assert report.ok, report.message
    assert report.timing is not None
    assert report.kernel == "notes_16x16"


def test_a_save_runs_the_cases_again_and_shows_both_errors(tmp_path: Path) -> None:
    for suffix in ("wgsl", "json"):
        shutil.copy(EXAMPLES / f"row_per_invocation.{suffix}", tmp_path / f"mine.{suffix}")
    kernel = tmp_path / "mine.wgsl"
    words = [*FA2, "check", str(kernel), SMALL, "--watch"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        killer = threading.Timer(60, process.kill)
        killer.start()
        try:
            lines = _until(process, "ALL PASS")
            kernel.write_text(kernel.read_text().replace("l_i * alpha + p;", "l_i + p;"))
            lines = _until(process, "1 FAILED")
            assert any(line.startswith("mine.wgsl saved") for line in lines)
            shown = next(line for line in lines if "→" in line and SMALL in line)
            assert "o 0." in shown
            assert shown.rstrip().endswith("pass → fail")
            (tmp_path / "mine.json").write_text("{}")
            _until(process, "fa2: mine.json: grid: how many workgroups run is not known")
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 2  # what the last round ended with
        finally:
            killer.cancel()
            process.kill()


def _until(process: subprocess.Popen[str], *words: str) -> list[str]:
    """The lines up to the first one with any of ``words``."""
    assert process.stdout is not None
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line)
        if any(word in line for word in words):
            return lines
    raise AssertionError(f"no {words} in {lines}")


def test_a_kernel_may_do_what_ours_refuse(harness: Harness) -> None:
    """Bias, window and softcap are judged as soon as a manifest says that the kernel takes them."""
    more = "softcap: f32, window_left: i32, window_right: i32, bias_batch: u32, bias_head: u32,"
    scored = """
  var capped = s * shape.scale;
  if (shape.softcap > 0.0) { capped = shape.softcap * tanh(capped / shape.softcap); }
  let bias_at = b * shape.bias_batch + h * shape.bias_head + i * shape.bias_row;
  capped += bias[bias_at + j * shape.bias_key];
  let diagonal = i32(i) + shape.causal_offset;
  let left = shape.window_left >= 0 && i32(j) < diagonal - shape.window_left;
  let right = shape.window_right >= 0 && i32(j) > diagonal + shape.window_right;
  let hidden = left || right || (shape.causal == 1u && i32(j) > diagonal);
"""
    kernel = own(
        "two_pass",
        ("  scale: f32,\n", f"  scale: f32, {more} bias_row: u32, bias_key: u32,\n"),
        (
            "var<storage, read_write> attn: array<f32>;",
            "var<storage, read_write> attn: array<f32>;\n"
            "@group(0) @binding(8) var<storage, read> bias: array<f32>;",
        ),
        ("  let hidden = shape.causal == 1u && i32(j) > i32(i) + shape.causal_offset;\n", scored),
        ("select(s * shape.scale, MASKED, hidden)", "select(capped, MASKED, hidden)"),
        supports={"bias": ["tt", "htt", "bhtt", "b11t"], "window": True, "softcap": True},
    )
    for more in (
        "bias=htt",
        "bias=b11t,causal=0",
        "window=5:0",
        "softcap=3",
        "window=3:4,causal=0",
    ):
        report = harness.run(f"{SMALL},{more}", own=kernel)
        assert report.ok, report.message


def test_values_that_a_kernel_tells_are_heard(harness: Harness) -> None:
    told = ("    m_i = m_new;\n  }\n\n", "    m_i = m_new;\n  }\n  dbg_u(7u, i);\n")
    report = harness.run("forward:T=4,D=4", own=own("notes_16x16", told))
    assert report.ok, report.message
    trace = harness.last_trace()
    assert trace is not None
    assert sorted(value.value for value in trace.values) == list(range(16))
