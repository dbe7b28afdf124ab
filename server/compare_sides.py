"""What one side of a comparison is: a kernel of ours, a file, or a run of the history."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from server import own_kernel
from server.cases import Case
from server.errors import CaseError
from server.history import History, Kept
from server.history_own import FOLDER, MANIFEST
from server.history_place import history_file
from server.own_given import Given
from server.paths import STATIC
from server.replay import plan
from server.repro import NOT_REPEATED, check_repeatable, pack
from server.repro_file import parse_repro
from server.selection import kernel_names

_RUN = re.compile(r"last|[0-9a-f]{6,32}")


@dataclass(frozen=True)
class Side:
    """``options`` are arguments of ``Harness.run`` and ``Harness.bench``; ``kernel`` is the case's
    unless ``own`` says otherwise; ``given``: how a file was named."""

    label: str
    kernel: str = "auto"
    options: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    given: Given | None = None

    def case(self, case: Case) -> Case:
        """What this side runs of ``case``."""
        return case.replace(kernel=self.kernel)

    def named_again(self, message: str) -> str:
        """A report's message, with a file named in it as the command named it."""
        return (
            message if self.given is None else self.given.named_again(message, self.options["own"])
        )


def read_side(word: str, history: Path | None = None, *, with_tiles: bool = True) -> Side:
    """From a word of the command line: a kernel's name, the path of a .wgsl file, or a run's id
    (``last``, an id, or six or more characters of its beginning).

    ``history``: the file; None takes this user's. ``with_tiles``: as in ``replay.plan``. Raises
    CaseError when it is none of them, and ManifestError for a file whose manifest is wrong.
    """
    if word.endswith(".wgsl"):
        given = Given(Path(word))
        own = given.read()
        return Side(str(own["name"]), options={"own": own}, given=given)
    names = kernel_names()
    if word in names:
        return Side(word, word)
    if _RUN.fullmatch(word):
        return _kept(word, history or history_file(), with_tiles)
    raise CaseError(
        f"{word!r} is no kernel ({', '.join(names)}), no .wgsl file, and no run of the history"
    )


def _kept(word: str, path: Path | None, with_tiles: bool) -> Side:
    if path is None:
        raise CaseError(f"{word!r} may be a run, but no history is kept here")
    history = History(path)
    return kept_side(history, history.named(word, besides=NOT_REPEATED), with_tiles=with_tiles)


def kept_side(history: History, kept: Kept, *, with_tiles: bool = True) -> Side:
    """What a run of the history ran. Raises CaseError for one that cannot be repeated."""
    label = f"run {kept.row['run'][:8]}"
    texts = history.texts(kept.row["run"])
    if MANIFEST in texts:
        return Side(f"{label} ({kept.row['own']})", options={"own": _own(kept.row["own"], texts)})
    check_repeatable(kept)
    # Read as what comes from elsewhere is; its outputs, which may be large, are not compared.
    repro = parse_repro(pack(kept, texts, {}), label)
    how = plan(repro, STATIC, with_tiles=with_tiles)
    options = {"shaders": how.shaders, "tuned": how.tuned}
    return Side(f"{label} ({how.case.kernel})", how.case.kernel, options, tuple(how.notes))


def _own(name: str, texts: Mapping[str, str]) -> dict[str, Any]:
    files = {
        path.removeprefix(FOLDER): text
        for path, text in texts.items()
        if path.startswith(FOLDER) and path != MANIFEST
    }
    own = {"name": name, "manifest": json.loads(texts[MANIFEST]), "files": files}
    return own_kernel.checked(own, "the run's manifest")
