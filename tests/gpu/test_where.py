"""Where an output is wrong, on the page: zoom, views, heads, worst ten, figures and files."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from mutant import SHADERS

from server.service import Service

SOON_MS = 20_000
PAGE = "where-where-where-where"
KERNEL = "fa2_forward.wgsl"
LONG = "forward:T=1040,H=2,D=8,kernel=fa2_forward"  # two rows share a cell


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with Service() as running:
        yield running


@pytest.fixture(scope="module")
def page(chromium: Any, service: Service) -> Iterator[Any]:
    """A page that shows a kernel whose second head reads the keys of the first."""
    size = {"width": 1280, "height": 1000}
    page = chromium.new_page(base_url=service.url, viewport=size, reduced_motion="reduce")
    page.complaints = []
    page.on("console", lambda said: page.complaints.append(said.text))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.goto(f"/webgpu-test?page={PAGE}")
    page.wait_for_selector("main[data-state='idle']", timeout=SOON_MS)
    text = (SHADERS / KERNEL).read_text(encoding="utf-8")
    old = "let kv_head = item.h / params.group;"
    assert text.count(old) == 1
    shaders = {KERNEL: text.replace(old, "let kv_head = 0u;")}
    page.run = service.store.submit(LONG, page=PAGE, shaders=shaders).id
    page.locator("#lines tr", has_text="FAIL").locator("button").first.click(timeout=SOON_MS)
    told(page)
    yield page
    page.close()


def told(page: Any) -> None:
    page.wait_for_selector("#detail-body[aria-busy='false'] .sentence", timeout=SOON_MS)


def shows(page: Any, text: str) -> None:
    page.locator(".readout", has_text=text).wait_for(timeout=SOON_MS)


def test_the_sentence_and_the_likeness_name_the_head(page: Any) -> None:
    assert "wrong in head h = 1" in page.inner_text(".sentence")
    assert "as if query head h read K and V of key head 0" in page.inner_text(".suspects")


def test_all_heads_are_seen_at_once_and_one_is_chosen(page: Any) -> None:
    first, second = page.locator(".head").all()
    assert "✗" not in first.inner_text()
    assert "✗" in second.inner_text()
    assert second.get_attribute("aria-pressed") == "true"
    first.click()
    shows(page, "h 0,")
    assert first.get_attribute("aria-pressed") == "true"
    assert page.input_value("#heatmap-h") == "0"


def test_a_worst_element_is_gone_to_and_shown_by_itself(page: Any) -> None:
    row = page.locator(".worst tbody tr").nth(4)
    place, _, actual, *_ = row.locator("th, td").all_inner_texts()
    index = dict(part.split("=") for part in place.split())
    row.locator("button").click()
    shows(page, f"h {index['h']}, query {index['i']}, channel {index['d']}")
    page.wait_for_function(
        "() => document.querySelector('.heatmap .hint').textContent.endsWith('chosen.')",
        timeout=SOON_MS,
    )  # nothing is said of cells any more: each is one element
    assert f"actual {actual}" in page.inner_text(".readout")
    for term in ("expected", "allowed", "error", "over the limit", "ULP"):
        assert term in page.inner_text(".readout")


def test_keys_zoom_and_move(page: Any) -> None:
    page.focus(".stage")
    page.keyboard.press("0")
    page.keyboard.press("Home")
    assert page.locator(".stage-zoomed").count() == 0
    page.keyboard.press("+")
    page.locator(".stage-zoomed").wait_for(timeout=SOON_MS)
    before = page.inner_text(".readout .place")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Shift+ArrowDown")
    assert page.inner_text(".readout .place") != before
    page.locator(".heatmap-controls button", has_text="All").click()
    assert page.locator(".stage-zoomed").count() == 0


def test_the_wheel_zooms_where_it_is_and_a_drag_moves_the_picture(page: Any) -> None:
    page.locator(".stage").focus()
    page.locator(".stage canvas").scroll_into_view_if_needed()
    box = page.locator(".stage canvas").bounding_box()
    page.mouse.move(box["x"] + 100, box["y"] + 200)
    page.mouse.wheel(0, -300)
    page.locator(".stage-zoomed").wait_for(timeout=SOON_MS)
    page.mouse.click(box["x"] + 60, box["y"] + 100)
    before = page.inner_text(".readout .place")
    page.mouse.down()
    page.mouse.move(box["x"] + 60, box["y"] + 300, steps=4)
    page.mouse.up()
    page.mouse.click(box["x"] + 60, box["y"] + 100)
    assert page.inner_text(".readout .place") != before
    page.keyboard.press("0")


@pytest.mark.parametrize("view", ["actual", "expected", "difference", "ratio"])
def test_each_view_has_its_picture_and_its_legend(page: Any, view: str) -> None:
    picture = "() => document.querySelector('.stage canvas').toDataURL().length"
    page.check(f"input[name='heatmap-view'][value='{view}']", force=True)
    assert page.evaluate(picture) > 1000
    legend = page.inner_text(".heatmap .legend")
    assert ("1 = the limit" in legend) == (view == "ratio")
    assert "NaN" in legend


def test_figures_are_drawn_and_told_in_words(page: Any) -> None:
    for drawing in page.locator(".anatomy svg[role='img']").all():
        assert drawing.get_attribute("aria-label")
    assert page.locator(".anatomy svg[role='img']").count() == 3
    page.click("summary:has-text('As a table')")
    counts = page.locator("section[aria-label^='Histogram'] td").all_inner_texts()
    assert sum(int(count.replace(",", "")) for count in counts) == 1040 * 2 * 8
    assert "does not tell which key tile" in page.inner_text(".anatomy").replace(
        "do not", "does not"
    )


def test_every_array_can_be_downloaded(page: Any) -> None:
    page.click("summary:has-text('Download')")
    link = page.locator(".downloads a", has_text="reference").first
    with page.expect_download() as caught:
        link.click(timeout=SOON_MS)
    assert np.load(caught.value.path()).shape == (1, 1040, 2, 8)
    answer = page.request.get(f"/api/runs/{page.run}/run.npz")
    with np.load(io.BytesIO(answer.body())) as file:
        assert {"q", "o", "o.expected", "report.json"} <= set(file.files)


def test_nothing_was_complained_about(page: Any) -> None:
    assert page.complaints == []
