"""The second engine: the same page in Firefox, with another compiler and another driver."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from server import browser
from server.cases import Case
from server.errors import NoAdapter, NoBrowser
from server.harness import Harness
from server.pytest_plugin import fa2_cases


@pytest.fixture(scope="module")
def firefox() -> Iterator[Harness]:
    """A Harness on Firefox; skipped where none is installed."""
    try:
        browser.find("firefox")
    except NoBrowser as problem:
        pytest.skip(problem.message)
    with Harness("firefox") as harness:
        yield harness


@fa2_cases("seed")
def test_the_seed_suite_passes_on_firefox(case: Case, firefox: Harness) -> None:
    report = firefox.run(case)
    assert report.status == "pass", report.message


@fa2_cases("smoke")
def test_the_smoke_suite_passes_on_firefox(case: Case, firefox: Harness) -> None:
    report = firefox.run(case)
    assert report.status == "pass", report.message


def test_firefox_is_named_in_its_reports(firefox: Harness) -> None:
    report = firefox.run("forward:T=16,D=8")
    assert (report.engine or "").startswith("Firefox")
    assert firefox.page_console is not None


def test_firefox_as_it_comes_has_no_webgpu_on_linux(firefox: Harness) -> None:
    with pytest.raises(NoAdapter) as caught, Harness("firefox", webgpu=False):
        pass
    assert caught.value.step == "navigator.gpu"
