"""The address of a running server: what is none is refused by name, before anybody is asked."""

from __future__ import annotations

import pytest

from server.errors import CaseError
from server.remote import Remote


@pytest.mark.parametrize(
    "url",
    [
        "http://[::1",
        "http://desk:99999",
        "http://desk:0",
        "http://desk:x",
        "ftp://desk",
        "http://",
        "http://a b/",
        "http://dësk",
    ],
)
def test_what_is_no_address_is_refused_with_the_value_and_an_example(url: str) -> None:
    with pytest.raises(CaseError, match="must be a URL such as") as refused:
        Remote(url)
    assert repr(url) in refused.value.message


def test_a_port_in_the_environment_that_is_none_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FA2_PORT", "x")
    with pytest.raises(CaseError, match="FA2_PORT='x' must be a port"):
        Remote()


@pytest.mark.parametrize("url", ["http://[::1]:8000/webgpu-test?token=a", "desk.local", "desk:81"])
def test_addresses_are_taken_with_and_without_scheme_and_path(url: str) -> None:
    assert Remote(url).url.startswith("http://")
