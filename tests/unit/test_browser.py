"""Which browser is taken, and what is said when there is none."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from server import browser, install
from server.errors import CaseError, NoBrowser
from server.launch import choose_launcher

Machine = Callable[..., Path]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Machine:
    """A Linux machine on which only the named programs are installed."""
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setattr(browser, "_SYSTEM", "linux")
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path / "playwright"))
    monkeypatch.delenv("FA2_BROWSER", raising=False)

    def add(*names: str, under: str = "bin") -> Path:
        for name in names:
            path = tmp_path / under / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("#!/bin/sh\n")
            path.chmod(0o755)
        return programs

    return add


def test_the_browser_that_is_asked_for_wins(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = machine("google-chrome", "chromium", "my-chrome")
    monkeypatch.setenv("FA2_BROWSER", str(programs / "chromium"))
    assert browser.find(programs / "my-chrome").path == programs / "my-chrome"
    named = browser.find()
    assert (named.path, named.source) == (programs / "chromium", "FA2_BROWSER")
    monkeypatch.delenv("FA2_BROWSER")
    assert browser.find().path == programs / "google-chrome"


def test_a_program_name_is_looked_up_like_a_command(machine: Machine) -> None:
    programs = machine("chromium-headless-shell")
    assert browser.find("chromium-headless-shell").path == programs / "chromium-headless-shell"


def test_a_browser_with_windows_is_taken_where_a_window_is_wanted(machine: Machine) -> None:
    machine("chromium-headless-shell")
    assert browser.find().headless_only
    with pytest.raises(NoBrowser):
        browser.find(headed=True)
    programs = machine("microsoft-edge")
    assert browser.find(headed=True).path == programs / "microsoft-edge"


def test_an_earlier_download_of_playwright_is_found_and_the_newest_is_taken(
    machine: Machine, tmp_path: Path
) -> None:
    machine("chrome", under="playwright/chromium-999/chrome-linux")
    machine("headless_shell", under="playwright/chromium_headless_shell-1200/chrome-linux")
    machine("chrome", under="playwright/firefox-1500/firefox")
    found = browser.find()
    assert found.path.parent.parent.name == "chromium_headless_shell-1200"
    assert found.source == "downloaded by Playwright"


def test_firefox_is_asked_for_by_its_word_and_known_by_its_name(machine: Machine) -> None:
    with pytest.raises(NoBrowser, match="firefox-esr mesa-vulkan-drivers"):
        browser.find("firefox")
    programs = machine("firefox-esr", "chromium")
    assert browser.find("firefox").path == programs / "firefox-esr"
    assert browser.find(programs / "firefox-esr").engine == "firefox"
    assert browser.find().engine == "chromium"


def test_without_a_browser_one_paragraph_says_what_to_install(machine: Machine) -> None:
    with pytest.raises(NoBrowser) as caught:
        browser.find()
    message = str(caught.value)
    assert "\n" not in message
    for way in ("fa2 doctor --install", "chromium-headless-shell", "playwright install", "PATH"):
        assert way in message


def test_a_wrong_path_is_named_and_never_replaced_by_another_browser(
    machine: Machine, tmp_path: Path
) -> None:
    machine("chromium")
    with pytest.raises(NoBrowser, match=r"--browser names '/no/such', which does not exist"):
        browser.find("/no/such")
    text = tmp_path / "notes.txt"
    text.write_text("no program")
    with pytest.raises(NoBrowser, match="no program that can be run"):
        browser.find(text)


@pytest.mark.parametrize(
    ("system", "place"),
    [
        ("darwin", "Applications/Google Chrome.app/Contents/MacOS/Google Chrome"),
        ("win32", "Google/Chrome/Application/chrome.exe"),
    ],
)
def test_macos_and_windows_keep_their_browsers_elsewhere(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, system: str, place: str
) -> None:
    monkeypatch.setattr(browser, "_SYSTEM", system)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.setenv("ProgramFiles", str(tmp_path))
    for variable in ("ProgramFiles(x86)", "LocalAppData"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(browser, "MACOS", {"chromium": browser.MACOS["chromium"], "firefox": ()})
    if system == "darwin" and Path("/Applications").exists():
        pytest.skip("this Mac may have a browser of its own in front of the made one")
    machine(Path(place).name, under=str(Path(place).parent))
    assert browser.find().path == tmp_path / place


def test_root_on_debian_gets_the_package_and_others_get_the_download(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    programs = machine("apt-get")
    ran: list[list[str]] = []

    def run(command: list[str]) -> bool:
        ran.append(command)
        if "chromium" in command:  # the first package is not there, the second is
            machine("chromium")
        return "chromium-headless-shell" not in command

    monkeypatch.setattr(install, "_succeeds", run)
    monkeypatch.setattr(install, "_is_root", lambda: True)
    said: list[str] = []
    assert install.install("chromium", said.append).path == programs / "chromium"
    assert [command[-1] for command in ran] == ["chromium-headless-shell", "chromium"]
    assert said[0].startswith("+ apt-get")

    ran.clear()
    os.remove(programs / "chromium")
    monkeypatch.setattr(install, "_is_root", lambda: False)
    install.install("chromium", said.append)
    assert [command[1:] for command in ran] == [["-m", "playwright", "install", "chromium"]]


def test_an_installation_that_brings_no_browser_is_not_believed(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(install, "_succeeds", lambda command: True)
    with pytest.raises(NoBrowser, match="install one yourself"):
        install.install("chromium", lambda line: None)


def test_the_launcher_fits_the_browser(machine: Machine) -> None:
    machine("firefox-esr", "chromium")
    chromium, firefox = browser.find(), browser.find("firefox")
    assert choose_launcher(chromium, None) == "playwright"
    assert choose_launcher(chromium, "process") == "process"
    assert choose_launcher(firefox, None) == "process"
    with pytest.raises(CaseError, match="cannot be driven by Playwright"):
        choose_launcher(firefox, "playwright")
    with pytest.raises(CaseError, match="use one of playwright, process"):
        choose_launcher(chromium, "selenium")
