"""What every test gets: floating-point traps, and no settings from the caller's environment."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import hypothesis
import numpy as np
import pytest

# A shell starts background jobs with SIGINT ignored, and every child would inherit that: the tests
# that press Ctrl+C in a child would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# An example is not wrong because the machine was busy.
hypothesis.settings.register_profile("patient", deadline=None)
hypothesis.settings.load_profile("patient")


@pytest.fixture(autouse=True, scope="session")
def _loud_numerics() -> Iterator[None]:
    """Overflow, division by zero and NaN raise; underflow is part of softmax."""
    with np.errstate(all="raise", under="ignore"):
        yield


@pytest.fixture(autouse=True, scope="session")
def _no_history() -> Iterator[None]:
    """Nothing of what runs here belongs into the history of the person who runs the tests."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("FA2_HISTORY", "off")
        yield


@pytest.fixture(autouse=True)
def _own_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """What the person who runs the tests has set, or remembered in a cache, means nothing here."""
    for name in [name for name in os.environ if name.startswith("FA2_") and name != "FA2_BROWSER"]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path_factory.getbasetemp() / "data"))
