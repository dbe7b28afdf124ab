"""What a kernel, a driver or a browser can do wrong, and that the next case passes all the same."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from server.errors import CaseError, NoAdapter
from server.harness import Harness
from server.launch_playwright import PlaywrightBrowser
from server.paths import STATIC

CASE = "forward:T=40,H=2,D=8"
KERNEL = "fa2_forward.wgsl"
LONG_S = 60.0  # for a kernel that runs for ever: only its own deadline may end it


def shipped() -> str:
    return (STATIC / "shaders" / KERNEL).read_text(encoding="utf-8")


def broken(old: str, new: str) -> dict[str, str]:
    text = shipped()
    assert text.count(old) == 1, f"the shipped text no longer holds {old!r} once"
    return {KERNEL: text.replace(old, new)}


# Reads memory in its condition and writes some in its body: no compiler may drop the loop.
ENDLESS = broken(
    "let item = item_of(",
    "var spin = 0u;\n"
    "  while (K[spin & 1u] < 1.0e30) { spin += 1u; LSE[0] = f32(spin); }\n"
    "  let item = item_of(",
)


# The check fills every output with NaN or large numbers beforehand; what is timed finds small ones
# there, and loops.
# One workgroup alone, which reads before it writes: the check passes.
HANGS_WHEN_TIMED = broken(
    "let item = item_of(",
    "while ((bitcast<u32>(LSE[0]) & 0x7fffffffu) < 0x70000000u) { LSE[0] = K[0]; }\n"
    "  let item = item_of(",
)
ONE_WORKGROUP = "forward:T=8,D=8,kernel=fa2_forward"


@pytest.fixture
def own() -> Iterator[Harness]:
    """A browser of this test's own, which it may wreck."""
    with Harness() as harness:
        yield harness


@contextmanager
def while_it_runs(harness: Harness, act: Callable[[], object]) -> Iterator[None]:
    """``act`` is called once the page has had the next run for a while."""

    def wait() -> None:
        deadline = time.monotonic() + LONG_S
        while time.monotonic() < deadline:
            run = harness.current
            # The page reports a few times a second at most, so one phase may hide another.
            if run is not None and (run.progress or {}).get("phase") in ("run", "readback"):
                time.sleep(0.3)  # the kernel has been submitted by then
                act()
                return
            time.sleep(0.02)

    thread = threading.Thread(target=wait)
    thread.start()
    yield
    thread.join()


def crash_gpu(harness: Harness) -> None:
    assert isinstance(harness.launched, PlaywrightBrowser)
    harness.launched.cdp("Browser.crashGpuProcess")


def kill(harness: Harness) -> None:
    assert harness.launched is not None
    os.kill(harness.launched.pid, signal.SIGKILL)


def passes(harness: Harness) -> None:
    report = harness.run(CASE)
    assert report.status == "pass", report.message


def test_a_syntax_error_is_placed_by_file_line_and_column(harness: Harness) -> None:
    lines = shipped().splitlines()
    number = next(n for n, line in enumerate(lines) if "S = S * params.scale;" in line)
    lines[number] = "    S = S * params.scalee;"
    report = harness.run(CASE, kernel="fa2_forward", shaders={KERNEL: "\n".join(lines)})
    assert (report.status, report.error.kind) == ("error", "compile")
    assert report.error.file == KERNEL
    assert report.error.line == number + 1
    assert lines[number][report.error.column - 1 :].startswith(("scalee", "params.scalee"))
    assert f"{KERNEL}:{number + 1}:" in report.message
    passes(harness)


def test_a_syntax_error_in_a_shared_file_is_placed_in_that_file(harness: Harness) -> None:
    name = "common/masking.wgsl"
    text = (STATIC / "shaders" / name).read_text(encoding="utf-8")
    report = harness.run(CASE, shaders={name: text + "\nfn oops( {}\n"})
    assert report.error is not None
    assert (report.error.kind, report.error.file) == ("compile", name)
    assert report.error.line == len(text.splitlines()) + 2


def test_a_kernel_that_never_runs_is_caught(harness: Harness) -> None:
    never = broken("if (item.exists)", "if (item.exists && params.Tq == 0u)")
    report = harness.run(CASE, kernel="fa2_forward", shaders=never)
    assert report.status == "fail"
    assert "written" in report.message


def test_a_kernel_that_loops_for_ever_ends_in_a_timeout_and_the_next_case_passes(
    own: Harness,
) -> None:
    began = time.monotonic()
    report = own.run(CASE, kernel="fa2_forward", shaders=ENDLESS, timeout_s=3)
    assert (report.status, report.error.kind) == ("error", "timeout")
    assert time.monotonic() - began < 60
    passes(own)


def test_a_kernel_that_hangs_when_it_is_timed_has_no_number_and_the_next_case_passes(
    own: Harness,
) -> None:
    began = time.monotonic()
    report = own.bench(ONE_WORKGROUP, shaders=HANGS_WHEN_TIMED, timeout_s=4)
    assert report.report is not None
    assert report.report.status == "pass", "it is right, and reaches the clock"
    assert report.error is not None, report.message
    assert (report.status, report.timing) == ("error", None)
    if report.error.kind == "timeout":
        assert "running the kernel" in report.message
    else:
        assert report.error.kind == "device-lost"
    assert report.to_dict()["median_ns"] is None
    assert time.monotonic() - began < 60
    passes(own)


def test_a_crash_of_the_gpu_process_ends_in_an_error_and_the_next_case_passes(
    own: Harness,
) -> None:
    first = own.launched
    for crash in range(3):  # a browser that has lost its GPU often offers no adapter any more
        with while_it_runs(own, lambda: crash_gpu(own)):
            report = own.run(CASE, kernel="fa2_forward", shaders=ENDLESS, timeout_s=LONG_S)
        assert (report.status, report.error.kind) == ("error", "device-lost"), report.message
        passes(own)
        if crash == 0:
            assert own.launched is first, "the page should have recovered by itself"


@pytest.mark.slow
def test_a_killed_browser_ends_in_an_error_and_the_next_case_passes(own: Harness) -> None:
    with while_it_runs(own, lambda: kill(own)):
        report = own.run(CASE, kernel="fa2_forward", shaders=ENDLESS, timeout_s=LONG_S)
    assert (report.status, report.error.kind) == ("error", "device-lost"), report.message
    passes(own)


@pytest.mark.slow
def test_a_browser_killed_between_two_runs_is_replaced(own: Harness) -> None:
    passes(own)
    kill(own)
    passes(own)


def test_a_browser_without_webgpu_has_no_adapter() -> None:
    with pytest.raises(NoAdapter, match="--enable-unsafe-webgpu") as caught, Harness(webgpu=False):
        pass
    assert caught.value.step == "adapter"


def test_an_adapter_of_the_wrong_kind_is_refused(harness: Harness) -> None:
    software = harness.environment["adapter"]["fallback"]
    wrong, right = ("hardware", "software") if software else ("software", "hardware")
    with pytest.raises(NoAdapter, match=f"--adapter {wrong} was asked for"), Harness(adapter=wrong):
        pass
    with Harness(adapter=right) as other:
        passes(other)


def test_shaders_outside_the_shader_folder_are_refused(harness: Harness) -> None:
    for name in ("../js/page.js", "no-such.wgsl", "/etc/passwd"):
        with pytest.raises(CaseError, match="which is no shader file"):
            harness.run(CASE, shaders={name: "text"})
