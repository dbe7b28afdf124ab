"""The route by which a page gets the tiles that were measured on its adapter."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from server import tuned
from server.app import create_app
from server.settings import Settings

ADAPTER = {"vendor": "google", "architecture": "swiftshader", "device": "", "description": "x"}


async def ask(folder: Path, **query: str) -> httpx.Response:
    app = create_app(Settings(tuned_dir=folder))
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        return await client.get("/api/tuned", params=query)


@pytest.mark.anyio
async def test_an_adapter_gets_its_own_table_and_no_more_than_the_library_reads(
    tmp_path: Path,
) -> None:
    kernels = {"fa2_forward": [{"maxD": 64, "TX": 8}]}
    tuned.save({"kernels": kernels, "written": "then"}, tuned.path_of(ADAPTER, tmp_path))
    answer = await ask(tmp_path, **ADAPTER)
    assert answer.json() == {"kernels": kernels, "choices": []}
    other = await ask(tmp_path, **{**ADAPTER, "vendor": "other"})
    assert (other.status_code, other.json()) == (200, {"kernels": {}, "choices": []})


@pytest.mark.anyio
async def test_a_broken_file_is_a_problem_with_its_name(tmp_path: Path) -> None:
    path = tuned.path_of(ADAPTER, tmp_path)
    path.write_text("no")
    answer = await ask(tmp_path, **ADAPTER)
    assert answer.status_code == 500
    assert path.name in answer.json()["detail"]
