"""`fa2 check --watch` where the system does not tell of saves."""

from __future__ import annotations

from pathlib import Path

import pytest

from server.errors import CaseError
from server.own_watch import saves


@pytest.mark.parametrize("error", [OSError("no notices"), RuntimeError("too many watches")])
def test_where_files_cannot_be_watched_the_way_out_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("server.own_watch.watch", refuse)
    with pytest.raises(CaseError, match=rf"\({error}\).*WATCHFILES_FORCE_POLLING=1"):
        next(saves([tmp_path], set))
