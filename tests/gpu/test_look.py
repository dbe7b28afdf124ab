"""The page while it works: nothing jumps, Stop stops, long lists are filtered, keys reach all."""

from __future__ import annotations

import time

import pytest
from page_tab import Tab, broken, kept

PHONE = {"width": 390, "height": 844}
TABLET = {"width": 820, "height": 1180}
DESK = {"width": 1280, "height": 900}
WALL = {"width": 2560, "height": 1440}

# What moved, by how much, and whether the verdict was out by then: what is found out afterwards
# (a heat map) takes its place below what one reads. And whether the suite ran: it may be over
# before anybody sees it run, and until it runs the verdict of the one before stands.
_WATCH_SHIFTS = """() => {
  const watched = { shifts: [], ran: false };
  window.watched = watched;
  const main = document.querySelector("main");
  new MutationObserver(() => {
    watched.ran ||= main.dataset.state === "running";
  }).observe(main, { attributeFilter: ["data-state"] });
  let over = Infinity;
  const verdict = document.getElementById("verdict");
  new MutationObserver(() => {
    if (verdict.dataset.verdict === "pass") over = performance.now();
  }).observe(verdict, { attributes: true });
  new PerformanceObserver((list) => {
    for (const { value, sources, startTime } of list.getEntries()) {
      const names = sources.map(({ node }) => node?.id || node?.className || node?.nodeName);
      watched.shifts.push([value, startTime > over, names.join(" ")]);
    }
  }).observe({ type: "layout-shift" });
}"""
_RAN_AND_PASSED = """() => window.watched.ran
  && document.querySelector("main").dataset.state === "finished"
  && document.getElementById("verdict").dataset.verdict === "pass"
"""


def frames(tab: Tab) -> None:
    """Three frames and a turn later: drawings follow a change of size by a frame, and an observer
    is told after it."""
    tab.page.evaluate("""async () => {
      for (let n = 0; n < 3; n++) await new Promise(requestAnimationFrame);
      await new Promise((resolve) => setTimeout(resolve));
    }""")


@pytest.mark.parametrize(
    "sizes", [(PHONE, DESK), pytest.param((WALL, TABLET), marks=pytest.mark.slow)]
)
def test_nothing_moves_while_a_suite_runs(tab: Tab, sizes: tuple[dict[str, int], ...]) -> None:
    tab.open("&suite=seed")
    tab.page.locator("#lines tr").nth(11).wait_for()
    for size in sizes:
        tab.page.set_viewport_size(size)
        tab.page.evaluate("() => scrollTo(0, 0)")
        frames(tab)
        tab.page.evaluate(_WATCH_SHIFTS)
        tab.page.keyboard.press("Control+Enter")
        tab.page.wait_for_function(_RAN_AND_PASSED)
        tab.page.locator(".readout", has_text="allowed").wait_for()
        frames(tab)
        shifts = tab.page.evaluate("() => window.watched.shifts")
        assert sum(value for value, over, _ in shifts if not over) < 0.001, (size, shifts)
        assert sum(value for value, *_ in shifts) < 0.05, (size, shifts)


def test_no_width_scrolls_sideways(tab: Tab) -> None:
    tab.open("&case=forward:T=24,H=2,D=8,attn=1&run=1", state="finished")
    tab.page.locator(".readout", has_text="allowed").wait_for()
    for width in (360, 390, 600, 768, 1024, 1280, 1600, 1920, 2560):
        tab.page.set_viewport_size({"width": width, "height": 900})
        tab.page.wait_for_function("(width) => innerWidth === width", arg=width)
        frames(tab)
        assert tab.page.evaluate("() => document.documentElement.scrollWidth") == width


def test_a_phone_shows_the_first_links_first(tab: Tab) -> None:
    tab.page.set_viewport_size(PHONE)
    tab.open("&suite=seed")
    at_start = "() => document.querySelector('#sections').scrollLeft === 0"
    tab.page.wait_for_function(at_start)
    tab.page.locator("#trace").evaluate("(part) => part.scrollIntoView({ behavior: 'instant' })")
    tab.page.locator("#sections [aria-current]", has_text="Trace").wait_for()
    tab.page.evaluate("() => scrollTo({ top: 0, behavior: 'instant' })")
    tab.page.wait_for_function(at_start)


# From the click until nothing runs, in ms by the page's own clock: who drives it may pause.
_TIME_STOP = """() => {
  window.stopped = 0;
  const main = document.querySelector("main");
  const stop = document.getElementById("stop");
  stop.addEventListener("click", () => {
    const asked = performance.now();
    new MutationObserver((_, observer) => {
      if (main.dataset.state === "running" || !stop.disabled) return;
      window.stopped = performance.now() - asked;
      observer.disconnect();
    }).observe(main, { attributeFilter: ["data-state", "disabled"], subtree: true });
  }, { capture: true, once: true });
}"""


@pytest.mark.slow
def test_stop_ends_a_long_case_within_two_seconds_and_the_next_case_runs(tab: Tab) -> None:
    tab.open()

    def stopped() -> float:
        tab.run("backward:T=2048,H=4,D=64")
        tab.page.locator("#activity", has_text="backward:T=2048,H=4,D=64 · run").wait_for()
        tab.page.evaluate(_TIME_STOP)
        tab.page.click("#stop")
        tab.page.wait_for_function("() => window.stopped")
        return float(tab.page.evaluate("() => window.stopped")) / 1000

    kept(2, stopped)
    begun = time.monotonic()
    tab.run("forward:T=8,D=8")
    tab.headline("ALL PASS")
    assert time.monotonic() - begun < 15, "what was stopped does not hold up the next one"


def test_the_list_is_filtered_by_words_patterns_and_status(tab: Tab) -> None:
    tab.open("&suite=full")
    tab.page.locator("#lines tr").nth(400).wait_for()
    tab.page.keyboard.press("/")
    assert tab.page.evaluate("() => document.activeElement.id") == "filter"
    tab.page.keyboard.type("dq dtype=f16")
    shown = tab.lines()
    assert 0 < len(shown) < 100
    assert all(" dq backward:" in line and "dtype=f16" in line for line in shown)
    assert f"All {len(shown)}\n" in tab.page.inner_text("#filter-status")
    tab.page.keyboard.press("Escape")
    assert len(tab.lines()) > 400
    tab.page.fill("#filter", "nothing-of-this-name")
    assert tab.lines() == []
    assert "nothing-of-this-name" in tab.page.inner_text("#no-lines")
    tab.page.fill("#filter", "forward:*D=64*")
    tab.page.press("#filter", "ArrowDown")
    focused = tab.page.evaluate("() => document.activeElement.textContent")
    assert focused.startswith("forward:")
    assert "D=64" in focused


def test_failures_are_found_by_status_by_key_and_stand_first_on_request(tab: Tab) -> None:
    tab.open()
    wrong = broken("let kv_head = item.h / params.group;", "let kv_head = 0u;")
    for T, shaders in ((8, {}), (9, wrong), (10, {}), (11, wrong)):
        case = f"forward:T={T},H=2,D=8,kernel=fa2_forward"
        tab.service.store.submit(case, page=tab.id, shaders=shaders)
    tab.headline("2 FAILED")
    lengths = lambda: [line.split("T=")[1].split(",")[0] for line in tab.lines()]  # noqa: E731
    assert lengths() == ["8", "9", "10", "11"]
    tab.page.get_by_label("failed first").check()
    assert lengths() == ["9", "11", "8", "10"]
    tab.page.get_by_role("radio", name="Failed 2").check()
    assert lengths() == ["9", "11"]
    tab.page.get_by_role("radio", name="Passed 2").check()
    assert lengths() == ["8", "10"]
    tab.page.get_by_role("radio", name="All 4").check()
    tab.page.focus("#checks")
    for T in ("9", "11", "9"):
        tab.page.keyboard.press("n")
        tab.page.locator("#detail-title", has_text=f"T={T},").wait_for()
    tab.page.keyboard.press("p")
    tab.page.locator("#detail-title", has_text="T=11,").wait_for()


def test_a_thousand_lines_are_shown_and_filtered_at_once(tab: Tab) -> None:
    tab.open("&suite=full")
    tab.page.locator("#lines tr").nth(400).wait_for()
    ms = tab.page.evaluate("""async () => {
      const { CheckList } = await import("/static/js/ui/check-list.js");
      const ids = [...document.querySelectorAll("#lines .line")].map((one) => one.textContent);
      const body = document.getElementById("lines");
      const list = new CheckList(body, () => {});
      const entry = (_, n) => ({ case: ids[n % ids.length], run: "", state: "planned" });
      const entries = Array.from({ length: 2000 }, entry);
      const timed = (what) => {
        const begun = performance.now();
        what();
        document.body.offsetHeight;
        return performance.now() - begun;
      };
      const filter = { text: "dq", group: "all", failedFirst: false };
      const quickest = (what) => Math.min(...[1, 2, 3].map(() => timed(what)));
      const shown = quickest(() => list.show(entries));
      return [shown, quickest(() => list.filter({ ...filter })), list.size];
    }""")
    show, filtered, size = ms
    assert size > 500
    assert show < 1500, ms
    assert filtered < 500, ms


def test_the_keyboard_reaches_everything_and_its_keys_are_listed(tab: Tab) -> None:
    tab.open()
    page = tab.page
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.className") == "skip-link"
    assert page.evaluate("() => document.activeElement.getBoundingClientRect().top") >= 0
    missed = page.evaluate("""async () => {
      const all = [...document.querySelectorAll("a[href], button, input, select, textarea")];
      return all.filter((one) => one.tabIndex < 0 && !one.closest("#lines, #hidden"))
        .map((one) => one.outerHTML);
    }""")
    assert missed == []
    ids = page.evaluate("() => [...document.querySelectorAll('[id]')].map(({ id }) => id)")
    assert sorted(ids) == sorted(set(ids)), "a link and a label lead to one element"
    links = page.locator("#sections a[href^='#']").evaluate_all("(all) => all.map((a) => a.hash)")
    assert [link for link in links if link[1:] not in ids] == []
    page.keyboard.press("?")
    page.locator("#keys", has_text="filter the checks").wait_for()
    page.get_by_label("keys without Ctrl").uncheck()
    page.keyboard.press("Escape")
    page.locator("#keys").wait_for(state="hidden")
    page.keyboard.press("/")
    assert page.evaluate("() => document.activeElement.id") != "filter"
    page.click("#help")
    page.get_by_label("keys without Ctrl").check()


def test_who_wants_less_motion_gets_none(tab: Tab) -> None:
    tab.page.emulate_media(reduced_motion="reduce")
    tab.open()
    moving = tab.page.evaluate("""() => [...document.querySelectorAll("*")].filter((one) => {
      const { transitionDuration, animationName, scrollBehavior } = getComputedStyle(one);
      return transitionDuration !== "0s" || animationName !== "none" || scrollBehavior === "smooth";
    }).map((one) => one.outerHTML.slice(0, 80))""")
    assert moving == []
