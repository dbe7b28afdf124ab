"""What most visits never need is loaded when it is first asked for, and says so where it is not to
be had."""

from __future__ import annotations

from pathlib import Path

from page_tab import Tab

from server.paths import STATIC

CASE = "forward:T=24,H=2,D=8"
LATE = (
    "runner",
    "attention/index",
    "bench-runner",
    "train-runner",
    "ui/where",
    "ui/editor",
    "ui/trace",
    "ui/compare-result",
    "ui/speed-result",
    "ui/training-progress",
)
MOST_REQUESTS = 100
MOST_BYTES = 450_000


def refuse(tab: Tab, part: str) -> str:
    """``part`` cannot be had; gives the pattern to end that with."""
    pattern = f"**/static/js/{part}.js"
    tab.page.route(pattern, lambda route: route.abort())
    return pattern


def forgive(tab: Tab, pattern: str) -> None:
    """``part`` can be had again; that the browser complained was meant."""
    tab.page.unroute(pattern)
    assert tab.complaints
    assert all("Failed to load resource" in one for one in tab.complaints)
    tab.complaints.clear()


def test_the_page_starts_without_what_it_does_not_need_yet(tab: Tab) -> None:
    assert all((Path(STATIC) / "js" / f"{part}.js").is_file() for part in LATE)
    sizes = []
    tab.page.on("requestfinished", lambda asked: sizes.append(asked.sizes()["responseBodySize"]))
    tab.open()
    early = [part for part in LATE if any(url.endswith(f"/js/{part}.js") for url in tab.requests)]
    assert early == []
    assert len(tab.requests) <= MOST_REQUESTS
    assert 200_000 < sum(sizes) <= MOST_BYTES


def test_a_run_whose_runner_cannot_be_loaded_says_so_and_the_next_one_passes(tab: Tab) -> None:
    tab.open()
    pattern = refuse(tab, "runner")
    tab.run(CASE)
    tab.headline("1 FAILED")
    said = tab.page.inner_text("#detail .message")
    assert said.startswith("what runs kernels could not be loaded")
    assert "; try again, or reload the page" in said
    (run,) = [run for run in tab.service.store.all() if run.page == tab.id]
    assert run.finished, "the server knows, and does not wait for its deadline"
    forgive(tab, pattern)
    tab.run(CASE)
    tab.headline("ALL PASS")


def test_a_comparison_that_cannot_be_shown_says_so_and_the_next_one_is_shown(tab: Tab) -> None:
    tab.open(f"&case={CASE}")
    pattern = refuse(tab, "ui/compare-result")
    tab.page.uncheck("#compare-timed")
    for shown in (False, True):
        tab.page.locator("#compare-start:enabled").click()
        tab.page.locator("#compare-stop:enabled").wait_for()
        tab.page.locator("#compare-stop:disabled").wait_for()
        expected = "both are right" if shown else "Not shown: what shows it could not be loaded"
        tab.page.locator("#compare-says", has_text=expected).wait_for()
        assert tab.page.is_visible("#compare-result") is shown
        if not shown:
            forgive(tab, pattern)


def test_the_editor_is_loaded_for_who_is_led_to_it_though_it_is_out_of_view(tab: Tab) -> None:
    """A link scrolls to where the section was: what is above it may grow meanwhile."""
    tab.page.set_viewport_size({"width": 800, "height": 300})
    tab.open(f"&case={CASE}")
    tab.page.evaluate("document.getElementById('kernel').focus({ preventScroll: true })")
    tab.page.locator("#kernel-editor .cm-content").wait_for()
    assert tab.page.evaluate("scrollY") == 0


def test_a_training_that_cannot_be_drawn_asks_for_what_draws_it_every_few_seconds(tab: Tab) -> None:
    tab.open()
    pattern = refuse(tab, "ui/training-progress")
    tab.page.select_option("#train-gate", "none")
    tab.page.click("#train-start")
    tab.page.locator("#train-headline", has_text="NOT SHOWN").wait_for()
    tab.page.wait_for_timeout(1000)
    asked = [url for url in tab.requests if url.endswith("/ui/training-progress.js")]
    assert len(asked) == 1
    forgive(tab, pattern)
    tab.page.locator("#train-headline", has_not_text="NOT SHOWN").wait_for()
    tab.page.evaluate("document.getElementById('train-stop').click()")  # it may be over already
    tab.wait("finished")
