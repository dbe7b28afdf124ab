"""From a run to the history, from there to a zip file, and from the zip to the same run again."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from fa2_process import fa2
from page_tab import SOON_MS, Tab, broken

from server.golden import Check
from server.golden_outcome import Outcome
from server.harness import Harness
from server.history import History
from server.history_writer import HistoryWriter
from server.replay import replay
from server.repro_file import read_repro
from server.service import Service
from server.training_spec import TrainingSpec

CASE = "forward:T=40,H=2,D=8,kernel=fa2_forward"


def kept(tab: Tab, run: str) -> bool:
    path = tab.service.settings.history
    assert path is not None
    return History(path).get(run) is not None


def ran(tab: Tab, case: str = CASE, **options: Any) -> str:
    """The id of a run that this page has done and that the history has."""
    run = tab.service.store.submit(case, page=tab.id, **options)
    run.future.result(SOON_MS / 1000)
    wait_until_kept(tab, run.id)
    return run.id


def wait_until_kept(tab: Tab, run: str) -> None:
    end = time.monotonic() + SOON_MS / 1000
    while not kept(tab, run):
        assert time.monotonic() < end, "the run never came into the history"
        time.sleep(0.01)


def repro_of(tab: Tab, run: str, folder: Path) -> Path:
    """What the page's link to the repro downloads."""
    tab.page.goto(f"{tab.service.url}/history?run={run}")
    with tab.page.expect_download() as started:
        tab.page.click("#report-body a.button:has-text('Repro zip')")
    file = folder / started.value.suggested_filename
    started.value.save_as(file)
    return file


def test_a_run_is_shared_found_in_the_history_and_replayed(
    tab: Tab, harness: Harness, tmp_path: Path
) -> None:
    tab.open(f"&case={CASE}&run=1", state="finished")
    tab.page.click("#detail details.share > summary")
    copy = tab.page.locator("#detail .share-line:has(label:text-is('Command')) button")
    copy.click()  # Chromium without a window grants no clipboard by itself
    tab.page.locator("#detail .share-said", has_text="Command is selected").wait_for()
    tab.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    copy.click()
    tab.page.locator("#detail .share-said", has_text="Command copied.").wait_for()
    assert tab.page.evaluate("() => navigator.clipboard.readText()") == f"fa2 run '{CASE}'"
    fields = tab.page.locator("#detail .share-text")
    texts = [fields.nth(n).input_value() for n in range(fields.count())]
    assert texts == [
        f"{tab.service.url}/webgpu-test?case={CASE}&run=1",
        f"fa2 run '{CASE}'",
        f"pytest --pyargs server.pytest_cases --fa2-case '{CASE}'",
    ]
    tab.page.click("#detail .share-zip a:has-text('In the history')")
    tab.page.wait_for_selector("#report-body .message")
    assert tab.page.get_attribute("#rows a[aria-current]", "href") in tab.page.url
    run = tab.page.get_attribute("#rows a[aria-current]", "data-run")
    assert run is not None
    found = replay(read_repro(repro_of(tab, run, tmp_path)), harness)
    assert found.same_verdict
    assert found.same_inputs
    assert found.same_shader
    assert {one.said() for one in found.outputs} == {"bit-equal"}
    assert found.notes == []
    assert tab.complaints == []


@pytest.mark.slow
def test_a_broken_kernel_replays_as_broken_here_and_on_the_command_line(
    tab: Tab, harness: Harness, tmp_path: Path
) -> None:
    tab.open()
    shaders = broken("let kv_head = item.h / params.group;", "let kv_head = 0u;")
    file = repro_of(tab, ran(tab, shaders=shaders), tmp_path)
    assert file.name.startswith("fa2-fail-")
    recorded = read_repro(file)
    assert recorded.outputs.keys() == {"o", "lse"}
    found = replay(recorded, harness)
    assert (found.report.status, found.same_verdict) == ("fail", True)
    assert {one.said() for one in found.outputs} == {"bit-equal"}
    assert found.notes == ["in place of the installed texts: fa2_forward.wgsl"]
    assert harness.run(CASE).status == "pass"  # the replaced text was for that run alone
    done = fa2("replay", str(file), "--no-history")
    assert done.returncode == 1, done.stderr
    assert done.stdout.splitlines()[-1] == "FAIL: as recorded"


def test_runs_are_filtered_plotted_and_opened_by_keyboard(tab: Tab) -> None:
    tab.open()
    shaders = broken("let kv_head = item.h / params.group;", "let kv_head = 0u;")
    ran(tab, "forward:T=4,D=4")
    right, wrong = ran(tab, "forward:T=8,D=4"), ran(tab, shaders=shaders)
    tab.page.goto(f"{tab.service.url}/history")
    tab.page.wait_for_selector("main[data-state='ready']")
    tab.page.focus("#plots figure:first-child .chart")
    tab.page.keyboard.press("End")
    assert "fail" in tab.page.inner_text("#plots figure:first-child .history-readout")
    tab.page.keyboard.press("Enter")
    tab.page.wait_for_url(f"**/history?run={wrong}")
    tab.page.wait_for_selector("#report-body .message[data-status='fail']")
    assert tab.page.evaluate("document.activeElement.id") == "report"
    tab.page.select_option("#status", "pass")
    tab.page.fill("#case", "T=8,D=4")
    tab.page.press("#case", "Enter")
    tab.page.wait_for_function("() => document.querySelectorAll('#rows tr').length === 1")
    assert tab.page.get_attribute("#rows a", "data-run") == right
    tab.page.go_back()
    tab.page.wait_for_function("() => document.querySelectorAll('#rows tr').length > 1")
    tab.page.goto(f"{tab.service.url}/history?case=nothing-is-called-this")
    empty = tab.page.locator("#empty", has_text="No run is like that")
    empty.wait_for()
    assert tab.complaints == []


def test_golden_checks_and_trainings_are_listed_filtered_and_told(tab: Tab) -> None:
    tab.open()
    run = ran(tab, "forward:T=6,D=4")
    spec = TrainingSpec.of("tiny", gate="none", steps=2)
    training = tab.service.trainings.submit(spec, page=tab.id)
    assert training.future.result(SOON_MS / 1000).status == "pass"
    path = tab.service.settings.history
    assert path is not None
    golden = Outcome(
        "torch/it", "fail", message="dq: 2 off", checks={"dq": Check(31.5, "2 off", 2)}
    )
    writer = HistoryWriter(path, origin="golden", static=None)
    writer.observe_golden(golden, "auto", {})
    writer.close(10)
    wait_until_kept(tab, training.id)
    tab.page.goto(f"{tab.service.url}/history")
    tab.page.locator(f"#rows a[data-run='{run}']").wait_for()
    tab.page.select_option("#kind", "train")
    tab.page.wait_for_function("() => document.querySelectorAll('#rows tr').length === 1")
    assert "2 steps, loss " in tab.page.inner_text("#rows tr")
    tab.page.click("#rows a")
    tab.page.locator("#report-body .train-chart svg").wait_for()
    facts = tab.page.inner_text("#report-body .facts")
    assert "fa2 train --gate none --preset tiny --steps 2 --attention fa2" in facts
    assert "2 of 2" in facts
    assert tab.page.locator("#report-body a.button").count() == 0  # nothing that cannot be repeated
    tab.page.select_option("#kind", "golden")
    tab.page.locator("#rows tr", has_text="golden:torch/it").wait_for()
    tab.page.click("#rows a")
    tab.page.locator("#report-body .message", has_text="dq: 2 off").wait_for()
    assert tab.page.inner_text("#report-body tbody tr").split() == ["dq", "32", "2"]
    assert tab.page.url.split("?")[1].startswith("kind=golden&run=")
    assert tab.complaints == []


def test_a_forgotten_run_asks_once_and_is_gone(tab: Tab) -> None:
    tab.open()
    run = ran(tab, "forward:T=8,D=4")
    tab.page.goto(f"{tab.service.url}/history?run={run}")
    button = tab.page.locator("#report-body button.push")
    button.click()
    assert kept(tab, run)
    button.click()
    tab.page.locator("#report-body .empty").wait_for()
    assert not kept(tab, run)


def test_axe_finds_nothing_on_the_history_with_and_without_runs(tab: Tab) -> None:
    from test_axe import violations  # skips where axe-core is not installed

    tab.open()
    run = ran(tab, shaders=broken("let kv_head = item.h / params.group;", "let kv_head = 0u;"))
    tab.page.goto(f"{tab.service.url}/history?run={run}")
    tab.page.locator("#report-body .message").wait_for()
    tab.page.click("#report-body details.share > summary")
    assert violations(tab) == ""
    tab.page.goto(f"{tab.service.url}/history?kernel=none")
    tab.page.locator("#empty").wait_for()
    assert violations(tab) == ""


def test_a_server_without_a_history_offers_no_repro(chromium: Any) -> None:
    with Service() as service:
        tab = Tab.of(chromium, service, "without_a_history")
        tab.open(f"&case={CASE}&run=1", state="finished")
        tab.page.click("#detail details.share > summary")
        tab.page.locator("#detail .share-zip", has_text="keeps no history").wait_for()
        tab.page.goto(f"{service.url}/history")
        tab.page.locator("#empty", has_text="This server keeps no history").wait_for()
        tab.close()
        assert tab.complaints == []
