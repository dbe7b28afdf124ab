"""The editor in Firefox, which no driver reaches here: a script in a copy of the page tells."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any

import engines
import pytest

from server.launch import Options, launch
from server.paths import STATIC
from server.service import Service
from server.settings import Settings

PROBE = Path(__file__).with_name("editor_probe.js")
PAGE = "firefox_with_a_probe"
KERNEL = "fa2_forward.wgsl"
SOON_S = 60


def told(service: Service) -> dict[str, Any]:
    """What the probe has seen, once it has."""
    end = time.monotonic() + SOON_S
    while time.monotonic() < end:
        message = (service.pages.environment(PAGE) or {}).get("message")
        if message:
            return dict(json.loads(message))
        time.sleep(0.1)
    raise AssertionError("the probe has told nothing")


@pytest.mark.slow
def test_the_editor_works_under_the_policy_and_marks_errors_where_they_are(
    tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    firefox = engines.program(pytestconfig, "firefox")
    static = tmp_path / "static"
    shutil.copytree(STATIC, static)
    shutil.copy(PROBE, static / "js" / "probe.js")
    with (static / "js" / "page.js").open("a", encoding="utf-8") as page:
        page.write('import "./probe.js";\n')
    settings = Settings(host="127.0.0.1", port=0, allow_remote=False, static_dir=static)
    with Service(settings) as service:
        url = f"{service.url}/webgpu-test?page={PAGE}&case=forward:T=24,D=8,kernel=fa2_forward"
        launched = launch(firefox, url, "process", Options())
        try:
            seen = told(service)
        finally:
            launched.close()
    assert seen["complaints"] == []
    assert seen["elements"] == 0, "constructed style sheets, and no <style>"
    assert "mono" in seen["font"].lower(), "they are in force"
    syntax, name, use = seen["errors"]
    assert f"{KERNEL}:1:28" in syntax["said"], "in UTF-16 units, as the editor counts"
    assert syntax["marked"] == [";"]
    assert f"{KERNEL}:1:29" in name["said"]
    assert name["marked"] == ["unknown_name"]
    assert f"{KERNEL}:1:4" in use["said"]
    assert use["marked"] == ["@use"]
