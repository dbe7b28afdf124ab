"""Other sites, rebound names and malformed requests get nothing; every answer has its headers."""

from __future__ import annotations

import contextlib
import random
import socket
from typing import Any

import pytest
from conftest import CASE, Live, Serve

EVERY_RESPONSE = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
        "connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-embedder-policy": "require-corp",
    "cross-origin-resource-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}
ROUTES = [
    ("GET", "/api/cases"),
    ("GET", "/api/kernels"),
    ("GET", "/api/pages"),
    ("GET", "/api/runs"),
    ("POST", "/api/runs"),
    ("GET", "/api/runs/0000000000000000"),
    ("POST", "/api/runs/0000000000000000/done"),
    ("POST", "/api/runs/0000000000000000/cancel"),
    ("POST", "/api/runs/0000000000000000/progress"),
    ("PUT", "/api/runs/0000000000000000/tensors/o"),
    ("GET", "/api/runs/0000000000000000/tensors/o"),
    ("GET", "/api/runs/0000000000000000/inputs/q"),
    ("GET", "/api/pages/some-page/jobs"),
    ("POST", "/api/pages/some-page/environment"),
    ("GET", "/api/trainings"),
    ("POST", "/api/trainings"),
    ("GET", "/api/trainings/0000000000000000"),
    ("POST", "/api/trainings/0000000000000000/steps"),
    ("POST", "/api/trainings/0000000000000000/progress"),
    ("POST", "/api/trainings/0000000000000000/done"),
    ("POST", "/api/trainings/0000000000000000/cancel"),
    ("GET", "/api/openapi.json"),
    ("GET", "/no/such/path"),
]


def assert_headers(headers: Any) -> None:
    for name, value in EVERY_RESPONSE.items():
        assert headers.get_list(name) == [value], (name, headers)
    assert "access-control-allow-origin" not in headers
    assert "server" not in headers


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 307),
        ("GET", "/webgpu-test", 200),
        ("HEAD", "/webgpu-test", 200),
        ("GET", "/favicon.ico", 204),
        ("GET", "/static/js/page.js", None),
        ("GET", "/static/nothing.js", 404),
        ("GET", "/static/", 404),
        ("POST", "/static/js/page.js", 405),
        ("GET", "/api/cases", 200),
        ("GET", "/api/openapi.json", 200),
        ("GET", "/api/runs", 200),
        ("GET", "/api/runs/nope", 404),
        ("DELETE", "/api/runs", 405),
        ("POST", "/api/runs", 422),
        ("PUT", "/api/runs/nope/tensors/o", 404),
        ("OPTIONS", "/api/runs", 405),
        ("GET", "/docs", 404),
        ("GET", "/nope", 404),
    ],
)
def test_every_response_carries_the_headers(
    live: Live, method: str, path: str, status: int | None
) -> None:
    response = live.client.request(method, path)
    assert status in (None, response.status_code), response.text
    assert_headers(response.headers)
    cache = "no-cache" if path.startswith("/static/") else "no-store"
    assert response.headers["cache-control"] == cache


def test_refusals_and_streams_carry_the_headers(live: Live) -> None:
    assert_headers(live.client.get("/api/cases", headers={"Host": "evil.test"}).headers)
    assert_headers(live.client.get("/api/cases", headers={"Origin": "http://evil.test"}).headers)
    with live.client.stream("GET", "/api/pages/headers-page/jobs") as response:
        assert_headers(response.headers)
        assert response.headers["content-type"].startswith("text/event-stream")


def test_a_failure_of_the_server_carries_the_headers_and_no_trace(
    live: Live, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> list[Any]:
        raise RuntimeError("the secret of line 12")

    monkeypatch.setattr(live.store, "all", broken)
    response = live.client.get("/api/runs")
    assert response.status_code == 500
    assert_headers(response.headers)
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json()["type"] == "urn:fa2:problem:internal"
    assert "secret" not in response.text
    assert "Traceback" not in response.text
    assert "the secret of line 12" in caplog.text, "but the log has it"


@pytest.mark.parametrize(
    "host", ["localhost", "127.0.0.1", "[::1]", "LocalHost", "localhost:{port}", "[::1]:{port}"]
)
def test_our_own_names_are_answered(live: Live, host: str) -> None:
    host = host.format(port=live.port)
    assert live.client.get("/api/cases", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.test",
        "localhost.evil.test",
        "127.0.0.1.evil.test",
        "evil.test:80",
        "192.168.0.7",
        "0.0.0.0",
        "[::2]",
        "[::1",
        "::1",
        "localhost.",
        "localhost:",
        "localhost:99999",
        "localhost:8o",
        "localhost:80:80",
        "local host",
        "user@localhost",
        "localhost/path",
        "localhost,evil.test",
        "lócalhost",
        "*",
        "",
        "x" * 4000,
    ],
)
@pytest.mark.parametrize("path", ["/webgpu-test", "/api/runs", "/static/x.js", "/no/such"])
def test_any_other_host_is_refused_before_routing(live: Live, host: str, path: str) -> None:
    request = f"GET {path} HTTP/1.1\r\nConnection: close\r\nHost: {host}\r\n\r\n"
    answer = live.raw(request.encode("utf-8"))
    assert answer.startswith(b"HTTP/1.1 400 "), answer
    assert b"application/problem+json" in answer


def test_a_name_can_be_allowed(serve: Serve) -> None:
    live = serve(allowed_hosts=("gpu.lan",))
    assert live.client.get("/api/cases", headers={"Host": "gpu.lan:1"}).status_code == 200
    assert live.client.get("/api/cases", headers={"Host": "x.gpu.lan"}).status_code == 400


@pytest.mark.parametrize("site", ["cross-site", "same-site", "", "Same-Origin", "none, none", "x"])
@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_what_another_site_caused_is_refused(live: Live, method: str, path: str, site: str) -> None:
    # An Origin that fits does not help: another port of this machine cannot forge it, but a
    # browser that says cross-site means it.
    headers = {"Sec-Fetch-Site": site, "Origin": live.url}
    response = live.client.request(method, path, headers=headers)
    assert (response.status_code, response.json()["type"]) == (403, "urn:fa2:problem:cross-origin")


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.test",
        "null",
        "",
        "http://localhost:1",
        "http://localhost",
        "https://127.0.0.1",
        "http://127.0.0.1:{port}.evil.test",
        "http://127.0.0.1:{port}/",
        "http://evil.test@127.0.0.1:{port}",
        "ftp://127.0.0.1:{port}",
        "127.0.0.1:{port}",
        "file://",
        "http://[::1",
    ],
)
@pytest.mark.parametrize(("method", "path"), [ROUTES[0], ROUTES[4], ROUTES[9], ROUTES[12]])
def test_an_origin_that_is_not_the_host_is_refused(
    live: Live, method: str, path: str, origin: str
) -> None:
    headers = {"Origin": origin.format(port=live.port)}
    response = live.client.request(method, path, headers=headers)
    assert (response.status_code, response.json()["type"]) == (403, "urn:fa2:problem:cross-origin")


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "none"},
        {"Origin": "http://127.0.0.1:{port}"},
        {"Origin": "HTTP://127.0.0.1:{port}".lower()},
    ],
)
def test_the_page_and_plain_clients_are_admitted(live: Live, headers: dict[str, str]) -> None:
    headers = {name: value.format(port=live.port) for name, value in headers.items()}
    assert live.client.get("/api/runs", headers=headers).status_code == 200
    created = live.client.post("/api/runs", headers=headers, json={"case": CASE})
    assert created.status_code == 201
    live.client.post(f"/api/runs/{created.json()['runs'][0]}/cancel")


def test_a_default_port_may_be_left_out(live: Live) -> None:
    headers = {"Host": "localhost", "Origin": "http://localhost:80"}
    assert live.client.get("/api/runs", headers=headers).status_code == 200
    for other in ("https://localhost:80", "http://localhost:81"):
        headers["Origin"] = other
        assert live.client.get("/api/runs", headers=headers).status_code == 403


def test_links_from_elsewhere_reach_the_page_but_cannot_start_anything(live: Live) -> None:
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert live.client.get("/webgpu-test?suite=seed&run=1", headers=headers).status_code == 200
    before = len(live.store.all())
    for method in ("GET", "POST"):
        live.client.request(method, "/api/runs", headers=headers, json={"case": CASE})
    assert len(live.store.all()) == before


@pytest.mark.parametrize(
    "request_",
    [
        b"GARBAGE\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /api/cases HTTP/1.1\r\n\r\n",
        b"GET /api/cases HTTP/1.0\r\n\r\n",
        b"GET /api/cases HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
        b"GET /api/cases HTTP/1.1\r\nHost: localhost\r\nOrigin: a\r\nOrigin: b\r\n\r\n",
        b"GET /api/cases HTTP/1.1\r\nHost: localhost\r\n"
        b"Sec-Fetch-Site: none\r\nSec-Fetch-Site: none\r\n\r\n",
        b"GET /api/cases HTTP/1.1\r\nHost: localhost\r\nOrigin: \xff\xfe\r\n\r\n",
        b"POST /api/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST /api/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
        b"POST /api/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n"
        b"Content-Length: 2\r\n\r\nab",
        b"POST /api/runs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n",
        b"GET " + b"/" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /api/cases HTTP/1.1\r\nHost: localhost\r\n folded\r\n\r\n",
        b"GET /api/cases HTTP/1.1\r\nNo colon\r\n\r\n",
        b"GET /api/cases HTTP/1.1\r\nHost: local\0host\r\n\r\n",
        b"CONNECT evil.test:443 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET http://evil.test/api/cases HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /api/runs/%00%ff HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /static/%00 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /static/..%2f..%2fpyproject.toml HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /static/../api/runs HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /static//etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /static/" + b"a" * 3000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /webgpu-test?%ff=%zz;;&&=& HTTP/1.1\r\nHost: evil\r\n\r\n",
    ],
)
def test_malformed_requests_get_4xx_and_the_headers(live: Live, request_: bytes) -> None:
    head = live.raw(request_).partition(b"\r\n\r\n")[0].lower()
    assert head.startswith(b"http/1.1 4"), head
    for name, value in EVERY_RESPONSE.items():
        assert f"{name}: {value}".encode().lower() in head
    assert b"application/problem+json" in head
    assert live.client.get("/api/cases").status_code == 200, "the process lives"


def test_after_a_malformed_request_the_connection_is_closed(live: Live) -> None:
    with socket.create_connection(("127.0.0.1", live.port), timeout=10) as connection:
        connection.sendall(
            b"GARBAGE\r\n\r\n" + b"GET /api/cases HTTP/1.1\r\nHost: localhost\r\n\r\n"
        )
        answer = b""
        while chunk := connection.recv(65536):  # until it hangs up, or the test times out
            answer += chunk
    assert answer.count(b"HTTP/1.1 ") == 1


def test_headers_without_an_end_are_hung_up_on(live: Live) -> None:
    head = b"GET /api/cases HTTP/1.1\r\nHost: localhost\r\nX: "
    answer = b""
    with contextlib.suppress(ConnectionError):  # it hangs up while we still talk
        answer = live.raw(head + b"y" * 4_000_000)
    assert not answer or answer.startswith(b"HTTP/1.1 4")
    assert live.client.get("/api/cases").status_code == 200, "the process lives"


def test_noise_in_headers_gets_4xx_or_is_ignored(live: Live) -> None:
    random_ = random.Random(0)
    names = [b"Host", b"Origin", b"Content-Length", b"Sec-Fetch-Site", b"Cookie", b"Authorization"]
    names += [b"Content-Type", b"Content-Digest", b"Transfer-Encoding", b"Expect", b"Upgrade"]
    for _ in range(150):
        lines = [b"PUT /api/runs/0/tensors/o HTTP/1.1", b"Host: localhost"]
        for name in random_.sample(names, 3):
            lines.append(name + b": " + random_.randbytes(random_.randrange(30)))
        answer = live.raw(b"\r\n".join([*lines, b"", b""]))
        assert not answer or answer.startswith((b"HTTP/1.1 4", b"HTTP/1.1 100")), (lines, answer)
    assert live.client.get("/api/cases").status_code == 200, "the process lives"


def test_nothing_speaks_websocket(live: Live) -> None:
    head = b"GET /api/runs HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, close\r\n"
    head += b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AA==\r\n\r\n"
    assert not live.raw(head).startswith(b"HTTP/1.1 101")
