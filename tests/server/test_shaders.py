"""Shader files: their list, what a case asks of them, pages that are told of a saved one."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import time
from pathlib import Path

import pytest
from conftest import Live, Serve
from fake_page import FakePage

from server import shader_files
from server.errors import CaseError
from server.paths import STATIC
from server.settings import Settings
from server.shader_texts import ShaderTexts

SHIPPED = "common/masking.wgsl"


@pytest.fixture
def static(tmp_path: Path) -> Path:
    """A copy whose shaders may be edited."""
    shutil.copytree(STATIC / "shaders", tmp_path / "shaders")
    return tmp_path


def told(live: Live, page: FakePage, file: Path, text: str) -> dict[str, object]:
    """The event after a save; a server that has only just started may not watch yet."""
    for n in range(20):
        file.write_text(text + "\n" * n, encoding="utf-8")
        with contextlib.suppress(Exception):
            return page.next_event("shader", timeout_s=0.5)
    raise AssertionError("no page was told")


def test_all_shader_files_are_listed_with_the_hash_of_what_is_served(live: Live) -> None:
    found = live.client.get("/api/shaders").json()
    assert found["watched"] is False
    paths = [one["path"] for one in found["shaders"]]
    assert paths == sorted(paths)
    assert "fa2_forward.wgsl" in paths
    (one,) = (one for one in found["shaders"] if one["path"] == SHIPPED)
    served = live.client.get(f"/static/shaders/{SHIPPED}").content
    assert one == {
        "path": SHIPPED,
        "sha256": hashlib.sha256(served).hexdigest(),
        "size_bytes": len(served),
    }


def test_a_link_that_leads_out_of_the_folder_is_no_shader_file(static: Path) -> None:
    folder, secret = static / "shaders", static / "secret.wgsl"
    secret.write_text("not theirs")
    before = set(shader_files.texts(static))
    (folder / "out.wgsl").symlink_to(secret)
    (folder / "within.wgsl").symlink_to(folder / SHIPPED)
    (folder / "gone.wgsl").symlink_to(folder / "nowhere.wgsl")
    found = shader_files.texts(static)
    assert set(found) - before == {"within.wgsl"}
    assert ShaderTexts(static).all().keys() & {"out.wgsl", "within.wgsl"} == {"within.wgsl"}
    with pytest.raises(CaseError, match="which is no shader file"):
        shader_files.check({"out.wgsl": ""}, static)


def test_a_case_is_told_as_a_job_tells_it(live: Live) -> None:
    url = "/api/cases/forward:causal=1,D=8,T=16"
    found = live.client.get(url, params={"kernel": "fa2", "seed": "0x2a"}).json()
    assert found["case"] == "forward:T=16,D=8,seed=42,kernel=fa2"
    assert found["kernel"] == "fa2"
    assert found["spec"]["Tk"] == 16
    page = live.page()
    live.submit(found["case"], page=page.id)
    assert page.next_event("job")["spec"] == found["spec"]


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("/api/cases/forward:T=16,D=8,colour=red", "there is no key 'colour'"),
        ("/api/cases/forward:T=16,D=8?seed=-1", "seed"),
    ],
)
def test_what_is_no_case_is_refused(live: Live, url: str, says: str) -> None:
    answer = live.client.get(url)
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert says in answer.json()["detail"]


def test_every_page_is_told_of_a_saved_file_and_what_it_holds_now(
    serve: Serve, static: Path
) -> None:
    live = serve(static_dir=static, watch_shaders=True)
    assert live.client.get("/api/shaders").json()["watched"] is True
    pages = [live.page(), live.page()]
    file = static / "shaders" / SHIPPED
    event = told(live, pages[0], file, "// another")
    assert event == {"path": SHIPPED, "sha256": hashlib.sha256(file.read_bytes()).hexdigest()}
    assert pages[1].next_event("shader")["path"] == SHIPPED


def test_a_file_that_is_replaced_at_once_as_editors_do_is_one_event(
    serve: Serve, static: Path
) -> None:
    live = serve(static_dir=static, watch_shaders=True)
    page = live.page()
    told(live, page, static / "shaders" / SHIPPED, "// first")
    while not page.silent():
        pass  # what `told` wrote more than once
    aside = static / "shaders" / "aside.tmp"
    aside.write_text("// replaced", encoding="utf-8")
    os.replace(aside, static / "shaders" / "fa2_delta.wgsl")
    assert page.next_event("shader")["path"] == "fa2_delta.wgsl"
    assert page.silent(), "a file that is no shader, and one that is saved as it was, are no news"
    (static / "shaders" / "fa2_delta.wgsl").write_text("// replaced", encoding="utf-8")
    (static / "notes.md").write_text("no shader", encoding="utf-8")
    assert page.silent(0.4)
    (static / "shaders" / "fa2_delta.wgsl").unlink()
    assert page.next_event("shader") == {"path": "fa2_delta.wgsl", "sha256": None}


def test_with_the_setting_off_nobody_is_told(serve: Serve, static: Path) -> None:
    assert Settings().watch_shaders, "or nothing happens on save"
    live = serve(static_dir=static, watch_shaders=False)
    page = live.page()
    (static / "shaders" / SHIPPED).write_text("// another", encoding="utf-8")
    assert page.silent(0.4)
    assert live.client.get("/api/shaders").json()["watched"] is False


def test_a_server_without_a_shader_folder_runs(serve: Serve, tmp_path: Path) -> None:
    live = serve(static_dir=tmp_path, watch_shaders=True)
    assert live.client.get("/api/shaders").json()["shaders"] == []


@pytest.mark.parametrize("error", [OSError("no notices"), RuntimeError("too many watches")])
def test_where_files_cannot_be_watched_the_server_says_so_and_runs(
    serve: Serve,
    static: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("server.shader_watch.awatch", refuse)
    live = serve(static_dir=static, watch_shaders=True)
    for _ in range(500):
        if caplog.messages:
            break
        time.sleep(0.02)
    (message,) = caplog.messages
    assert message.endswith(f"is not watched, saved shaders need a reload: {error}")
    assert live.client.get("/api/shaders").status_code == 200


def test_a_benchmark_takes_edited_files_by_the_paths_that_exist(live: Live) -> None:
    body = {"case": "forward:T=8,D=8", "shaders": {"../app.wgsl": "no"}}
    refused = live.client.post("/api/benches", json=body)
    assert refused.status_code == 422
    assert "'../app.wgsl', which is no shader file" in refused.json()["detail"]
    page = live.page()
    body = {**body, "page": page.id, "shaders": {SHIPPED: "// mine"}}
    made = live.client.post("/api/benches", json=body)
    assert made.status_code == 201, made.text
    job = page.next_event("job")
    assert job["shaders"] == {SHIPPED: "// mine"}
    live.client.post(f"/api/benches/{made.json()['bench']}/cancel")
