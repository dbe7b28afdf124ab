"""What tests of the page share: a browser and a server for each file, a tab for each test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import engines
import pytest
from page_tab import Tab, chromium_browsers

from server.service import Service
from server.settings import Settings


@pytest.fixture(scope="module")
def chromium(pytestconfig: pytest.Config) -> Iterator[Any]:
    """A Chromium with WebGPU."""
    with chromium_browsers(engines.chromium(pytestconfig), True) as (one,):
        yield one


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A server whose history lies in a folder of its own."""
    history = tmp_path_factory.mktemp("served") / "history.sqlite"
    settings = Settings(host="127.0.0.1", port=0, allow_remote=False, token=None, history=history)
    with Service(settings) as running:
        yield running


@pytest.fixture
def tab(chromium: Any, service: Service, request: pytest.FixtureRequest) -> Iterator[Tab]:
    """A tab named after its test, which may not complain: no error, no CSP report."""
    tab = Tab.of(chromium, service, request.node.name.removeprefix("test_"))
    yield tab
    tab.close()
    assert tab.complaints == []
