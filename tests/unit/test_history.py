"""What the history keeps of runs, how it is asked, and what it forgets."""

from __future__ import annotations

import hashlib
import math
import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kept_runs import ADAPTER, CASE, finished, keep

from server import history_rows
from server.errors import CaseError
from server.history import History, told
from server.history_entry import Circumstances
from server.history_filter import Filter, moment
from server.history_limits import Limits
from server.history_place import history_file

KERNEL = "fa2_forward.wgsl"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "history.db"


def count(path: Path, table: str) -> int:
    with sqlite3.connect(path) as database:
        found = database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    database.close()
    return int(found)


def names(history: History, **filters: Any) -> list[str]:
    return [row["case"] for row in history.rows(Filter(**filters))]


def test_a_file_that_does_not_exist_is_an_empty_history(path: Path) -> None:
    history = History(path)
    assert history.rows() == []
    assert history.get("0" * 16) is None
    assert history.clear() == 0
    assert not path.exists()


def test_a_run_is_kept_with_all_that_its_report_says(path: Path) -> None:
    run, report = finished(status="fail", ratio=7.5, gpu_ns=1500.0)
    history = keep(path, (run, report))
    (row,) = history.rows()
    assert (row["run"], row["case"], row["status"], row["worst"]) == (run.id, CASE, "fail", 7.5)
    assert (row["adapter"], row["engine"], row["bad"]) == ("acme one (software)", "NumPy", 3)
    assert (row["origin"], row["elapsed_ns"], row["gpu_ns"]) == ("python", 2e6, 1500.0)
    kept = history.get(run.id)
    assert kept is not None
    assert kept.report == report.to_dict()
    assert kept.request["without"] == ["shader-f16"]
    assert kept.request["environment"]["numpy"] == np.__version__
    assert datetime.fromisoformat(told(row)["finished"]).tzinfo is UTC


@pytest.mark.parametrize(
    ("argument", "kept"),
    [
        ("--proxy-server=http://me:KE/Y@proxy:3128", "--proxy-server=http://…/…"),
        ("--x=https://h/?token=KEY", "--x=https://h/…"),
        ("--proxy-server=http://proxy:3128", "--proxy-server=http://proxy:3128"),
        ("--window-size=800,600", "--window-size=800,600"),
    ],
)
def test_arguments_of_the_browser_are_kept_without_keys(argument: str, kept: str) -> None:
    launched = {"browser": "chrome", "args": [argument]}
    environment = Circumstances.here("run", launched).environment
    assert environment["launched"] == {"browser": "chrome", "args": [kept]}


def test_an_output_of_nan_is_the_worst_of_all_and_stays_valid_json(path: Path) -> None:
    history = keep(path, finished(status="fail", ratio=math.nan))
    (row,) = history.rows()
    assert row["worst"] == math.inf
    assert told(row)["worst"] == "inf"


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({}, [3, 2, 1, 0]),
        ({"case": "D=16"}, [1]),
        ({"case": "backward:*"}, [3]),
        ({"case": "forward:T=[!8]*"}, [2, 1]),
        ({"kernel": "wide"}, [2]),
        ({"status": "fail,error"}, [2, 1]),
        ({"adapter": "ACME"}, [3, 2, 1, 0]),
        ({"adapter": "nvidia*"}, []),
        ({"since": "1h"}, [3, 2, 1, 0]),
        ({"since": "2999-01-01"}, []),
        ({"limit": 2}, [3, 2]),
    ],
)
def test_filters_pick_runs(path: Path, filters: dict[str, Any], found: list[int]) -> None:
    runs = [
        finished(CASE),
        finished("forward:T=16,D=16", "fail"),
        finished("forward:T=32,D=8", "error", kernel="fa2_forward_wide"),
        finished("backward:T=8,D=4"),
    ]
    history = keep(path, *runs)
    assert names(history, **filters) == [str(runs[n][0].case) for n in found]


def test_pages_follow_one_another_without_gap_or_repeat(path: Path) -> None:
    history = keep(path, *(finished(f"forward:T={n},D=4") for n in range(1, 8)))
    seen, before = [], None
    while page := history.rows(Filter(limit=3, before=before)):
        seen += [row["case"] for row in page]
        before = page[-1]["seq"]
    assert seen == [f"forward:T={n},D=4" for n in range(7, 0, -1)]


@pytest.mark.parametrize(
    ("filters", "reason"),
    [
        ({"status": "bad"}, "status='bad' is unknown"),
        ({"since": "yesterday"}, "since='yesterday' is no time"),
        ({"limit": 0}, "limit=0: 1 to 1000"),
        ({"case": "x" * 201}, "case has 201 characters"),
        ({"kernel": "\udcff"}, "is no text in UTF-8"),
    ],
)
def test_a_filter_that_says_nothing_is_refused(
    path: Path, filters: dict[str, Any], reason: str
) -> None:
    with pytest.raises(CaseError, match=reason):
        History(path).rows(Filter(**filters))


def test_a_duration_of_ages_is_since_ever() -> None:
    assert moment("999999w") == datetime.fromtimestamp(0, UTC)


def test_a_run_is_found_by_the_beginning_of_its_id(path: Path) -> None:
    (first, report), second = finished(), finished()
    first.id, second[0].id = "abcd000000000001", "abce000000000002"
    history = keep(path, (first, report), second)
    assert history.find("abcd") == first.id
    assert history.find("last") == second[0].id
    assert history.find(first.id) == first.id
    with pytest.raises(CaseError, match="begins several runs: abc"):
        history.find("abc")
    with pytest.raises(CaseError, match="has no run 'ff'"):
        history.find("ff")
    with pytest.raises(CaseError, match="is no run"):
        history.find("../etc")


def test_texts_are_those_of_the_run_and_kept_once(path: Path) -> None:
    edited = finished(shaders={KERNEL: "// edited\n"})
    history = keep(path, finished(), finished(), edited)
    shipped = count(path, "texts") - 1
    texts = history.texts(edited[0].id)
    assert texts[KERNEL] == "// edited\n"
    assert "common/params.wgsl" in texts
    assert "kernels.json" in texts
    assert shipped == len(texts)  # the kernel both ways, everything else once
    assert count(path, "bundles") == 2
    digest = hashlib.sha256(b"// edited\n").hexdigest()
    assert history.text(edited[0].id, digest) == "// edited\n"
    kept = history.get(edited[0].id)
    assert kept is not None
    assert kept.texts[KERNEL] == {"sha256": digest, "bytes": 10}
    assert kept.row["edited"] == 1


def test_outputs_are_kept_of_what_is_wrong_and_digests_of_all(path: Path) -> None:
    right, wrong = finished(), finished(status="fail")
    history = keep(path, right, wrong)
    for run, kept_bytes in ((right[0], False), (wrong[0], True)):
        kept = history.get(run.id)
        assert kept is not None
        assert bool(kept.row["kept_bytes"]) == kept_bytes
        o = run.tensors["o"]
        assert kept.digests["o"]["sha256"] == hashlib.sha256(o.tobytes()).hexdigest()
        outputs = history.outputs(kept)
        assert outputs.keys() == (run.tensors.keys() if kept_bytes else set())
        for name, array in outputs.items():
            np.testing.assert_array_equal(array, run.tensors[name], strict=True)


def test_outputs_beyond_the_budget_are_dropped_oldest_first(path: Path) -> None:
    runs = [finished(status="fail") for _ in range(4)]
    history = keep(path, runs[0])
    (row,) = history.rows()
    keep(path, *runs[1:], limits=Limits(output_bytes=2 * row["kept_bytes"]))
    assert [bool(row["kept_bytes"]) for row in history.rows()] == [True, True, False, False]


def test_outputs_of_a_large_run_are_not_kept(path: Path) -> None:
    history = keep(path, finished(status="fail"), limits=Limits(run_output_bytes=10))
    assert [row["kept_bytes"] for row in history.rows()] == [0]


def test_only_the_newest_rows_stay_and_what_they_refer_to(path: Path) -> None:
    keep(path, finished(shaders={KERNEL: "// old\n"}), *(finished() for _ in range(3)))
    history = keep(path, finished(), limits=Limits(rows=2))
    assert len(history.rows()) == 2
    assert count(path, "reports") == 2
    assert count(path, "bundles") == 1
    assert count(path, "adapters") == 1
    with sqlite3.connect(path) as database:
        orphans = database.execute(
            "SELECT count(*) FROM texts WHERE id NOT IN (SELECT text FROM bundle_files)"
        ).fetchone()
    database.close()
    assert orphans == (0,)


def test_one_run_is_forgotten_with_all_that_was_kept_of_it(path: Path) -> None:
    edited = finished(status="fail", shaders={KERNEL: "// mine\n"})
    history = keep(path, finished(), edited)
    before = count(path, "texts")
    assert history.delete(edited[0].id)
    assert not history.delete(edited[0].id)
    assert len(history.rows()) == 1
    assert (count(path, "outputs"), count(path, "texts")) == (0, before - 1)
    assert history.clear() == 1
    assert count(path, "texts") == 0


def test_a_run_that_cannot_be_written_does_not_take_others_with_it(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    broken = finished()
    insert = history_rows.insert

    def spoilt(database: Any, entry: Any, **options: Any) -> None:
        if entry.id == broken[0].id:
            raise ValueError("no JSON")
        insert(database, entry, **options)

    monkeypatch.setattr("server.history_writer.insert", spoilt)
    history = keep(path, finished(), broken, finished())
    assert len(history.rows()) == 2
    assert "no JSON" in caplog.text


def test_the_file_lies_where_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", "/somewhere")
    assert history_file() == Path("/somewhere/fa2/history.db")
    monkeypatch.setenv("FA2_HISTORY", "/else/where.db")
    assert history_file() == Path("/else/where.db")
    for word in ("0", "off", ""):
        monkeypatch.setenv("FA2_HISTORY", word)
        assert history_file() is None


def test_the_adapter_is_kept_once_and_told_whole(path: Path) -> None:
    history = keep(path, finished(), finished())
    kept = history.get(history.find("last"))
    assert kept is not None
    assert kept.report["adapter"] == ADAPTER
    assert count(path, "adapters") == 1
