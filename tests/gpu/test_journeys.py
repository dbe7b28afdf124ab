"""Ten journeys over the page, as a person goes them: by what is written on it, with the production
CSP, without a word on the console and without a request to anybody else.
"""

from __future__ import annotations

import io
import shlex
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fa2_process import fa2
from page_tab import Tab, broken

CASE = "forward:T=24,H=2,D=8,kernel=fa2_forward"
RIGHT = "let kv_head = item.h / params.group;"
WRONG = "let kv_head = 0u;"


def saved(tab: Tab, link: Any) -> Path:
    """The file that a link leads to, as the browser saves it."""
    with tab.page.expect_download() as started:
        link.click()
    return Path(started.value.path())


def failed(tab: Tab) -> str:
    """A run of ``CASE`` with a kernel that is wrong in head 1, on show; its id."""
    tab.open()
    shaders = broken(RIGHT, WRONG)
    run = tab.service.store.submit(CASE, page=tab.id, shaders=shaders)
    tab.headline("1 FAILED")
    tab.page.keyboard.press("n")
    tab.page.get_by_role("heading", name="FAIL o, lse").wait_for()
    return run.id


def type_into_editor(tab: Tab, old: str, new: str) -> None:
    """Replaces a line of the kernel on show by typing: found by the editor's own search."""
    sections = tab.page.get_by_role("navigation", name="Sections")
    sections.get_by_role("link", name="Kernel").click()
    tab.page.get_by_role("textbox", name="WGSL of fa2_forward.wgsl").click()
    tab.page.keyboard.press("Control+f")
    tab.page.get_by_role("textbox", name="Find").wait_for()
    tab.page.keyboard.type(old)
    tab.page.keyboard.press("Enter")
    tab.page.keyboard.press("Escape")
    tab.page.keyboard.insert_text(new)


def test_journey_1_open(tab: Tab) -> None:
    tab.open()
    page = tab.page
    page.get_by_role("row").nth(12).wait_for()
    assert page.get_by_label("Suite").input_value() == "seed"
    assert len(tab.lines()) == 12
    assert all(line.startswith("·not run ") for line in tab.lines())
    page.get_by_role("status").get_by_text("connected").wait_for()
    environment = page.get_by_role("region", name="Environment")
    assert "adapter\n: reached" in environment.inner_text()
    page.get_by_role("navigation", name="Sections").get_by_role("link", name="Environment").click()
    page.wait_for_url("**#environment")


def test_journey_2_run(tab: Tab) -> None:
    tab.open()
    page = tab.page
    form = page.get_by_role("form", name="What to run")
    form.get_by_label("Case", exact=True).fill("backward:D=8,T=20,H=2,Hkv=1")
    form.get_by_role("button", name="Run").click()
    tab.headline("ALL PASS")
    outputs = [line.split(" backward:")[0].split(maxsplit=1)[1] for line in tab.lines()]
    assert outputs == ["o, lse", "dq", "dk", "dv"]
    # The verdict may overtake the answer to the request.
    page.wait_for_url(lambda url: "case=backward:T=20,H=2,Hkv=1,D=8&" in url)
    page.get_by_role("heading", name="ok").wait_for()
    assert "of what is allowed" in page.get_by_role("region", name="ok").inner_text()


def test_journey_3_filter(tab: Tab) -> None:
    tab.open("&suite=smoke")
    page = tab.page
    page.locator("#lines tr").nth(11).wait_for()  # "idle" comes before the lists
    page.keyboard.press("/")
    page.keyboard.type("backward:*Hkv* dk")
    shown = tab.lines()
    assert shown
    assert all(" dk backward:" in line and "Hkv=" in line for line in shown)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    name = shown[0].split(" ", 3)[-1].rsplit(" ", 1)[0]
    page.get_by_role("heading", name=f"not run dk {name}").wait_for()
    page.keyboard.press("/")
    page.keyboard.press("Escape")
    assert len(tab.lines()) > len(shown)


def test_journey_4_click_a_cell(tab: Tab) -> None:
    failed(tab)
    page = tab.page
    page.get_by_text("o and lse are wrong in head h = 1").wait_for()
    stage = page.get_by_role("application", name="o, batch 0, head 1")
    page.locator(".readout", has_text="h 1").wait_for()
    before = page.inner_text(".readout")
    canvas = stage.locator("canvas")
    box = canvas.bounding_box()
    canvas.click(position={"x": box["width"] * 0.9, "y": box["height"] * 0.9})
    page.wait_for_function(
        "(before) => document.querySelector('.readout').innerText !== before", arg=before
    )
    said = page.inner_text(".readout")
    for word in ("o b 0, h 1, query 2", "channel 7", "actual", "expected", "allowed", "ULP"):
        assert word in said
    page.get_by_role("button", name="b0 h0").click()
    page.get_by_role("application", name="o, batch 0, head 0").wait_for()
    page.locator(".readout", has_text="h 0,").wait_for()
    assert "over the limit" not in page.inner_text(".readout")


def test_journey_5_edit(tab: Tab) -> None:
    tab.open(f"&case={CASE}&run=1", state="finished")
    type_into_editor(tab, RIGHT, f"// looked at\n  {RIGHT}")
    tab.page.get_by_role("region", name="Kernel").get_by_text("✎ edited", exact=True).wait_for()
    tab.page.keyboard.press("Control+Enter")
    tab.headline("ALL PASS")
    change = tab.page.get_by_role("region", name="Before and now")
    change.wait_for()
    assert "same" in change.inner_text()
    tab.page.get_by_text("(fa2_forward.wgsl edited)").wait_for()


def test_journey_6_fix(tab: Tab) -> None:
    tab.open(f"&case={CASE}&run=1", state="finished")
    tab.headline("ALL PASS")
    type_into_editor(tab, RIGHT, WRONG)
    tab.page.keyboard.press("Control+Enter")
    tab.headline("1 FAILED")
    tab.page.get_by_text("o and lse are wrong in head h = 1").wait_for()
    type_into_editor(tab, WRONG, RIGHT)
    tab.page.keyboard.press("Control+Enter")
    tab.headline("ALL PASS")
    tab.page.get_by_text("o and lse are wrong").wait_for(state="detached")


def test_journey_7_compare(tab: Tab) -> None:
    tab.open("&case=forward:T=24,H=2,D=8")
    page = tab.page
    region = page.get_by_role("region", name="Compare")
    region.get_by_label("A", exact=True).select_option("baseline")
    region.get_by_label("B", exact=True).select_option("fa2_forward")
    region.get_by_label("time them by turns").uncheck()
    region.get_by_role("button", name="Compare").click()
    row = region.get_by_role("row", name="lse")
    row.wait_for()
    assert len(row.get_by_role("cell").all_inner_texts()) == 7
    page.locator("#compare-says", has_text="forward:T=24,H=2,D=8: both are right.").wait_for()


def test_journey_8_download(tab: Tab) -> None:
    run = failed(tab)
    page = tab.page
    page.get_by_text("Download the arrays").click()
    one = np.load(saved(tab, page.get_by_role("link", name="actual").first))
    assert one.shape == (1, 24, 2, 8)
    with np.load(saved(tab, page.get_by_role("link", name="All arrays"))) as every:
        assert {"q", "k", "v", "o", "o.expected", "lse", "lse.allowed"} <= set(every.files)
        assert np.array_equal(every["o"], one)
        beyond = np.abs(every["o"] - every["o.expected"]) > every["o.allowed"]
    report = tab.service.store.get(run).report
    assert report is not None
    assert int(beyond.sum()) == report.outputs["o"].bad
    assert beyond[:, :, 1].any()
    assert not beyond[:, :, 0].any(), "head 0 is right"


def test_journey_9_share(tab: Tab) -> None:
    case = "forward:T=24,H=2,D=8,causal=0,seed=5"
    tab.open(f"&case={case}&run=1", state="finished")
    page = tab.page
    page.get_by_text("Share", exact=True).click()
    url, command, test = (
        page.get_by_label(name, exact=True).input_value() for name in ("URL", "Command", "pytest")
    )
    assert shlex.split(command) == ["fa2", "run", case]
    assert case in shlex.split(test)
    tab.headline("ALL PASS")
    verdict = page.inner_text("#headline"), tab.lines()
    page.goto(url)
    tab.wait("finished")
    tab.headline("ALL PASS")
    assert (page.inner_text("#headline"), tab.lines()) == verdict


@pytest.mark.usefixtures("_no_history")
def test_journey_10_replay(tab: Tab, tmp_path: Path) -> None:
    failed(tab)
    tab.page.get_by_text("Share", exact=True).click()
    packed = tmp_path / "repro.zip"
    packed.write_bytes(saved(tab, tab.page.get_by_role("link", name="Repro zip")).read_bytes())
    with zipfile.ZipFile(io.BytesIO(packed.read_bytes())) as content:
        assert any(name.endswith("fa2_forward.wgsl") for name in content.namelist())
    ended = fa2("replay", str(packed))
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert CASE in ended.stdout
    assert "head h = 1" in ended.stdout


@pytest.fixture
def _no_history(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FA2_HISTORY", "0")
