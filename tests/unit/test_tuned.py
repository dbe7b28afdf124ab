"""Where the tables of tuned tiles lie, one an adapter, and what is refused as one."""

from __future__ import annotations

from pathlib import Path

import pytest

from server import tuned
from server.errors import CaseError

H200 = {"vendor": "nvidia", "architecture": "hopper", "device": "", "description": "H200"}


def test_what_is_saved_for_an_adapter_is_loaded_for_it_and_for_no_other(tmp_path: Path) -> None:
    table = {"kernels": {"fa2_forward": [{"TX": 8}]}, "choices": []}
    tuned.save(table, tuned.path_of(H200, tmp_path))
    assert tuned.load({**H200, "limits": {}}, tmp_path) == table
    for name in tuned.NAMES:
        assert tuned.load({**H200, name: "other"}, tmp_path) == {}


def test_the_file_is_named_after_the_adapter_and_nothing_of_it_becomes_a_path(
    tmp_path: Path,
) -> None:
    assert tuned.path_of(H200, tmp_path).name.startswith("nvidia-hopper-")
    odd = tuned.path_of({"vendor": "../../etc", "device": "a/b\0c" * 40}, tmp_path)
    assert odd.parent == tmp_path
    assert len(odd.name) < 80
    assert tuned.path_of({}, tmp_path).name.startswith("adapter-")


def test_the_folder_is_the_users_data_folder_unless_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuned, "_SYSTEM", "linux")
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert tuned.tuned_folder() == Path("/data/fa2/tuned")
    monkeypatch.setenv("FA2_TUNED_DIR", "/mine")
    assert tuned.tuned_folder() == Path("/mine")


@pytest.mark.parametrize(
    "text",
    ["[1]", "{", "", '{"kernels": NaN}', '{"adapter": 3}', "[" * 100_000],
)
def test_a_file_that_is_no_table_is_refused_by_name(text: str, tmp_path: Path) -> None:
    path = tuned.path_of(H200, tmp_path)
    path.write_text(text)
    with pytest.raises(CaseError, match=f"{path.name} .*fa2 tune"):
        tuned.load(H200, tmp_path)


def test_a_table_that_says_that_it_is_of_another_adapter_is_refused(tmp_path: Path) -> None:
    path = tuned.path_of(H200, tmp_path)
    tuned.save({"adapter": H200}, path)
    assert tuned.load({**H200, "limits": {}}, tmp_path) == {"adapter": H200}
    tuned.save({"adapter": {**H200, "architecture": "ampere"}}, path)  # as if copied over
    with pytest.raises(CaseError, match="of another adapter; delete it"):
        tuned.load(H200, tmp_path)


def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CaseError, match=r"cannot be written.*--out"):
        tuned.save({}, tmp_path / "file" / "table.json")
