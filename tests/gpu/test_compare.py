"""Two kernels on one case: on the page, and from the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from fa2_process import fa2
from page_tab import Tab, broken

from server.harness import Harness

CASE = "forward:T=24,H=2,D=8"
WRONG = broken("let kv_head = item.h / params.group;", "let kv_head = 0u;")


def compare(tab: Tab) -> str:
    """Presses the button; the sentence once it is over. An earlier one is wiped out first; that
    something runs may be seen for too short a time to wait for it."""
    says = tab.page.locator("#compare-says")
    says.evaluate("(line) => { line.textContent = ''; }")
    tab.page.locator("#compare-start:enabled").click()
    tab.page.locator("#compare-says", has_text=re.compile(r"^(?!Running: ).")).wait_for()
    return str(says.inner_text())


def rows(tab: Tab) -> dict[str, list[str]]:
    texts = tab.page.locator("#compare-rows tr").all()
    cells = [row.locator("th, td").all_inner_texts() for row in texts]
    return {name: rest for name, *rest in cells}


def test_two_shipped_kernels_are_judged_and_timed_side_by_side(tab: Tab) -> None:
    tab.open(f"&case={CASE}")
    assert tab.page.locator("#compare-a option:checked").inner_text().startswith("auto")
    tab.page.select_option("#compare-a", "kernel:fa2_forward")
    said = compare(tab)
    assert said.startswith(f"{CASE}: A takes ")
    assert "times as long as B" in said
    found = rows(tab)
    assert list(found) == ["o", "lse", "time"]
    assert 0 < float(found["o"][0]) < 1
    assert found["o"][3] == "0, 0"
    assert found["o"][6].endswith("of 384")
    assert all(text.endswith("s") for text in found["time"][:2])
    assert tab.page.locator("#compare-sides li[data-status=pass]").count() == 2
    chart = tab.page.locator("#compare-chart svg").get_attribute("aria-label")
    assert chart.startswith("Errors of A and B: o ")
    tab.page.locator("#compare-sides li").nth(1).get_by_role("button").click()
    assert "kernel=baseline" in tab.page.inner_text("#detail")


def test_a_kernel_beside_itself_is_said_to_be(tab: Tab) -> None:
    tab.open(f"&case={CASE}")
    for side in ("a", "b"):
        tab.page.select_option(f"#compare-{side}", "kernel:fa2_forward")
    tab.page.uncheck("#compare-timed")
    said = compare(tab)
    assert "Both sides are the same kernel and text (fa2_forward)" in said
    assert said.endswith("The results are bit-equal.")


@pytest.mark.slow
def test_an_earlier_run_that_was_wrong_is_wrong_again(tab: Tab) -> None:
    tab.open()
    run = tab.service.store.submit(f"{CASE},kernel=fa2_forward", page=tab.id, shaders=WRONG)
    tab.headline("1 FAILED")
    tab.page.goto(f"{tab.service.url}/webgpu-test?page={tab.id}&case={CASE}&compare={run.id}")
    tab.wait("idle")
    chosen = tab.page.locator(f"#compare-b option:checked[value='run:{run.id}']")
    chosen.wait_for(state="attached")  # "idle" comes before the lists
    tab.page.uncheck("#compare-timed")
    said = compare(tab)
    assert said.endswith("B is not right.")
    assert tab.page.locator("#compare-sides li").nth(1).get_attribute("data-status") == "fail"
    assert "in place of the installed texts: fa2_forward.wgsl" in tab.page.inner_text(
        "#compare-sides"
    )
    found = rows(tab)
    assert float(found["o"][1]) > 1
    assert found["o"][3].startswith("0, ")
    assert found["time"][1] == "not timed"


def test_the_command_compares_a_file_with_ours(harness: Harness, tmp_path: Path) -> None:
    assert harness.environment
    file = tmp_path / "compared.json"
    kernel = Path(__file__).parents[2] / "examples" / "row_per_invocation.wgsl"
    words = [CASE, str(kernel), "fa2_forward", "--no-time", "--no-history", "--json", str(file)]
    result = fa2("compare", *words)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "A = row_per_invocation  PASS" in result.stdout
    found = json.loads(file.read_text())
    assert 0 < found["outputs"]["o"]["differ"] <= 384
    assert found["time"] is None
