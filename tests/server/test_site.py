"""The page and its files arrive with the right types, fresh, and nothing else does."""

from __future__ import annotations

import mimetypes
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Live, Serve

from server import __version__
from server.settings import Settings

TYPES = {
    "a.js": "text/javascript; charset=utf-8",
    "a.mjs": "text/javascript; charset=utf-8",
    "a.JS": "text/javascript; charset=utf-8",
    "a.css": "text/css; charset=utf-8",
    "a.json": "application/json",
    "a.wgsl": "text/wgsl; charset=utf-8",
    "a.svg": "image/svg+xml",
    "a.npy": "application/octet-stream",
    "a.wasm": "application/wasm",
    "a.unknown": "application/octet-stream",
    "noextension": "application/octet-stream",
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in place of static/, with something next to it that is nobody's business."""
    tmp_path = tmp_path_factory.mktemp("site")
    static = tmp_path / "static"
    (static / "js" / "attention").mkdir(parents=True)
    for name in TYPES:
        (static / name).write_text("'text'")
    (tmp_path / "secret.txt").write_text("secret")
    (static / "way-out").symlink_to(tmp_path / "secret.txt")
    return static


@pytest.fixture(scope="module")
def site(files: Path) -> Iterator[Live]:
    """A server for that folder."""
    with Live(static_dir=files) as server:
        yield server


def test_types_do_not_depend_on_the_machine(serve: Serve, files: Path) -> None:
    try:
        for suffix in (".js", ".mjs", ".css", ".json", ".wgsl", ".svg", ".wasm"):
            mimetypes.add_type("text/plain", suffix)  # what some Windows registries do
        assert mimetypes.guess_type("a.js")[0] == "text/plain", "the poison works"
        live = serve(static_dir=files)
        for name, kind in TYPES.items():
            assert live.client.get(f"/static/{name}").headers["content-type"] == kind, name
    finally:
        mimetypes.init()


def test_an_edited_file_is_seen_at_once_and_an_unchanged_one_is_not_sent(
    site: Live, files: Path
) -> None:
    first = site.client.get("/static/a.wgsl")
    assert (first.text, first.headers["cache-control"]) == ("'text'", "no-cache")
    condition = {"If-None-Match": first.headers["etag"]}
    unchanged = site.client.get("/static/a.wgsl", headers=condition)
    assert (unchanged.status_code, unchanged.content) == (304, b"")
    assert "content-security-policy" in unchanged.headers
    (files / "a.wgsl").write_text("'edit'")
    os.utime(files / "a.wgsl", ns=(0, 1))
    assert site.client.get("/static/a.wgsl", headers=condition).text == "'edit'"


@pytest.mark.parametrize(
    "path", ["way-out", "../secret.txt", "%2e%2e/secret.txt", "js", "js/", "nope.js", "%00"]
)
def test_only_files_inside_the_folder_are_served(site: Live, path: str) -> None:
    answer = site.raw(f"GET /static/{path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 404 ")
    assert b"application/problem+json" in answer
    assert b"secret" not in answer.partition(b"\r\n\r\n")[2].replace(b"secret.txt", b"")


def test_a_file_that_may_not_be_read_is_not_found(
    site: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr("starlette.staticfiles.StaticFiles.lookup_path", denied)
    assert site.client.get("/static/a.js").status_code == 404


@pytest.mark.parametrize("value", ["bytes=0-2", "bytes=99-", "nonsense", "bytes=,"])
def test_ranges_are_ignored(site: Live, value: str) -> None:
    response = site.client.get("/static/a.js", headers={"Range": value})
    assert (response.status_code, response.text) == (200, "'text'")


def test_the_page_comes_from_the_template(live: Live) -> None:
    response = live.client.get("/webgpu-test?case=<script>alert(1)</script>&run=1")
    assert response.status_code == 200
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert __version__ in response.text
    assert "alert(1)" not in response.text
    assert live.client.head("/webgpu-test").content == b""


def test_the_root_leads_to_the_page_and_the_icon_is_quiet(live: Live) -> None:
    root = live.client.get("/")
    assert (root.status_code, root.headers["location"]) == (307, "/webgpu-test")
    assert live.client.get("/favicon.ico").status_code == 204


def test_the_kernel_registry_is_read_where_the_library_keeps_it(site: Live, files: Path) -> None:
    missing = site.client.get("/api/kernels")
    assert (missing.status_code, missing.json()["type"]) == (404, "urn:fa2:problem:no-registry")
    (files / "js" / "attention" / "kernels.json").write_text('[{"name": "fa2_forward"}]')
    assert site.client.get("/api/kernels").json() == [{"name": "fa2_forward"}]


def test_the_files_of_this_installation_are_there() -> None:
    static = Settings().static_dir
    assert (static / "js" / "attention" / "kernels.json").is_file()
