"""A kernel of one's own on the page, with the production CSP: given, understood, edited, judged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from page_tab import SOON_MS, Tab

from server.paths import STATIC
from server.service import Service

EXAMPLES = STATIC.parent / "examples"
CASE = "forward:T=20,H=2,D=8"


@pytest.fixture
def tab(chromium: Any, service: Service, request: pytest.FixtureRequest) -> Iterator[Tab]:
    tab = Tab.of(chromium, service, request.node.name.removeprefix("test_"))
    tab.open("", state="idle")
    yield tab
    tab.close()
    assert tab.complaints == []


def give(tab: Tab, name: str, *suffixes: str) -> None:
    paths = [str(EXAMPLES / f"{name}.{suffix}") for suffix in suffixes]
    tab.page.set_input_files("#own-files", paths)


def give_wrong(tab: Tab, folder: Path) -> None:
    """A kernel with the name "wrong", which is."""
    text = (EXAMPLES / "row_per_invocation.wgsl").read_text()
    assert "l_i * alpha + p;" in text
    (folder / "wrong.wgsl").write_text(text.replace("l_i * alpha + p;", "l_i + p;"))
    (folder / "wrong.json").write_text((EXAMPLES / "row_per_invocation.json").read_text())
    tab.page.set_input_files("#own-files", [str(path) for path in sorted(folder.iterdir())])
    says(tab, "wrong is understood and compiles")


def says(tab: Tab, text: str) -> str:
    shown = tab.page.locator("#own-says", has_text=text)
    shown.wait_for(timeout=SOON_MS)
    return str(shown.inner_text())


def rows(tab: Tab) -> dict[str, tuple[str, str]]:
    cells = tab.page.locator("#own-rows tr").evaluate_all(
        "rows => rows.map((row) => [...row.cells].map((cell) => cell.textContent))"
    )
    return {text: (meaning, said) for text, meaning, said in cells}


def test_a_kernel_is_understood_run_and_judged(tab: Tab) -> None:
    tab.page.fill("#own-case", CASE)
    give(tab, "notes_16x16", "wgsl", "json")
    says(tab, "notes_16x16 is understood and compiles")
    shown = rows(tab)
    assert shown["fn attention"][0].endswith("2 × 2 × 1 workgroups")
    assert shown["@group(0) @binding(4) ctx: array<f32>"] == ("o, written", "the text")
    assert shown["params.T: u32"] == ("T = 20", "the text")
    tab.page.click("#own-run")
    tab.headline("ALL PASS")
    assert CASE in tab.page.inner_text("#lines")


def test_what_is_missing_in_a_manifest_is_said_before_anything_runs(tab: Tab) -> None:
    give(tab, "row_per_invocation", "wgsl")
    says(tab, "grid: how many workgroups of main run is not known")
    tab.page.locator("#own-drop").focus()
    tab.page.evaluate(
        """text => {
          const clipboardData = new DataTransfer();
          clipboardData.setData("text/plain", text);
          const event = new ClipboardEvent("paste", { clipboardData, bubbles: true });
          document.querySelector("#own-drop").dispatchEvent(event);
        }""",
        '{"grid": ["ceil_div(Tq, ROWS)", "H", "B"]}',
    )
    says(tab, "bindings.result: the name says neither a tensor nor a scratch buffer")
    assert rows(tab) == {}
    give(tab, "row_per_invocation", "json")
    says(tab, "is understood and compiles")


def test_the_kernel_given_last_is_the_one_that_is_judged(tab: Tab, tmp_path: Path) -> None:
    tab.page.fill("#own-case", CASE)
    give(tab, "notes_16x16", "wgsl", "json")
    give_wrong(tab, tmp_path)
    line = tab.page.locator("#own-kernel")
    assert line.inner_text() == (
        "Kernel: wrong.wgsl, manifest: wrong.json. "
        "Also there, not run: notes_16x16.wgsl, notes_16x16.json."
    )
    tab.page.click("#own-run")
    tab.headline("1 FAIL")
    tab.page.click("text=Make notes_16x16.wgsl the kernel")
    says(tab, "notes_16x16 is understood and compiles")
    assert line.inner_text().startswith("Kernel: notes_16x16.wgsl, manifest: notes_16x16.json.")
    assert tab.page.evaluate("document.activeElement.textContent") == "Edit notes_16x16.wgsl"


def test_an_edit_is_checked_and_run_from_the_editor(tab: Tab) -> None:
    tab.page.fill("#own-case", CASE)
    give(tab, "row_per_invocation", "wgsl", "json")
    says(tab, "is understood and compiles")
    tab.page.click("text=Edit row_per_invocation.wgsl")
    shown = "[aria-label^='WGSL of own/row_per_invocation.wgsl']"  # else empty and read-only
    editor = tab.page.locator(f"#kernel-editor .cm-content{shown}")
    editor.wait_for(timeout=SOON_MS)
    text = (EXAMPLES / "row_per_invocation.wgsl").read_text()
    line = text[: text.index("l_i * alpha + p;")].count("\n") + 1

    def replace(changed: str) -> None:
        editor.click()
        tab.page.keyboard.press("Control+a")
        tab.page.keyboard.insert_text(changed)

    replace(text.replace("l_i * alpha + p;", "l_i * alfa + p;"))
    says(tab, f"row_per_invocation.wgsl:{line}:17: unresolved value 'alfa'")
    tab.page.locator("#kernel-messages", has_text="alfa").wait_for()
    replace(text.replace("l_i * alpha + p;", "l_i + p;"))
    says(tab, "is understood and compiles")
    tab.page.keyboard.press("Control+Enter")
    tab.headline("1 FAIL")


def test_a_file_that_is_removed_leaves_the_editor(tab: Tab) -> None:
    tab.page.fill("#case", "forward:T=0")  # refused: no kernel of ours takes the place
    tab.page.press("#case", "Tab")
    give(tab, "row_per_invocation", "wgsl", "json")
    tab.page.click("text=Edit row_per_invocation.wgsl")
    editor = tab.page.locator("#kernel-editor .cm-content")
    editor.get_by_text("fn main").wait_for(timeout=SOON_MS)
    tab.page.click("text=Remove row_per_invocation.wgsl")
    assert tab.page.evaluate("document.activeElement.id") == "own-pick"
    says(tab, "No kernel is loaded.")
    tab.page.locator("#kernel-editor [aria-label='No file is open']").wait_for()
    editor.click()
    tab.page.keyboard.type("x")
    assert editor.inner_text().strip() == ""
    tab.complaints[:] = [said for said in tab.complaints if "422" not in said]


def test_a_failed_kernel_is_timed_as_itself_and_a_trace_of_ours_says_that_it_is(
    tab: Tab, tmp_path: Path
) -> None:
    tab.page.fill("#own-case", CASE)
    give_wrong(tab, tmp_path)
    tab.page.click("#own-run")
    tab.headline("1 FAIL")
    tab.page.locator("#trace-own", has_text="wrong tells no tiles").wait_for(timeout=SOON_MS)
    assert tab.page.inner_text("#speed-case + span") == ", your kernel wrong"
    tab.page.click("#speed-start")
    timed = tab.page.locator("#speed-lines .speed-untimed")
    timed.wait_for(timeout=SOON_MS)
    assert timed.inner_text().startswith("wrong: o: "), timed.inner_text()
    tab.page.click("#trace-form >> text=Trace ours instead")
    of = tab.page.locator("#trace-of", has_text="not of wrong.")
    of.wait_for(timeout=SOON_MS)
    assert of.inner_text().startswith("The trace below is of our fa2_forward")
