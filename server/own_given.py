"""A kernel of somebody's own as a command line names it: what is read, how it is named again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from server import own_kernel


@dataclass(frozen=True)
class Given:
    """``grid`` and ``outputs`` replace what the manifest says; empty = it has the word."""

    kernel: Path
    manifest: Path | None = None
    grid: Sequence[str] = ()
    outputs: Sequence[str] = ()

    def read(self) -> dict[str, Any]:
        """As a run takes it. Raises CaseError and ManifestError."""
        return own_kernel.read(
            self.kernel, self.manifest, self.grid or None, outputs=self.outputs or None
        )

    @property
    def words(self) -> str:
        """Behind ``fa2 check``, quoted for a shell.

        >>> Given(Path("../my kernels/a.wgsl"), grid=["T", "B * H"]).words
        "'../my kernels/a.wgsl' --grid T --grid 'B * H'"
        """
        named = [str(self.kernel)]
        if self.manifest is not None:
            named += ["--manifest", str(self.manifest)]
        for option, values in (("--grid", self.grid), ("--outputs", self.outputs)):
            named += [word for value in values for word in (option, value)]
        return shlex.join(named)

    def named_again(self, message: str, own: Mapping[str, Any]) -> str:
        """A report's message whose ``again:`` line can be pasted where the command was given: who
        judges has the texts, and knows nothing of folders and options.
        """
        plain = f"again: fa2 check {shlex.quote(own_kernel.source(own))} '"
        return message.replace(plain, f"again: fa2 check {self.words} '")
