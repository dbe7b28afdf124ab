"""What most visits never need is loaded when it is first asked for, and says so where it is not to
be had."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
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


@contextmanager
def refused(tab: Tab, part: str) -> Iterator[None]:
    """``part`` cannot be had meanwhile."""
    pattern = f"**/static/js/{part}.js"
    tab.page.route(pattern, lambda route: route.abort())
    yield
    tab.page.unroute(pattern)


def forgive(tab: Tab, part: str) -> None:
    """That the browser complained of ``part`` was meant. Called once it has come after all: a try
    that was under way when it could be had again may have failed as well."""
    assert tab.complaints
    for said in tab.complaints:
        assert "Failed to load resource" in said
        assert said.endswith(f"/static/js/{part}.js")
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
    with refused(tab, "runner"):
        tab.run(CASE)
        tab.headline("1 FAILED")
    said = tab.page.inner_text("#detail .message")
    assert said.startswith("what runs kernels could not be loaded")
    assert "; try again, or reload the page" in said
    (run,) = [run for run in tab.service.store.all() if run.page == tab.id]
    assert run.finished, "the server knows, and does not wait for its deadline"
    tab.run(CASE)
    tab.headline("ALL PASS")
    forgive(tab, "runner")


# Counts how often Stop was taken back: a comparison may be over before anybody sees it run.
_COUNT_COMPARED = """() => {
  window.compared = 0;
  const options = { attributeFilter: ["disabled"], attributeOldValue: true };
  new MutationObserver((records) => {
    window.compared += records.filter(({ oldValue }) => oldValue === null).length;
  }).observe(document.getElementById("compare-stop"), options);
}"""


def test_a_comparison_that_cannot_be_shown_says_so_and_the_next_one_is_shown(tab: Tab) -> None:
    tab.open(f"&case={CASE}")
    tab.page.evaluate(_COUNT_COMPARED)
    tab.page.uncheck("#compare-timed")

    def compare(nth: int, expected: str) -> None:
        tab.page.locator("#compare-start:enabled").click()
        tab.page.wait_for_function("(nth) => window.compared === nth", arg=nth)
        tab.page.locator("#compare-says", has_text=expected).wait_for()

    with refused(tab, "ui/compare-result"):
        compare(1, "Not shown: what shows it could not be loaded")
        assert not tab.page.is_visible("#compare-result")
    compare(2, "both are right")
    assert tab.page.is_visible("#compare-result")
    forgive(tab, "ui/compare-result")


def test_the_editor_is_loaded_for_who_is_led_to_it_though_it_is_out_of_view(tab: Tab) -> None:
    """A link scrolls to where the section was: what is above it may grow meanwhile."""
    tab.page.set_viewport_size({"width": 800, "height": 300})
    tab.open(f"&case={CASE}")
    tab.page.evaluate("document.getElementById('kernel').focus({ preventScroll: true })")
    tab.page.locator("#kernel-editor .cm-content").wait_for()
    assert tab.page.evaluate("scrollY") == 0


def test_a_training_that_cannot_be_drawn_asks_for_what_draws_it_every_few_seconds(tab: Tab) -> None:
    tab.open()
    tab.page.select_option("#train-gate", "overfit")  # goes on for longer than the first try
    headline = "#train-headline"
    with refused(tab, "ui/training-progress"):
        tab.page.click("#train-start")
        tab.page.locator(headline, has_text="NOT SHOWN").wait_for()
    tab.page.locator(headline, has_not_text="NOT SHOWN").wait_for()
    tries = tab.page.evaluate("""() => performance.getEntriesByType("resource")
      .filter(({ name }) => name.endsWith("/ui/training-progress.js"))
      .map(({ startTime }) => startTime)""")
    assert len(tries) > 1
    assert min(later - earlier for earlier, later in pairwise(tries)) >= 2900, tries
    tab.page.evaluate("document.getElementById('train-stop').click()")  # it may be over already
    tab.wait("finished")
    forgive(tab, "ui/training-progress")
