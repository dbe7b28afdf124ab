"""The page as a person meets it, in Chromium with the production CSP: run, read, stop, go on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import engines
import pytest
from page_tab import SOON_MS, Tab, broken, chromium_browsers

from server.cases import Case
from server.service import Service
from server.settings import Settings
from server.training_spec import TrainingSpec

KERNEL = "fa2_forward.wgsl"


@pytest.fixture(scope="module")
def chromium(pytestconfig: pytest.Config) -> Iterator[Any]:
    """Two browsers: with WebGPU, and as most machines start it."""
    with chromium_browsers(engines.chromium(pytestconfig), True, False) as started:
        yield started


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with Service() as running:
        yield running


@pytest.fixture
def tab(chromium: Any, service: Service, request: pytest.FixtureRequest) -> Iterator[Tab]:
    tab = Tab.of(chromium[0], service, request.node.name.removeprefix("test_"))
    yield tab
    tab.close()


def test_a_url_starts_its_suite_and_names_what_runs(tab: Tab) -> None:
    tab.open("&suite=seed&seed=0x2a&run=1&junk=1", state="finished")
    tab.headline("ALL PASS")
    assert len(tab.lines()) == 12
    assert tab.lines()[0].startswith("✓ok o, lse forward:T=16,H=4,D=8,attn=1,seed=42 0.")
    # Here and below: the verdict may overtake the answer to the request.
    end = f"?suite=seed&seed=0x2a&run=1&page={tab.id}"
    tab.page.wait_for_url(lambda url: url.endswith(end))
    assert tab.complaints == []


def test_a_case_is_typed_run_and_read_by_keyboard_alone(tab: Tab) -> None:
    tab.open()
    tab.run("forward:D=8,H=2,T=24,attn=1,causal=1")
    tab.headline("ALL PASS")
    tab.page.wait_for_url(lambda url: "?case=forward:T=24,H=2,D=8,attn=1&" in url)
    assert tab.page.input_value("#case") == "forward:T=24,H=2,D=8,attn=1"
    tab.page.focus("#lines button[tabindex='0']")
    tab.page.keyboard.press("End")
    tab.page.keyboard.press("Enter")
    assert "attn" in tab.page.inner_text("#detail-title")
    tab.page.locator(".readout", has_text="attn b 0").wait_for(timeout=SOON_MS)
    tab.page.focus(".stage")
    tab.page.keyboard.press("ArrowUp")
    before = tab.page.inner_text(".readout")
    tab.page.keyboard.press("ArrowUp")
    assert tab.page.inner_text(".readout") != before
    assert tab.complaints == []


def test_a_browser_that_keeps_nothing_for_the_page_shows_it_all_the_same(tab: Tab) -> None:
    tab.page.add_init_script(
        "Object.defineProperty(window, 'localStorage', "
        "{ get() { throw new DOMException('refused', 'SecurityError'); } })"
    )
    tab.open()
    assert tab.page.is_checked("#single-keys")
    assert tab.complaints == []


def test_a_refused_request_says_why_and_the_next_one_runs(tab: Tab) -> None:
    tab.open()
    tab.run("forward:T=16,D=8,colour=red")
    notice = tab.page.locator(".notice-stop", has_text="there is no key 'colour'")
    notice.wait_for(timeout=SOON_MS)
    tab.run("forward:T=16,D=8")
    tab.headline("ALL PASS")
    assert notice.count() == 0


def test_stop_ends_a_suite_without_a_verdict_and_leaves_the_page_ready(tab: Tab) -> None:
    tab.open("&suite=full")
    tab.page.locator("#lines tr").first.wait_for()
    lines = len(tab.lines())
    tab.page.click("#run")
    tab.page.wait_for_function(
        "() => document.querySelector('#progress').value >= 2", timeout=SOON_MS
    )
    tab.page.click("#stop")
    tab.wait("finished")
    tab.headline("STOPPED")  # drawn a moment after the state that scripts read
    assert len(tab.lines()) == lines, "nothing may move: a case keeps its lines"
    tab.run("forward:T=8,D=8")
    tab.headline("ALL PASS")


def test_a_wrong_kernel_is_shown_where_it_is_wrong(tab: Tab) -> None:
    tab.open()
    shaders = broken("let kv_head = item.h / params.group;", "let kv_head = 0u;")
    case = "forward:T=24,H=2,D=8,kernel=fa2_forward"
    tab.service.store.submit(case, page=tab.id, shaders=shaders)
    tab.headline("1 FAILED")
    (line,) = tab.lines()
    assert line.startswith(f"✗FAIL o, lse {case} ")
    tab.page.click("#lines button")
    assert "all in head h = 1" in tab.page.inner_text(".message")
    readout = tab.page.locator(".readout", has_text="over the limit")
    readout.wait_for(timeout=SOON_MS)
    assert "h 1," in readout.inner_text()
    assert tab.page.input_value("#heatmap-h") == "1"
    tab.page.select_option("#heatmap-h", "0")
    tab.page.locator(".readout", has_text="h 0,").wait_for(timeout=SOON_MS)
    assert "over the limit" not in tab.page.inner_text(".readout")
    assert tab.complaints == []


def test_a_syntax_error_is_shown_with_its_line_and_the_next_case_passes(tab: Tab) -> None:
    tab.open()
    case = "forward:T=8,D=8,kernel=fa2_forward"
    tab.service.store.submit(case, page=tab.id, shaders=broken("1.0 / l;", "1.0 / ;"))
    tab.headline("1 FAILED")
    tab.page.click("#lines button")
    message = tab.page.inner_text(".message")
    assert f"{KERNEL}:" in message
    assert "let weight = 1.0 / ;" in message
    tab.run("forward:T=8,D=8")
    tab.headline("ALL PASS")


def test_the_case_on_show_is_judged_timed_and_drawn(tab: Tab) -> None:
    tab.open("&case=forward:T=32,H=2,D=16")
    tab.page.click("#speed-start")
    row = tab.page.locator("#speed-lines tr")
    row.wait_for(timeout=SOON_MS)
    assert tab.lines()[0].startswith("✓ok o, lse forward:T=32,H=2,D=16"), "it was judged here"
    text = " ".join(row.inner_text().split())
    assert re.match(r"forward:T=32,H=2,D=16 fa2_\w+ [\d.]+ (µs|ms) .* 0\.\d+ [\d.]+ %$", text)
    assert "at T = 32" in tab.page.get_attribute("#speed-chart svg", "aria-label")
    assert tab.page.locator("#speed-chart circle").count() == 1
    assert "f32 peak" in tab.page.inner_text("#speed-chart")
    assert re.search(r"TFLOP/s, copying [\d.]+ GB/s", tab.page.inner_text("#speed-peaks"))
    tab.page.locator("#speed-start:enabled").wait_for()
    tab.service.benches.submit(Case.parse("forward:T=64,H=2,D=16"), page=tab.id)
    tab.page.locator("#speed-chart circle").nth(1).wait_for(timeout=SOON_MS)
    assert tab.page.locator("#speed-chart path").count() == 1, "one series of two lengths"
    assert tab.complaints == []


def test_a_training_is_drawn_while_it_runs_until_it_is_stopped(tab: Tab) -> None:
    tab.open()
    tab.page.select_option("#train-gate", "overfit")
    assert tab.page.is_disabled("#train-stop")
    tab.page.click("#train-start")
    tab.page.wait_for_function(
        "() => document.querySelectorAll('#train-table tr').length > 2", timeout=SOON_MS
    )
    assert tab.page.get_attribute("main", "data-state") == "running"
    assert tab.page.is_disabled("#train-start")
    assert "loss 5.5" in tab.page.get_attribute("#train-chart svg", "aria-label").lower()
    assert "L" in tab.page.get_attribute("#train-chart .curve-page", "d")
    assert "steps/s" in tab.page.inner_text("#train-figures")
    tab.page.click("#train-stop")
    # The headline is drawn after the state.
    tab.page.locator("#train-headline", has_text="STOPPED").wait_for(timeout=SOON_MS)
    assert tab.page.is_disabled("#train-stop")
    tab.run("forward:T=8,D=8")
    tab.headline("ALL PASS")
    assert tab.complaints == []


def test_a_training_that_somebody_else_asks_for_is_shown_with_its_verdict(tab: Tab) -> None:
    tab.open()
    spec = TrainingSpec.of("tiny", gate="none", attention="baseline", steps=3)
    training = tab.service.trainings.submit(spec, page=tab.id)
    shown = tab.page.locator("#train-headline", has_text="PASS")
    shown.wait_for(timeout=SOON_MS)
    report = training.future.result(20)
    assert tab.page.inner_text("#train-message") == report.message
    tab.page.click("#training summary")
    rows = [row.split() for row in tab.page.locator("#train-table tr").all_inner_texts()]
    assert [row[0] for row in rows] == ["1", "2", "3"]
    assert [row[1] for row in rows] == [f"{loss:.6f}" for loss in report.losses]
    assert "attention baseline" in tab.page.inner_text("#train-figures")
    assert tab.complaints == []


def test_a_training_that_cannot_be_asked_for_says_why(tab: Tab) -> None:
    tab.open()
    tab.page.select_option("#train-preset", "behemoth")
    tab.page.click("#train-start")
    tab.page.locator("#train-headline", has_text="NOT STARTED").wait_for(timeout=SOON_MS)
    assert "FA2_MAX_TWIN_BYTES" in tab.page.inner_text("#train-message")
    tab.page.locator("#train-start:enabled").wait_for()


def test_without_an_adapter_the_page_names_the_step_and_the_flag(
    chromium: Any, service: Service
) -> None:
    tab = Tab.of(chromium[1], service, "without")
    tab.open("&suite=seed&run=1", state="no-webgpu")
    assert tab.page.get_attribute("main", "data-step") == "adapter"
    assert "--enable-unsafe-webgpu" in tab.page.inner_text("#notices")
    assert "secure context\n: reached" in tab.page.inner_text(".steps")
    tab.page.locator("#lines tr").nth(11).wait_for(timeout=SOON_MS)
    assert all(line.startswith("·not run") for line in tab.lines())
    assert tab.page.is_disabled("#run")
    tab.page.close()


def test_a_page_outlives_its_server(chromium: Any) -> None:
    first = Service()
    first.start()
    tab = Tab.of(chromium[0], first, "outlives")
    tab.open("&suite=full")
    tab.page.click("#run")
    tab.wait("running")
    port = int(first.url.rsplit(":", 1)[1])
    first.stop()
    tab.page.wait_for_selector("#connection[data-connection='lost']", timeout=SOON_MS)
    assert tab.page.is_disabled("#run")
    with Service(Settings(host="127.0.0.1", port=port, allow_remote=False, token=None)):
        tab.page.wait_for_selector("#connection[data-connection='connected']", timeout=SOON_MS)
        tab.wait("finished")
        tab.headline("FAILED")
        tab.run("forward:T=8,D=8")
        tab.headline("ALL PASS")
    tab.page.close()


def test_a_lost_device_is_replaced(tab: Tab) -> None:
    tab.open()
    tab.run("forward:T=8,D=8")
    tab.headline("ALL PASS")
    tab.page.context.browser.new_browser_cdp_session().send("Browser.crashGpuProcess")
    for T in (9, 10):  # the loss may still be on its way when the first of them starts
        tab.run(f"forward:T={T},D=8")
        tab.page.locator("#lines tr", has_text=f"T={T}").wait_for(timeout=SOON_MS)
        tab.wait("finished")
    tab.headline("ALL PASS")
