"""A server for other machines answers nothing at all without its token."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import CASE, Live, Serve
from fake_page import FakePage, client
from pydantic import SecretStr, ValidationError

from server.cli_serve import serve as serve_command
from server.errors import CaseError
from server.serving import make_server
from server.settings import Settings, is_loopback

TOKEN = "tok_" + "A" * 40


@pytest.fixture(scope="module")
def guarded() -> Iterator[Live]:
    with Live(token=SecretStr(TOKEN)) as server:
        yield server


@pytest.fixture
def remote(guarded: Live) -> Live:
    """A server with a token, and a client that has bought no cookie yet."""
    guarded.client.cookies.clear()
    return guarded


def refused(response: Any) -> bool:
    if response.status_code != 401:
        return False
    assert response.json()["type"] == "urn:fa2:problem:token-required"
    assert response.headers["www-authenticate"].startswith("Bearer")
    assert "content-security-policy" in response.headers
    return True


def bought(live: Live) -> str:
    """The cookie that the printed URL buys, as a Cookie header."""
    response = live.client.get(f"/webgpu-test?token={TOKEN}")
    live.client.cookies.clear()
    return str(response.headers["set-cookie"].partition(";")[0])


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/"),
        ("GET", "/webgpu-test"),
        ("GET", "/favicon.ico"),
        ("GET", "/static/js/page.js"),
        ("GET", "/static/nothing"),
        ("GET", "/api/cases"),
        ("GET", "/api/openapi.json"),
        ("POST", "/api/runs"),
        ("GET", "/api/pages/some-page/jobs"),
        ("PUT", "/api/runs/x/tensors/o"),
        ("GET", "/nope"),
    ],
)
def test_every_route_demands_the_token(remote: Live, method: str, path: str) -> None:
    same = {"Sec-Fetch-Site": "same-origin"}
    assert refused(remote.client.request(method, path, headers=same))
    port = remote.port
    for header in (
        {"Authorization": "Bearer wrong"},
        {"Authorization": TOKEN},
        {"Authorization": f"Basic {TOKEN}"},
        {"Authorization": f"Bearer {TOKEN}x"},
        {"Authorization": "Bearer \xff"},
        {"Cookie": f"fa2_token_{port}={TOKEN}"},  # the cookie does not hold the token itself
        {"Cookie": f"fa2_token_{port}="},
        {"Cookie": "fa2_token_1=" + bought(remote).partition("=")[2]},
    ):
        raw = {name: value.encode("latin-1") for name, value in (same | header).items()}
        assert refused(remote.client.request(method, path, headers=raw)), header
    for header in ({"Authorization": f"Bearer {TOKEN}"}, {"Cookie": bought(remote)}):
        if path != "/api/pages/some-page/jobs":  # it would not end
            answer = remote.client.request(method, path, headers=same | header)
            assert answer.status_code != 401


def test_the_printed_url_buys_a_cookie_and_loses_the_token(remote: Live) -> None:
    path = f"/webgpu-test?case=forward:T=8,D=4&token={TOKEN}&run=1"
    response = remote.client.get(path)
    assert response.status_code == 303
    assert response.headers["location"] == "/webgpu-test?case=forward:T=8,D=4&run=1"
    cookie = response.headers["set-cookie"]
    assert re.fullmatch(
        rf"fa2_token_{remote.port}=[0-9a-f]{{64}}; HttpOnly; Path=/; SameSite=strict", cookie
    )
    assert TOKEN not in cookie
    page = remote.client.get(response.headers["location"], headers={"Cookie": bought(remote)})
    assert page.status_code == 200
    assert remote.client.get(f"/?token={TOKEN}").headers["location"] == "/webgpu-test"


def test_a_token_in_the_query_opens_nothing_else(remote: Live) -> None:
    assert refused(remote.client.get(f"/api/cases?token={TOKEN}"))
    assert refused(remote.client.get(f"/static/js/page.js?token={TOKEN}"))
    assert refused(remote.client.get("/webgpu-test?token=wrong"))
    # A wrong token is not helped by a right cookie: nothing is guessed for free.
    headers = {"Cookie": bought(remote)}
    assert refused(remote.client.get("/webgpu-test?token=wrong", headers=headers))


def test_a_page_with_the_cookie_works(remote: Live) -> None:
    headers = {"Cookie": bought(remote), "Sec-Fetch-Site": "same-origin"}
    page = FakePage(remote.url, headers=headers)
    remote.pages_made.append(page)
    assert remote.pages.wait_for(page.id, 5)
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    created = remote.client.post("/api/runs", json={"case": CASE}, headers=bearer)
    assert created.status_code == 201
    assert page.work(page.next_event("job"))["status"] == "pass"


def test_without_any_word_on_the_origin_the_cookie_may_only_read(remote: Live) -> None:
    headers = {"Cookie": bought(remote)}
    assert remote.client.get("/api/runs", headers=headers).status_code == 200
    response = remote.client.post("/api/runs", json={"case": CASE}, headers=headers)
    assert (response.status_code, response.json()["type"]) == (403, "urn:fa2:problem:cross-origin")
    headers["Origin"] = remote.url
    assert remote.client.post("/api/runs", json={"case": CASE}, headers=headers).status_code == 201


def test_a_right_token_does_not_excuse_another_site(remote: Live) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}", "Sec-Fetch-Site": "cross-site"}
    assert remote.client.get("/api/runs", headers=headers).status_code == 403


def test_the_token_is_in_no_log_line(remote: Live, caplog: pytest.LogCaptureFixture) -> None:
    server = make_server(remote.app, access_log=True)  # installs the filter
    assert server.config.access_log
    logger = logging.getLogger("uvicorn.access")
    logger.addHandler(caplog.handler)
    logger.setLevel(logging.INFO)
    try:
        args = ("127.0.0.1:5", "GET", f"/webgpu-test?token={TOKEN}", "1.1", 303)
        logger.info('%s - "%s %s HTTP/%s" %d', *args)
    finally:
        logger.removeHandler(caplog.handler)
    assert '"GET /webgpu-test HTTP/1.1" 303' in caplog.text
    assert TOKEN not in caplog.text
    assert TOKEN not in repr(remote.settings)


def test_a_remote_host_is_refused_unless_it_is_allowed() -> None:
    for host in ("0.0.0.0", "::", "192.168.1.5", "gpu.lan", "127.0.0.1.evil.test", ""):
        with pytest.raises(ValidationError, match="--allow-remote"):
            Settings(host=host)
    for host in ("127.0.0.1", "127.9.9.9", "localhost", "::1", "[::1]"):
        assert Settings(host=host).token is None


def test_a_remote_host_gets_a_token_of_32_random_bytes() -> None:
    tokens = {Settings(host="0.0.0.0", allow_remote=True).token for _ in range(3)}
    assert len(tokens) == 3
    for token in tokens:
        assert token is not None
        assert re.fullmatch("[A-Za-z0-9_-]{43}", token.get_secret_value())


def test_a_token_that_could_be_guessed_is_refused() -> None:
    for token in ("", "secret", "x" * 31, "with space" * 5, "&" * 40):
        with pytest.raises(ValidationError) as caught:
            Settings(token=SecretStr(token))
        assert not token or token not in str(caught.value)


def test_a_refusal_does_not_show_the_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FA2_TOKEN", TOKEN)
    with pytest.raises(ValidationError) as caught:
        Settings(host="0.0.0.0")
    assert "AAA" not in str(caught.value), "not even a part of it"


def test_a_server_for_all_addresses_takes_numeric_hosts_but_no_names(serve: Serve) -> None:
    live = serve(host="0.0.0.0", allow_remote=True, token=SecretStr(TOKEN))
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    for host, status in (("192.168.0.7:1", 200), ("[fe80::1]", 200), ("evil.test", 400)):
        headers = bearer | {"Host": host}
        assert live.client.get("/api/cases", headers=headers).status_code == status


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FA2_PORT", "9000")
    monkeypatch.setenv("FA2_ALLOWED_HOSTS", "gpu.lan, gpu.test")
    monkeypatch.setenv("FA2_BROWSER", "/usr/bin/true")  # somebody else's
    settings = Settings()
    assert (settings.port, settings.allowed_hosts) == (9000, ("gpu.lan", "gpu.test"))
    with pytest.raises(ValidationError):
        Settings(prot=1)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("FA2_PORT", "80a"),
        ("FA2_MAX_PAGES", "0"),
        ("FA2_STATIC_DIR", "/nowhere"),
        ("FA2_TOKEN", "x"),
    ],
)
def test_a_bad_setting_is_refused_by_its_name(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(CaseError, match=f"^{name}: "):
        serve_command(host=None, port=None, open_page=False, allow_remote=False)


def test_loopback_is_told_from_everything_else() -> None:
    assert all(map(is_loopback, ("localhost", "127.0.0.1", "127.1.2.3", "::1")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "10.0.0.1", "localhost.evil.test", "")))


def test_a_client_without_certificates_is_what_these_tests_use(live: Live) -> None:
    with client(live.url) as plain:
        assert plain.get("/api/cases").status_code == 200
