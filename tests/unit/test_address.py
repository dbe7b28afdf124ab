"""Addresses that a person names: refused by name, and shown without the keys that they hold."""

from __future__ import annotations

import pytest

from server.address import shown, without_keys
from server.endpoint import Endpoint, Listening
from server.errors import CaseError, NoBrowser
from server.harness import Harness
from server.launch_connected import ConnectedBrowser

NO_ADDRESSES = ["http://[::1", "http://desk:99999", "http://desk:x", "ftp://desk", "http://", "a b"]


@pytest.mark.parametrize("url", NO_ADDRESSES)
def test_what_is_no_address_of_a_browser_is_refused_by_name(url: str) -> None:
    with pytest.raises(CaseError, match="must be a URL that begins with") as refused:
        Endpoint("cdp", url)
    assert repr(url) in refused.value.message


@pytest.mark.parametrize("listen", [None, "127.0.0.1:8000"])
@pytest.mark.parametrize("url", [*NO_ADDRESSES, "http://desk?a=1"])
def test_what_is_no_address_of_a_server_is_refused_by_name(url: str, listen: str | None) -> None:
    with pytest.raises(CaseError, match=r"--serve-url .* must be a URL such as"):
        Listening.read(listen, url)


@pytest.mark.parametrize("listen", ["h:²", "h:٣", "h:99999", "h:", ":80", "80", "h:+1"])
def test_what_is_no_place_to_listen_at_is_refused_by_name(listen: str) -> None:
    with pytest.raises(CaseError, match="must be HOST:PORT"):
        Listening.read(listen, None)


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("http://127.0.0.1:9222", "http://127.0.0.1:9222"),
        ("http://127.0.0.1:9222/", "http://127.0.0.1:9222/"),
        ("http://me:KEY@127.0.0.1:9/?token=KEY", "http://127.0.0.1:9/…"),
        ("wss://grid/KEY#KEY", "wss://grid/…"),
        ("http://me:K@EY@host?KEY", "http://host/…"),
        ("http://me:KEY/KEY@host", "http://…/…"),
        ("me:KEY@host/KEY", "host/…"),
        ("wss://h/?token=KEY&url=https://y/", "wss://h/…"),
        ("http://me:KEY@desk/?next=http://x", "http://desk/…"),
        ("me:KEY@host/?next=http://x", "host/…"),
    ],
)
def test_an_address_is_shown_without_the_keys_that_it_may_hold(url: str, text: str) -> None:
    assert shown(url) == text
    if not url.startswith("me:"):  # which nobody would know for an address in a text
        assert without_keys(f"failed at '{url}' (log)") == f"failed at '{text}' (log)"


@pytest.mark.parametrize("url", ["ftp://me:KEY@desk/KEY?KEY", "http://me:KEY@desk:99999/?KEY"])
def test_a_refusal_shows_no_key(url: str) -> None:
    for refuse in (lambda: Endpoint("cdp", url), lambda: Listening.read(None, url)):
        with pytest.raises(CaseError) as refused:
            refuse()
        assert "desk" in refused.value.message
        assert "KEY" not in refused.value.message


def test_a_browser_that_does_not_answer_is_named_without_keys() -> None:
    endpoint = Endpoint("cdp", "http://me:KEY1@127.0.0.1:9/?token=KEY2")
    with pytest.raises(NoBrowser) as refused:
        ConnectedBrowser(endpoint, "http://127.0.0.1:9/?token=KEY3", (), headed=False)
    assert "http://127.0.0.1:9" in refused.value.message
    assert "KEY" not in refused.value.message


def test_an_address_that_is_refused_beside_a_page_shows_no_key() -> None:
    with pytest.raises(CaseError, match=r"cdp='http://desk:9/…' is for a browser") as refused:
        Harness(page="phone", cdp="http://me:KEY@desk:9/?token=KEY")
    assert "KEY" not in refused.value.message
