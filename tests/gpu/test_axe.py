"""axe-core finds nothing on the page: in each state, light and dark, on a phone and on a desk."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from page_tab import Tab, broken

from server.service import Service
from server.settings import Settings

AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
SIZES = {"phone": {"width": 390, "height": 844}, "desk": {"width": 1280, "height": 900}}
SCHEMES = ("light", "dark")

if not AXE.is_file() and not os.environ.get("CI"):
    pytest.skip("axe-core is not installed: npm ci", allow_module_level=True)


@pytest.fixture(scope="module")
def tab(chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    """One tab for all: its states follow each other as they do for a person."""
    place = tmp_path_factory.mktemp("axe") / "history.sqlite"
    settings = Settings(host="127.0.0.1", port=0, allow_remote=False, token=None, history=place)
    with Service(settings) as service:
        tab = Tab.of(chromium, service, "axe")
        yield tab
        tab.close()


def violations(tab: Tab) -> str:
    """What axe-core objects to, in every size and scheme. The script is evaluated by way of the
    debugger, so the page's CSP is as in production."""
    found = []
    if not tab.page.evaluate("() => 'axe' in window"):
        tab.page.evaluate(AXE.read_text(encoding="utf-8"))
    for size, viewport in SIZES.items():
        tab.page.set_viewport_size(viewport)
        for scheme in SCHEMES:
            tab.page.emulate_media(color_scheme=scheme)
            said = tab.page.evaluate("""async () => {
              const { violations } = await axe.run(document, { resultTypes: ["violations"] });
              return violations.flatMap(({ id, help, nodes }) =>
                nodes.map(({ target, any }) => `${id}: ${help}: ${target} ${any[0]?.message}`));
            }""")
            found += [f"{size}, {scheme}: {line}" for line in said]
    return "\n".join(sorted(set(found)))


def test_a_page_that_waits(tab: Tab) -> None:
    tab.open("&suite=seed")
    tab.page.locator("#lines tr").nth(11).wait_for()
    assert violations(tab) == ""


def test_a_finished_suite_that_passed(tab: Tab) -> None:
    tab.page.keyboard.press("Control+Enter")
    tab.headline("ALL PASS")
    tab.page.locator(".readout", has_text="allowed").wait_for()
    assert violations(tab) == ""


def test_a_failure_with_its_detail_open(tab: Tab) -> None:
    wrong = broken("let kv_head = item.h / params.group;", "let kv_head = 0u;")
    case = "forward:T=24,H=2,D=8,kernel=fa2_forward"
    tab.service.store.submit(case, page=tab.id, shaders=wrong)
    tab.headline("1 FAILED")
    tab.page.keyboard.press("n")
    tab.page.locator(".readout", has_text="over the limit").wait_for()
    assert violations(tab) == ""


def test_everything_that_is_folded_unfolded(tab: Tab) -> None:
    tab.page.evaluate(
        "() => { for (const one of document.querySelectorAll('details')) one.open = true; }"
    )
    tab.page.get_by_role("link", name="All arrays").wait_for()
    assert violations(tab) == ""


def test_the_editor_open_with_an_error_in_it(tab: Tab) -> None:
    tab.page.click("#sections a[href='#kernel']")
    tab.page.get_by_role("textbox", name="WGSL of fa2_forward.wgsl").click()
    tab.page.keyboard.press("Control+Home")
    tab.page.keyboard.insert_text("fn (\n")
    tab.page.locator("#kernel-messages li").first.wait_for()
    assert violations(tab) == ""
    tab.page.get_by_role("region", name="Kernel").get_by_role("button", name="Revert").first.click()
    tab.page.locator("#kernel-says", has_text="compile on this device").wait_for()


def test_a_trace_and_a_comparison(tab: Tab) -> None:
    tab.page.click("#trace-start")
    tab.page.locator("#trace-step table").first.wait_for()
    tab.page.get_by_label("time them by turns").uncheck()
    tab.page.click("#compare-start")
    tab.page.locator("#compare-rows tr").nth(1).wait_for()
    tab.page.locator("#compare-start:enabled").wait_for()
    assert violations(tab) == ""


@pytest.mark.slow
def test_dialogs_and_help(tab: Tab) -> None:
    tab.open("&suite=seed")
    tab.page.click(".case-help")
    assert violations(tab) == ""
    tab.page.keyboard.press("Escape")
    tab.page.keyboard.press("?")
    tab.page.locator("#keys").wait_for()
    assert violations(tab) == ""
    tab.page.keyboard.press("Escape")


@pytest.mark.slow
def test_a_request_that_is_refused_and_a_filter_that_nothing_fits(tab: Tab) -> None:
    tab.open("&suite=seed")
    tab.run("forward:T=8,D=8,colour=red")
    tab.page.locator(".notice-stop").wait_for()
    tab.page.fill("#filter", "nothing like it")
    assert violations(tab) == ""
    tab.page.fill("#filter", "")


def test_the_history_with_a_report(tab: Tab) -> None:
    tab.page.goto(f"{tab.service.url}/history")
    tab.page.locator("#rows tr").nth(5).wait_for()
    assert violations(tab) == ""
    tab.page.locator("#rows a").first.click()
    tab.page.locator("#report .message").wait_for()
    assert violations(tab) == ""
