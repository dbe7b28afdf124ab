"""The pictures of README: `make screenshots` opens the page in a browser, breaks a kernel and
looks at it. No case id, verdict or picture is made up; the adapter is that of this machine.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "gpu"))

from page_tab import Tab, chromium_browsers  # noqa: E402

from server import browser  # noqa: E402
from server.service import Service  # noqa: E402
from server.settings import Settings  # noqa: E402

MAX_BYTES = 250_000
DESK = {"width": 1280, "height": 860}
WALL = {"width": 1760, "height": 1000}

# The running sum of P V is not rescaled when a later key tile raises the maximum: the classic one.
RIGHT = "O_0 = scale_rows(O_0, alpha);"
CASE = "forward:T=70,H=2,D=16,causal=0,kernel=fa2_forward"


def replace_in_editor(page: Any, old: str, new: str) -> None:
    """Types ``new`` in place of the first ``old`` of the file on show."""
    page.locator("#kernel-editor .cm-content").click()
    page.keyboard.press("Control+f")
    page.get_by_role("textbox", name="Find").wait_for()
    page.keyboard.type(old)
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    page.keyboard.insert_text(new)


def suite(tab: Tab) -> Any:
    """The suite `seed`, run."""
    tab.page.set_viewport_size(DESK)
    tab.open("&suite=seed")
    tab.page.keyboard.press("Control+Enter")
    tab.headline("ALL PASS")
    tab.page.locator(".anatomy .worst tbody tr").nth(9).wait_for()
    return tab.page


def broken(tab: Tab) -> Any:
    """A kernel broken in the editor: where its output is wrong."""
    tab.open(f"&case={CASE}&run=1", state="finished")
    tab.page.locator("#kernel").scroll_into_view_if_needed()
    tab.page.locator("#kernel-says", has_text="compile on this device").wait_for()
    replace_in_editor(tab.page, RIGHT, f"// {RIGHT}")
    tab.page.keyboard.press("Control+Enter")
    tab.headline("FAILED")
    tab.page.locator(".anatomy .worst tbody tr").nth(9).wait_for()
    tab.page.locator("#detail").evaluate("(detail) => detail.scrollIntoView()")
    return tab.page


def wide_and_dark(tab: Tab) -> Any:
    """The same on a wide screen in the dark: the kernel beside what is wrong."""
    tab.page.set_viewport_size(WALL)
    tab.page.emulate_media(color_scheme="dark")
    return tab.page


def trace(tab: Tab) -> Any:
    """The first step at which kernel and float64 part."""
    tab.page.set_viewport_size(DESK)
    tab.page.emulate_media(color_scheme="light")
    tab.page.click("#trace-start")
    tab.page.locator("#trace-result").wait_for()
    tab.page.locator("#trace").evaluate("(trace) => trace.scrollIntoView()")
    return tab.page


def editor(tab: Tab) -> Any:
    """What the compiler says, at its line."""
    tab.page.locator("#kernel").evaluate("(kernel) => kernel.scrollIntoView()")
    replace_in_editor(tab.page, f"// {RIGHT}", RIGHT.replace(")", ""))
    tab.page.locator("#kernel-messages li").first.wait_for()
    return tab.page


def history(tab: Tab) -> Any:
    """What was run here, with its errors and times."""
    tab.page.goto(f"{tab.service.url}/history")
    tab.page.locator("#rows tr").nth(5).wait_for()
    tab.page.locator("#rows a").first.click()
    tab.page.locator("#report .message").wait_for()
    return tab.page


SHOTS: dict[str, Callable[[Tab], Any]] = {
    "page": suite,
    "where": broken,
    "page-dark": wide_and_dark,
    "trace": trace,
    "editor": editor,
    "history": history,
}


def main(folder: Path) -> None:
    """Writes every picture into ``folder``. Raises SystemExit for one that is too large."""
    with tempfile.TemporaryDirectory() as place:
        settings = Settings(
            host="127.0.0.1", port=0, allow_remote=False, history=Path(place) / "history.sqlite"
        )
        with chromium_browsers(browser.find(), True) as (chromium,), Service(settings) as service:
            tab = Tab.of(chromium, service, "screenshots", reduced_motion="reduce")
            for name, look in SHOTS.items():
                path = folder / f"{name}.png"
                shown = look(tab)
                tab.page.wait_for_timeout(300)  # drawn anew for a size or a scheme
                shown.screenshot(path=path)
                size = path.stat().st_size
                print(f"{path}: {size // 1000} kB")
                if size > MAX_BYTES:
                    raise SystemExit(f"{path} is {size} bytes large, and {MAX_BYTES} are allowed")
            tab.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs")
