"""What the words of a command line mean, and what is remembered of failures."""

from __future__ import annotations

from pathlib import Path

import pytest

from server import remembered
from server.cases import Case
from server.cli_run import selection
from server.errors import CaseError
from server.selection import from_ids, select
from server.suites import SUITES


def ids(*words: str, **options: object) -> list[str]:
    return [str(one.case) for one in select(words, **options)]


def test_without_words_a_whole_suite_is_meant() -> None:
    assert ids() == [str(case) for case in SUITES["seed"]]
    assert ids(suite_name="smoke") == [str(case) for case in SUITES["smoke"]]


def test_a_case_is_taken_as_written_and_knows_that_it_was_named() -> None:
    (one,) = select(["forward:D=8,T=4"])
    assert (str(one.case), one.named) == ("forward:T=4,D=8", True)
    assert not any(one.named for one in select([]))


def test_a_glob_looks_in_every_suite_or_in_the_one_named() -> None:
    everywhere = ids("*kernel=baseline")
    assert everywhere
    assert all(case.endswith("kernel=baseline") for case in everywhere)
    assert len(everywhere) == len(set(everywhere))
    assert ids("forward:T=*", suite_name="seed") == [
        str(case) for case in SUITES["seed"] if str(case).startswith("forward:T=")
    ]


def test_a_case_that_a_glob_finds_too_runs_once_and_stays_named() -> None:
    case = str(SUITES["seed"][0])
    found = select(["forward:T=16,*", case])
    assert [one.named for one in found if str(one.case) == case] == [True]


def test_kernel_and_seed_override_every_case() -> None:
    for one in select([], kernel="baseline", seed=7):
        assert (one.case.kernel, one.case.seed) == ("baseline", 7)


def test_what_means_nothing_is_refused() -> None:
    with pytest.raises(CaseError, match="matches 'backward:X"):
        select(["backward:X*"])
    with pytest.raises(CaseError, match="no case of the suite seed"):
        select(["*D=256*"], "seed")
    with pytest.raises(CaseError, match="no suite 'sead'"):
        select([], "sead")
    with pytest.raises(CaseError, match="there is no key 'Z'"):
        select(["forward:T=4,D=8,Z=1"])
    with pytest.raises(CaseError, match="no kernel 'nope'; the kernels are auto, fa2, fa2_forward"):
        select([], kernel="nope")


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(remembered, "_SYSTEM", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "cache"


def test_failures_are_remembered_until_they_pass(cache: Path) -> None:
    assert remembered.failures() == []
    remembered.remember(ran=["a", "b", "c"], failed=["b", "c"])
    remembered.remember(ran=["b"], failed=[])
    assert remembered.failures() == ["c"]
    remembered.remember(ran=["d"], failed=["d"])
    assert remembered.failures() == ["c", "d"]
    assert cache.is_dir()


def test_every_folder_has_a_memory_of_its_own(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    remembered.remember(["a"], ["a"])
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    assert remembered.failures() == []


def test_a_spoilt_memory_is_no_memory(cache: Path) -> None:
    remembered.remember(["a"], ["a"])
    (file,) = (cache / "fa2" / "failed").iterdir()
    for text in ("", "[]", '{"failed": 3}', '{"failed": [1, null]}'):
        file.write_text(text)
        assert remembered.failures() == []


def test_a_memory_that_cannot_be_written_only_warns(
    cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cache.write_text("a file where the folder should be")
    remembered.remember(["a"], ["a"])
    assert "could not be remembered" in capsys.readouterr().err


def test_remembered_text_that_is_no_case_any_more_is_left_out() -> None:
    found = from_ids(["forward:T=4,D=8", "forward:T=4,D=8,gone=1"])
    assert [one.case for one in found] == [Case.parse("forward:T=4,D=8")]


def test_only_what_failed_of_a_selection_runs_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    seed, smoke = (str(SUITES[name][-1]) for name in ("seed", "smoke"))
    own = "forward:T=5,D=4"
    remembered.remember([], [seed, own, smoke])

    def again(*words: str, suite: str | None = None, **changes: str) -> list[str]:
        found = selection(words, suite, changes.get("kernel"), changes.get("seed"), True)
        return [str(one.case) for one in found]

    assert again() == [seed, own, smoke]
    assert again(suite="seed") == [seed]
    assert again("forward:T=6,D=4", own) == [own]
    assert again("forward:T=6,D=4") == ["forward:T=6,D=4"], "it has not failed"
    assert again(own, kernel="baseline", seed="7") == [f"{own},seed=7,kernel=baseline"]
    assert again(kernel="baseline")[1] == f"{own},kernel=baseline"
    (named,) = selection([own], None, None, None, True)
    assert named.named
