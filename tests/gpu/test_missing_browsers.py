"""Tests that need a browser of their own say so where there is none, and fail where one is due."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="elsewhere browsers are looked for in fixed places too"
)
HERE = Path(__file__).parent
OF_THE_PAGE = ("test_where.py", "test_ten_faults.py")
OF_FIREFOX = ("test_firefox.py", "test_editor_firefox.py")
OF_EITHER = ("test_other_sites.py",)


def outcomes(no_programs: Path, *files: str, ci: str) -> dict[str, set[str]]:
    """By file, how its tests end under --require-webgpu where no program is on the path."""
    words = ("-p", "no:cacheprovider", "-v", "--tb=no", "-m=", "--require-webgpu")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words, *(str(HERE / file) for file in files)],
        cwd=HERE.parents[1],
        env=os.environ | {"PATH": str(no_programs), "FA2_BROWSER": "", "CI": ci},
        capture_output=True,
        text=True,
        timeout=60,
    )
    ended: dict[str, set[str]] = {file: set() for file in files}
    for file, how in re.findall(
        r"^tests/gpu/(\w+\.py)::.* (PASSED|FAILED|ERROR|SKIPPED)\b", done.stdout, re.MULTILINE
    ):
        ended[file].add(how)
    assert all(ended.values()), done.stdout + done.stderr
    return ended


def test_a_machine_of_a_person_may_lack_firefox_but_no_browser(tmp_path: Path) -> None:
    ended = outcomes(tmp_path, *OF_THE_PAGE, *OF_FIREFOX, ci="")
    for file in OF_FIREFOX:
        assert ended[file] == {"SKIPPED"}
    for file in OF_THE_PAGE:
        assert "SKIPPED" not in ended[file]


def test_nothing_is_skipped_for_want_of_a_browser_in_ci(tmp_path: Path) -> None:
    for file, how in outcomes(tmp_path, *OF_FIREFOX, *OF_EITHER, ci="true").items():
        assert how <= {"FAILED", "ERROR"}, file
