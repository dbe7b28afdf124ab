"""A page that a person opened on a running `fa2 serve`, found by its name."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from server.adapters import adapter_name, check_adapter
from server.errors import CaseError, HarnessError, NoBrowser
from server.launch_flags import Adapter
from server.remote import Remote

POLL_S = 0.2
SETTLE_S = 10.0
"""For a page to say what it found, or to come back: it reconnects within 4 s, a reload takes 2."""
LEAST_OF_ID = 6  # characters that stand for a whole page id


class RemotePage:
    """Stands where ``Session`` stands. Raises NoBrowser when there is no such page, CaseError when
    there are several, NoAdapter when it offers no fitting adapter.

    ``patient``: it was there before, and may come back.
    """

    young = False
    launched = None  # not by us: no console, no screenshots, nothing to end

    def __init__(
        self, remote: Remote, name: str, adapter: Adapter, *, patient: bool = False
    ) -> None:
        self._remote, self._name = remote, name
        found = self._find(time.monotonic() + (SETTLE_S if patient else 0.0))
        self.page: str = found["page"]
        self.environment: dict[str, Any] = found["environment"]
        check_adapter(self.environment, adapter, f"the page {name!r}", flags=False)

    @property
    def usable(self) -> bool:
        try:
            pages = self._remote.get("/api/pages")
        except HarnessError:
            return False
        return any(one["page"] == self.page and one["connected"] for one in pages)

    def close(self) -> None:
        """It is somebody else's."""

    def _find(self, until: float) -> dict[str, Any]:
        settled = time.monotonic() + SETTLE_S
        while True:
            pages = [one for one in self._remote.get("/api/pages") if one["connected"]]
            matches = matching(pages, self._name)
            if len(matches) > 1:
                raise CaseError(
                    f"--page {self._name!r} is the name of {len(matches)} pages: "
                    f"{_listed(matches)}; give one another name on the page, or use the first "
                    f"{LEAST_OF_ID} or more characters of an id"
                )
            if matches and matches[0]["environment"]:
                return matches[0]
            if time.monotonic() > (settled if matches else until):
                raise NoBrowser(self._absent(pages, bool(matches)))
            time.sleep(POLL_S)

    def _absent(self, pages: Sequence[dict[str, Any]], mute: bool) -> str:
        if mute:
            return (
                f"the page {self._name!r} is connected to {self._remote.url}, but has not said "
                f"within {SETTLE_S:g} s whether it has WebGPU; look at it, or reload it"
            )
        here = f"connected are {_listed(pages)}" if pages else "no page is connected"
        return (
            f"no page called {self._name!r} is connected to {self._remote.url}; {here}. Open "
            f"{self._remote.url}/webgpu-test?name=NAME on the device"
        )


def matching(pages: Sequence[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """The pages that a name means: of that id, else of that name, else whose id begins so."""
    wanted = name.strip().lower()
    if not wanted:  # else pages without a name would be meant
        return []
    for matches in (
        [one for one in pages if one["page"] == name],
        [one for one in pages if one["label"].lower() == wanted],
        [one for one in pages if len(name) >= LEAST_OF_ID and one["page"].startswith(name)],
    ):
        if matches:
            return matches
    return []


def _listed(pages: Sequence[dict[str, Any]]) -> str:
    texts = []
    for one in pages:
        environment = one["environment"] or {}
        adapter = adapter_name(environment.get("adapter")) if environment.get("ok") else "no WebGPU"
        name = one["label"] or environment.get("engine") or "unnamed"
        texts.append(f"{name!r} ({adapter}, id {one['page'][:8]}…)")
    return ", ".join(texts)
