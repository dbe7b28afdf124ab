"""The page with other libraries: a policy of its own, locked files, and only where it was asked."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest
from conftest import Live, Serve
from fake_page import client, content_digest

from server import peers_lock, peers_onnx, routes_peers
from server.cases import Case
from server.inputs import make_inputs
from server.peers_comparison import Comparison
from server.peers_lock import Package
from server.reference import attention
from server.routes_peers import PAGE, Desk
from server.security import CSP
from server.service import Service
from server.settings import Settings

CASE = Case.parse("forward:T=8,H=2,D=4")


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[httpx.Client, Desk]]:
    """A server with the page, and a folder with a locked file and another one."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "a.mjs").write_text("1;")
    (tmp_path / "lib" / "other.mjs").write_text("2;")
    package = Package(
        "ort", "lib", "1.0.0", "MIT", "", {"a.mjs": hashlib.sha256(b"1;").hexdigest()}
    )
    monkeypatch.setattr(peers_lock, "of", lambda peers: [package])
    service = Service(Settings(port=0))
    found = routes_peers.install(service.app, tmp_path, ["ort", "jax"])
    with service, client(service.url) as http:
        yield http, found


def waiting(desk: Desk) -> Comparison:
    desk.current = Comparison(CASE, ["ort", "jax"], 30, 0.1, 30.0, 60.0)
    return desk.current


def test_an_ordinary_server_has_neither_page_nor_routes(serve: Serve) -> None:
    live: Live = serve()
    for path in (PAGE, "/peers/lib/a.mjs", "/api/peers/job"):
        assert live.client.get(path).status_code == 404, path


def test_webassembly_is_allowed_on_the_page_alone(desk: tuple[httpx.Client, Desk]) -> None:
    http = desk[0]
    policy = http.get(PAGE).headers["content-security-policy"]
    assert "script-src 'self' 'wasm-unsafe-eval';" in policy
    assert policy.replace(" 'wasm-unsafe-eval'", "") == CSP
    for path in ("/webgpu-test", "/peers/lib/a.mjs", "/api/peers/job", "/static/style.css", "/x"):
        assert http.get(path).headers["content-security-policy"] == CSP, path
    assert http.get(PAGE).headers["cross-origin-embedder-policy"] == "require-corp"


def test_only_locked_files_are_served_with_their_types(desk: tuple[httpx.Client, Desk]) -> None:
    http = desk[0]
    found = http.get("/peers/lib/a.mjs")
    assert (found.text, found.headers["content-type"]) == ("1;", "text/javascript; charset=utf-8")
    for path in ("lib/other.mjs", "lib/../lib/other.mjs", "../secret", "lib", ""):
        assert http.get(f"/peers/{path}").status_code == 404, path


def test_another_site_gets_nothing(desk: tuple[httpx.Client, Desk]) -> None:
    found = desk[0].get("/api/peers/job", headers={"Sec-Fetch-Site": "cross-site"})
    assert found.status_code == 403


def test_a_comparison_is_given_once_with_its_model(desk: tuple[httpx.Client, Desk]) -> None:
    http = desk[0]
    assert http.get("/api/peers/job").status_code == 204
    current = waiting(desk[1])
    job = http.get("/api/peers/job").json()
    assert (job["comparison"], job["case"]) == (current.id, str(CASE))
    assert http.get("/api/peers/job").status_code == 204
    assert http.get(job["models"]["ort"]).content == peers_onnx.attention(CASE)


def test_outputs_are_judged_once_all_are_here(desk: tuple[httpx.Client, Desk]) -> None:
    http = desk[0]
    url = f"/api/peers/{waiting(desk[1]).id}"
    o = attention(**make_inputs(CASE))["o"].astype("<f4")
    for subject, array, right in (("ours", o, True), ("jax", o + np.float32(0.01), False)):
        assert http.post(f"{url}/check/{subject}").status_code == 409
        data = array.tobytes()
        headers = {"Content-Digest": content_digest(data)}
        sent = http.put(f"{url}/outputs/{subject}/o", content=data, headers=headers)
        assert sent.status_code == 204, sent.text
        assert http.post(f"{url}/check/{subject}").json()["right"] is right


@pytest.mark.parametrize("place", ["tfjs/o", "jax/lse", "jax/dq"])
def test_what_nobody_asked_for_is_not_taken(desk: tuple[httpx.Client, Desk], place: str) -> None:
    url = f"/api/peers/{waiting(desk[1]).id}/outputs/{place}"
    assert desk[0].put(url, content=b"").status_code == 404


def test_a_comparison_that_is_over_takes_nothing(desk: tuple[httpx.Client, Desk]) -> None:
    current = waiting(desk[1])
    current.fail("the browser ended")
    found = desk[0].post(f"/api/peers/{current.id}/done", json={"peers": []})
    assert found.status_code == 404
