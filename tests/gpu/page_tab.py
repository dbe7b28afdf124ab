"""A tab with the page in it, as a person has it open, and what it complained about."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from server.browser import Browser
from server.launch_flags import chromium_flags
from server.paths import STATIC
from server.service import Service

SOON_MS = 30_000
_SAY_VIOLATIONS = """
addEventListener("securitypolicyviolation", (event) => {
  console.error(`CSP: ${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}`);
});
"""


def kept(limit_s: float, took: Callable[[], float]) -> None:
    """A promise in seconds, on a machine that may be busy at a moment: one of a few tries keeps
    it. What breaks the promise is late each time."""
    times: list[float] = []
    while len(times) < 4:
        times.append(took())
        if times[-1] < limit_s:
            return
    raise AssertionError(f"promised within {limit_s} s, took {times}")


@contextmanager
def chromium_browsers(program: Browser, *webgpu: bool) -> Iterator[list[Any]]:
    """A Chromium for each flag: with WebGPU, or as most machines start it."""
    with sync_playwright() as p:
        started = [
            p.chromium.launch(
                executable_path=str(program.path),
                args=chromium_flags(webgpu=one, adapter="any", extra=()),
            )
            for one in webgpu
        ]
        try:
            yield started
        finally:
            for one in started:
                one.close()


@dataclass
class Tab:
    """``page`` is Playwright's; ``complaints`` what the console said, ``requests`` every URL that
    was asked for."""

    page: Any
    service: Service
    id: str
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, browser: Any, service: Service, name: str, **options: Any) -> Tab:
        """A new tab; ``options`` are those of ``browser.new_page``. The page's id is made of
        ``name``."""
        tab = cls(browser.new_page(**options), service, f"{name:_<20}"[:20])
        tab.page.set_default_timeout(SOON_MS)
        tab.page.add_init_script(_SAY_VIOLATIONS)
        tab.page.on(
            "console",
            lambda said: tab.complaints.append(f"{said.type}: {said.text} {said.location['url']}"),
        )
        tab.page.on("pageerror", lambda error: tab.complaints.append(str(error)))
        tab.page.on("request", lambda request: tab.requests.append(request.url))
        return tab

    @property
    def foreign(self) -> list[str]:
        """What was asked of another origin; a blob and a data URL are the page's own."""
        ours = (self.service.url, f"blob:{self.service.url}", "data:")
        return [url for url in self.requests if not url.startswith(ours)]

    def close(self) -> None:
        """Nothing may have been asked of anybody else."""
        self.page.close()
        assert self.foreign == []

    def open(self, query: str = "", state: str = "idle") -> None:
        self.page.goto(f"{self.service.url}/webgpu-test?page={self.id}{query}")
        self.wait(state)

    def wait(self, state: str) -> None:
        self.page.wait_for_selector(f"main[data-state='{state}']", timeout=SOON_MS)

    def headline(self, text: str) -> None:
        shown = self.page.locator("#headline", has_text=text)
        shown.wait_for(timeout=SOON_MS)

    def run(self, case: str) -> None:
        self.page.fill("#case", case)
        self.page.press("#case", "Enter")

    def lines(self) -> list[str]:
        """The lines of the list that can be seen."""
        rows = self.page.locator("#lines tr:not([hidden])").all_inner_texts()
        return [" ".join(row.split()) for row in rows]


def broken(old: str, new: str, kernel: str = "fa2_forward.wgsl") -> dict[str, str]:
    """A shipped shader with one place changed, as the files that a run replaces."""
    text = (Path(STATIC) / "shaders" / kernel).read_text(encoding="utf-8")
    assert text.count(old) == 1, f"the shipped text no longer holds {old!r} once"
    return {kernel: text.replace(old, new)}
