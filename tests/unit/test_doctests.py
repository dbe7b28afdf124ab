"""The examples in the docstrings of the package hold."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

SERVER = Path(__file__).parents[2] / "server"
MODULES = sorted(
    path.stem for path in SERVER.glob("*.py") if ">>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_in_the_docstrings_hold(name: str) -> None:
    found = doctest.testmod(importlib.import_module(f"server.{name}"))
    assert found.attempted > 0
    assert found.failed == 0
