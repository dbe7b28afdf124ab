"""A browser as a plain process with a profile of its own: needs nothing but the browser."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

from server.browser import Browser
from server.errors import NoBrowser

KEPT_LINES = 400
TERM_GRACE_S = 2.0
# Waits for the end of its input, which comes however this process ends, even by SIGKILL.
GUARD = 'read -r _; kill -s KILL -- "-$0"; rm -rf -- "$1"'


class ProcessBrowser:
    """The browser, its process group and its temporary profile, ended and removed together."""

    def __init__(self, command: Callable[[Path], list[str]]) -> None:
        self._profile = Path(tempfile.mkdtemp(prefix="fa2-profile-"))
        self._lines: deque[str] = deque(maxlen=KEPT_LINES)
        line = command(self._profile)
        environment = {**os.environ, "MOZ_CRASHREPORTER_DISABLE": "1"}
        try:
            self._process = subprocess.Popen(
                line,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=environment,
                # A group of its own: Ctrl+C reaches us first, and we end the whole group.
                start_new_session=True,
            )
        except OSError as error:
            shutil.rmtree(self._profile, ignore_errors=True)
            raise NoBrowser(
                f"{line[0]} cannot be started ({error.strerror or error}); name another browser "
                "with --browser PATH"
            ) from None
        self.pid = self._process.pid
        self._guard = _guard(self.pid, self._profile)
        self._reader = threading.Thread(target=self._read, name="fa2-browser-output", daemon=True)
        self._reader.start()
        atexit.register(self.close)

    @property
    def console(self) -> list[str]:
        return list(self._lines)

    def alive(self) -> bool:
        return self._process.poll() is None

    def screenshot(self, path: Path) -> bool:
        return False

    def close(self) -> None:
        atexit.unregister(self.close)
        if self._guard is not None:
            self._guard.kill()
            self._guard.communicate()
        # The leader may be gone while its children live on (a killed browser): always the group.
        self._signal(terminate=True)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(TERM_GRACE_S)
        self._signal(terminate=False)
        self._process.wait()
        self._reader.join(TERM_GRACE_S)
        if self._process.stdout and not self._reader.is_alive():
            self._process.stdout.close()
        shutil.rmtree(self._profile, ignore_errors=True)

    def _signal(self, *, terminate: bool) -> None:
        if sys.platform == "win32":
            if not terminate:
                command = ["taskkill", "/F", "/T", "/PID", str(self.pid)]
                subprocess.run(command, check=False, capture_output=True)
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGTERM if terminate else signal.SIGKILL)

    def _read(self) -> None:
        assert self._process.stdout is not None  # stdout=PIPE above
        with contextlib.suppress(ValueError, OSError):  # closed under our feet by close()
            for line in self._process.stdout:
                self._lines.append(line.decode("utf-8", "replace").rstrip())


def _guard(pid: int, profile: Path) -> subprocess.Popen[bytes] | None:
    """A shell that ends the browser's group and removes its profile if we cannot."""
    if sys.platform == "win32":
        return None
    command = ["/bin/sh", "-c", GUARD, str(pid), str(profile)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)


def chromium_command(
    browser: Browser, url: str, profile: Path, flags: Sequence[str], headed: bool
) -> list[str]:
    """A Chromium's command line; ``flags`` as in launch_flags.chromium_flags."""
    return [
        str(browser.path),
        *([] if headed else ["--headless"]),
        f"--user-data-dir={profile}",
        "--no-first-run",
        "--no-default-browser-check",
        "--password-store=basic",
        "--use-mock-keychain",
        "--enable-logging=stderr",
        *flags,
        url,
    ]


def firefox_command(
    browser: Browser,
    url: str,
    profile: Path,
    preferences: dict[str, bool | int | str],
    headed: bool,
    args: Sequence[str],
) -> list[str]:
    """Writes the profile's user.js and returns Firefox's command line."""
    lines = (f"user_pref({_js(name)}, {_js(value)});\n" for name, value in preferences.items())
    (profile / "user.js").write_text("".join(lines), encoding="utf-8")
    shown = [] if headed else ["--headless"]
    return [str(browser.path), *shown, "--no-remote", "--profile", str(profile), *args, url]


def _js(value: bool | int | str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else f'"{value}"'
