"""Pages on other devices: listed, named, sent runs to; browsers that run already; https."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import engines
import httpx
import pytest
from page_tab import Tab, chromium_browsers

from server import browser
from server.harness import Harness
from server.launch_flags import chromium_flags
from server.service import Service
from server.settings import Settings

CASE = "forward:T=24,H=2,D=8"
FLAGS = chromium_flags(webgpu=True, adapter="any", extra=())


@pytest.fixture(scope="module")
def browsers(pytestconfig: pytest.Config) -> Iterator[list[Any]]:
    """One with WebGPU, one as most machines start it."""
    with chromium_browsers(engines.chromium(pytestconfig), True, False) as both:
        yield both


@pytest.fixture(scope="module")
def chromium(browsers: list[Any]) -> Any:
    return browsers[0]


OpenTab = Callable[[str], Tab]


@pytest.fixture
def opened(chromium: Any, service: Service) -> Iterator[OpenTab]:
    """``opened("pixel8")`` is a page of that name, in a browser profile of its own."""
    tabs: list[Tab] = []

    def open_tab(name: str) -> Tab:
        tab = Tab.of(chromium, service, name)
        tabs.append(tab)
        tab.open(f"&name={name}")
        return tab

    yield open_tab
    for tab in tabs:
        tab.close()
        assert tab.complaints == []


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Callable[..., tuple[subprocess.Popen[str], str]]]:
    """Starts a program and gives it with the first ws:// URL that it prints; ends it afterwards."""
    started: list[subprocess.Popen[str]] = []

    def start(*words: str) -> tuple[subprocess.Popen[str], str]:
        said = tmp_path / f"said-{len(started)}"
        with said.open("w") as file:
            # A group of its own: Debian's Chromium is a script that starts the program.
            process = subprocess.Popen(
                words, stdout=file, stderr=subprocess.STDOUT, text=True, start_new_session=True
            )
        started.append(process)
        end = time.monotonic() + 20
        while time.monotonic() < end and process.poll() is None:
            urls = [word for word in said.read_text().split() if word.startswith("ws://")]
            if urls:
                return process, urls[0]
            time.sleep(0.05)
        raise AssertionError(f"{words[0]} told no address: {said.read_text()}")

    yield start
    for process in started:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)


@pytest.mark.slow
def test_a_run_is_done_on_the_page_that_is_chosen_and_shown_where_it_was_asked_for(
    opened: OpenTab,
) -> None:
    phone, desk = opened("pixel8"), opened("desk")
    desk.page.locator("#devices").scroll_into_view_if_needed()
    cards = desk.page.locator("#devices-list .device")
    cards.nth(1).wait_for()
    assert "desk" in cards.nth(0).inner_text()
    assert "this page" in cards.nth(0).inner_text()
    assert "pixel8" in cards.nth(1).inner_text()
    cards.nth(1).get_by_text("idle").wait_for()

    phone.page.fill("#page-name", "my phone")
    phone.page.press("#page-name", "Enter")
    desk.page.get_by_role("heading", name="my phone").wait_for()
    command = phone.page.locator("#devices-command", has_text="fa2 run --page 'my phone'")
    command.wait_for()

    desk.page.select_option("#run-on", label="my phone")
    desk.page.get_by_text("Runs go to my phone.").wait_for()
    desk.run(CASE)
    desk.headline("ALL PASS")
    phone.headline("ALL PASS")
    assert desk.service.store.all()[-1].sent_to == phone.id
    desk.page.locator("#detail canvas").first.wait_for()

    phone.page.goto("about:blank")
    desk.page.get_by_text("no longer connected").first.wait_for(state="attached")
    desk.run(CASE)
    desk.page.get_by_text("my phone is not connected").wait_for()


def test_a_page_without_webgpu_has_its_runs_done_by_another(
    opened: OpenTab, browsers: list[Any]
) -> None:
    phone = opened("pixel8")
    tab = Tab.of(browsers[1], phone.service, "terminal")
    tab.open(state="no-webgpu")
    assert tab.page.is_disabled("#run")
    tab.page.locator("#devices").scroll_into_view_if_needed()
    tab.page.select_option("#run-on", label="pixel8")
    tab.wait("idle")
    tab.run(CASE)
    tab.headline("ALL PASS")
    tab.page.select_option("#run-on", "")
    tab.wait("no-webgpu")
    tab.close()


def test_a_harness_runs_on_a_page_that_a_person_opened(opened: OpenTab) -> None:
    tab = opened("tablet")
    with Harness(page="tablet", server=tab.service.url) as harness:
        assert harness.run(CASE).status == "pass"
        assert harness.environment["engine"].startswith("Chromium")
    tab.headline("ALL PASS")
    assert not tab.page.is_closed()


def test_a_chromium_that_runs_already_lends_a_page_and_keeps_its_own(
    program: Callable[..., Any], tmp_path: Path, chromium: Any
) -> None:
    found = browser.find()
    flags = ["--headless", "--remote-debugging-port=0", f"--user-data-dir={tmp_path / 'profile'}"]
    process, url = program(str(found.path), *FLAGS, *flags, "data:text/html,<title>mine</title>")
    port = url.split(":")[2].split("/")[0]
    with Harness(cdp=f"http://127.0.0.1:{port}") as harness:
        assert harness.run(CASE).status == "pass"
    assert process.poll() is None, "a browser that is somebody else's lives on"
    pages = httpx.get(f"http://127.0.0.1:{port}/json/list", verify=False).json()
    assert [page["title"] for page in pages if page["type"] == "page"] == ["mine"]
    httpx.put(f"http://127.0.0.1:{port}/json/new?about:blank", verify=False).raise_for_status()


def test_a_playwright_server_starts_a_browser_for_a_run(
    program: Callable[..., Any], chromium: Any
) -> None:
    words = ("-m", "playwright", "run-server", "--port", "0", "--unsafe", "--path", "/farm")
    _, url = program(sys.executable, *words)
    options = json.dumps({"executablePath": str(browser.find().path), "args": FLAGS})
    with Harness(playwright_ws=f"{url}?launch-options={quote(options)}") as harness:
        assert harness.run(CASE).status == "pass"


def test_webgpu_is_there_over_https(chromium: Any, tmp_path: Path) -> None:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl program to make a certificate with")
    files = ["-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "cert.pem")]
    names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    subprocess.run([openssl, "req", "-x509", *curve, *files, *names], check=True, timeout=60)
    settings = Settings(
        host="127.0.0.1",
        port=0,
        token="t" * 40,
        tls_cert=tmp_path / "cert.pem",
        tls_key=tmp_path / "key.pem",
    )
    with Service(settings) as service:
        assert service.url.startswith("https://127.0.0.1:")
        tab = Tab.of(chromium, service, "https", ignore_https_errors=True)
        tab.open(f"&token={'t' * 40}&case={CASE}&run=1", state="finished")
        tab.headline("ALL PASS")
        assert "token" not in tab.page.url
        (cookie,) = tab.page.context.cookies()
        assert cookie["secure"]
        assert cookie["httpOnly"]
        tab.close()
        assert tab.complaints == []
