"""What `fa2 tune` keeps of an earlier table, and what it refuses before it measures anything."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from server import tuned
from server.cases import Case
from server.errors import CaseError
from server.paths import STATIC
from server.tune import table
from server.tune_earlier import _NOT_SIZES, read
from server.tune_search import Found

ADAPTER = {"vendor": "v", "limits": {}}
TILE = {"TX": 2, "TY": 16, "V_CHUNK": 8, "chunk": 8}
FOUND = Found(
    case=Case.parse("forward:T=64,D=8"),
    before_ns=2e6,
    after_ns=1e6,
    clock="gpu",
    kernel="fa2_forward",
    kernel_before="fa2_forward",
    tiles={"fa2_forward": TILE},
    wrong=("one",),
)
LONG = replace(FOUND, case=Case.parse("forward:T=4096,D=8"))


def written(folder: Path, *changes: dict[str, Any], **top: Any) -> Path:
    """A table of `FOUND` with an entry for each of these changes."""
    made = json.loads(json.dumps(table([FOUND], ADAPTER, "E")))
    [entry] = made["measured"]
    path = folder / "table.json"
    path.write_text(json.dumps({**made, "measured": [{**entry, **c} for c in changes], **top}))
    return path


def test_an_earlier_table_is_kept_but_for_the_cases_that_are_measured_anew(tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    tuned.save(table([FOUND, LONG], ADAPTER, "E"), path)
    earlier = read(path, ADAPTER)
    assert (earlier.found, earlier.dropped) == ((FOUND, LONG), ())
    anew = replace(FOUND, tiles={})
    assert earlier.beside([anew]) == [anew, LONG]
    assert read(tmp_path / "none.json", ADAPTER).beside([FOUND]) == [FOUND]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"tiles": {"fa2_forward": {"OLDNAME": 4}}}, "tiles of fa2_forward are TX, TY"),
        ({"tiles": {"fa2_forward": {**TILE, "OLDNAME": 4}}}, "and not TX, TY, V_CHUNK, chunk, OLD"),
        ({"tiles": {"fa2_forward": {**TILE, "TX": 0}}}, "TX=0 of fa2_forward must be 1 to 4096"),
        ({"tiles": {"fa2_forward": {**TILE, "TX": True}}}, "TX=true of fa2_forward"),
        ({"tiles": {"fa1": TILE}}, "there is no kernel fa1"),
        ({"kernel": "fa1"}, "there is no kernel fa1 for forward"),
        ({"kernel": "fa2_backward"}, "there is no kernel fa2_backward for forward"),
        ({"case": "forward:T=64,D=8,old=1"}, "old"),
        ({"old": 1}, "it has other keys than"),
    ],
)
def test_an_entry_that_the_kernels_of_today_do_not_know_is_dropped_and_named(
    change: dict[str, Any], why: str, tmp_path: Path
) -> None:
    earlier = read(written(tmp_path, {"case": str(LONG.case)}, change), ADAPTER)
    assert [one.case for one in earlier.found] == [LONG.case]
    [said] = earlier.dropped
    assert said.startswith(change.get("case", str(FOUND.case)))
    assert why in said


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"before_ns": "fast"}, r'measured\[0\]\.before_ns="fast"'),
        ({"after_ns": 0}, r"measured\[0\]\.after_ns=0"),
        ({"tiles": [1]}, r"measured\[0\]\.tiles=\[1\]"),
        ({"tiles": {"fa2_forward": 3}}, r"measured\[0\]\.tiles\.fa2_forward=3"),
        ({"wrong": None}, r"measured\[0\]\.wrong=null"),
        ({"case": 3}, r"measured\[0\]\.case=3"),
    ],
)
def test_values_of_wrong_types_are_refused_with_the_way_out(
    change: dict[str, Any], why: str, tmp_path: Path
) -> None:
    with pytest.raises(CaseError, match=f"{why}.*delete it, or name another file with --out"):
        read(written(tmp_path, change), ADAPTER)


@pytest.mark.parametrize(
    "top",
    [
        {"measured": None},
        {"measured": {}},
        {"measured": [3]},
        {"adapter": None},
        {"adapter": {"vendor": "w"}},
    ],
)
def test_what_is_no_table_of_this_adapter_is_refused_with_the_way_out(
    top: dict[str, Any], tmp_path: Path
) -> None:
    with pytest.raises(CaseError, match="delete it, or name another file with --out"):
        read(written(tmp_path, **top), ADAPTER)


def test_a_file_that_is_no_json_is_refused_with_the_way_out(tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    for text in ("{bad", '{"measured": [{"before_ns": NaN}]}', "[" * 100_000):
        path.write_text(text)
        with pytest.raises(CaseError, match="delete it, or name another file with --out"):
            read(path, ADAPTER)


def test_what_is_not_a_number_of_a_tile_is_what_the_library_calls_a_condition() -> None:
    script = "console.log(JSON.stringify((await import(process.argv[1])).CONDITION_NAMES))"
    module = STATIC / "js" / "attention" / "conditions.js"
    done = subprocess.run(
        ["node", "--input-type=module", "-e", script, module.as_uri()],
        check=True,
        capture_output=True,
    )
    assert {*json.loads(done.stdout), "roles", "why"} == _NOT_SIZES
