"""Which cases the words of a command line mean."""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from server.cases import Case
from server.errors import CaseError
from server.grammar import OPS
from server.paths import STATIC
from server.suites import suite

DEFAULT_SUITE = "seed"
REGISTRY = STATIC / "js" / "attention" / "kernels.json"


@dataclass(frozen=True)
class Selected:
    """A case to run; ``named``: its id itself was written down, so its refusal is an error."""

    case: Case
    named: bool = False


def select(words: Sequence[str], suite_name: str | None = None, **changes: Any) -> list[Selected]:
    """The cases that ``words`` name, each once, in the order given; without words a whole suite.

    A word with ``*``, ``?`` or ``[`` is a glob over the case ids of ``suite_name``, or of every
    suite; any other word is a case of its own. ``changes`` (kernel, seed) go into every case.

    Raises CaseError for a word that is no case, a glob that matches nothing, an unknown kernel.
    """
    if not words:
        found = [Selected(case) for case in suite(suite_name or DEFAULT_SUITE)]
    else:
        found = [one for word in words for one in _meant(word, suite_name)]
    changed = _unique(Selected(one.case.replace(**changes), one.named) for one in found)
    for one in changed:
        check_kernel(one.case.kernel)
    return changed


def kernel_names() -> list[str]:
    """What a case's ``kernel`` may say: auto, the families, and every kernel of the registry."""
    rows = json.loads(REGISTRY.read_text(encoding="utf-8"))["kernels"]
    names = [row[key] for row in rows if row["op"] in OPS for key in ("family", "name")]
    return list(dict.fromkeys(["auto", *names]))


def kernel_features() -> list[str]:
    """The WebGPU features that some kernel, tile or file of a kernel asks for."""

    def within(value: Any) -> Iterator[str]:
        if isinstance(value, dict):
            yield from value.get("features", ())
        for inner in value.values() if isinstance(value, dict) else value:
            if isinstance(inner, dict | list):
                yield from within(inner)

    return list(dict.fromkeys(within(json.loads(REGISTRY.read_text(encoding="utf-8")))))


def check_kernel(name: str) -> None:
    """A kernel that does not exist is a mistake in the command, found before a browser starts."""
    if name not in (names := kernel_names()):
        raise CaseError(f"there is no kernel {name!r}; the kernels are {', '.join(names)}")


def from_ids(ids: Iterable[str], **changes: Any) -> list[Selected]:
    """Cases remembered as text, with ``changes``; what this version no longer understands is left
    out."""
    found = []
    for text in ids:
        try:
            found.append(Selected(Case.parse(text).replace(**changes)))
        except CaseError:
            continue
    return _unique(found)


def is_glob(word: str) -> bool:
    return any(sign in word for sign in "*?[")


def _meant(word: str, suite_name: str | None) -> list[Selected]:
    if not is_glob(word):
        return [Selected(Case.parse(word), named=True)]
    # The suite long is for a GPU, and asked for by its name.
    pools = [suite(suite_name)] if suite_name else [suite("full")]
    matches = [
        Selected(case) for pool in pools for case in pool if fnmatch.fnmatchcase(str(case), word)
    ]
    if not matches:
        where = f"the suite {suite_name or 'full'}"
        raise CaseError(f"no case of {where} matches {word!r}; `fa2 list` prints the case ids")
    return matches


def _unique(found: Iterable[Selected]) -> list[Selected]:
    """Each case once: a case that is named anywhere is named."""
    named: dict[Case, bool] = {}
    for one in found:
        named[one.case] = named.get(one.case, False) or one.named
    return [Selected(case, is_named) for case, is_named in named.items()]
