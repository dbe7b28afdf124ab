"""One string names a case: the pytest id, ``?case=`` of the URL, the CLI argument, the heading.

    forward:B=2,T=48,H=3,D=8,seed=7        backward:Tq=37,Tk=64,H=4,Hkv=2,D=16,causal=0

The keys stand in ``grammar.py``. They may come in any order; they are printed in the order of
the grammar with defaults left out, so equal cases have equal strings.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from server import grammar
from server.errors import CaseError
from server.grammar import KEYS, MAX_ELEMENTS


@dataclass(frozen=True, kw_only=True)
class Case:
    """One attention problem with its inputs, checked when it is made (CaseError).

    >>> case = Case.parse("forward:D=8,T=48,H=4,Hkv=2,seed=0x10")
    >>> str(case), case.Tq, case.Tk
    ('forward:T=48,H=4,Hkv=2,D=8,seed=16', 48, 48)
    >>> str(case.replace(seed=0, Tk=64, layout="bhtd"))
    'forward:Tq=48,Tk=64,H=4,Hkv=2,D=8,layout=bhtd'
    """

    op: str = "forward"
    B: int = 1
    Tq: int
    Tk: int
    H: int = 1
    Hkv: int = 0
    """Key and value heads; 0 stands for H and is stored as such."""
    D: int
    causal: bool = True
    align: str = "br"
    window: tuple[int, int] = (-1, -1)
    softcap: float = 0.0
    scale: float | None = None
    """Rounded to float32; None is 1/√D, and a number equal to it is stored as None."""
    bias: str = "none"
    dtype: str = "f32"
    layout: str = "bthd"
    dist: str = "normal"
    attn: bool = False
    seed: int = 0
    kernel: str = "auto"

    def __post_init__(self) -> None:
        if self.op not in grammar.OPS:
            raise CaseError(f"op={self.op!r} is unknown; a case starts with forward: or backward:")
        if not isinstance(self.Hkv, bool) and self.Hkv == 0:
            object.__setattr__(self, "Hkv", self.H)
        for name, key in KEYS.items():
            value = None if name == "T" else getattr(self, name)
            if value is None and name in ("T", "scale"):
                continue
            try:
                object.__setattr__(self, name, key.fix(value))
            except (ValueError, TypeError, OverflowError):
                raise CaseError(grammar.refusal(name, value)) from None
        if self.scale is not None and np.float32(self.scale) == _default_scale(self.D):
            object.__setattr__(self, "scale", None)
        self._check_together()

    def _check_together(self) -> None:
        if self.H % self.Hkv:
            raise CaseError(
                f"Hkv={self.Hkv} does not divide H={self.H}: each key head serves H/Hkv query heads"
            )
        if self.layout == "packed" and self.Tq != self.Tk:
            raise CaseError(
                f"layout=packed keeps q, k and v of a row together, so Tq={self.Tq} must equal "
                f"Tk={self.Tk}; use layout=bthd or bhtd"
            )
        for name, shape in self.shapes().items():
            if math.prod(shape) > MAX_ELEMENTS:
                sizes = " x ".join(map(str, shape))
                raise CaseError(
                    f"{name} would hold {sizes} = {math.prod(shape)} numbers; a tensor holds at "
                    f"most {MAX_ELEMENTS} (1 GiB of float32): use smaller sizes"
                )

    @classmethod
    def parse(cls, text: str) -> Case:
        """The case that ``text`` names; CaseError with the key and what is allowed."""
        try:
            return cls(**grammar.read(text))
        except CaseError as error:
            shown = text if len(text) <= grammar.MAX_LENGTH else text[:60] + "…"
            raise CaseError(f"case {shown!r}: {error}") from None

    def __str__(self) -> str:
        values = {name: getattr(self, name) for name in KEYS if name != "T"}
        defaults = {**_DEFAULTS, "Hkv": self.H}
        if self.Tq == self.Tk:
            values["T"] = defaults["Tq"] = defaults["Tk"] = self.Tq
        shown = (n for n in KEYS if n in values and values[n] != defaults.get(n))
        return f"{self.op}:" + ",".join(f"{n}={KEYS[n].show(values[n])}" for n in shown)

    def replace(self, **changes: Any) -> Case:
        """This case with some fields changed; CaseError as when parsing.

        ``T=`` sets Tq and Tk. What stood at its default follows: Hkv follows H, scale follows D.
        """
        if "T" in changes:
            changes["Tq"] = changes["Tk"] = changes.pop("T")
        if self.Hkv == self.H:
            changes.setdefault("Hkv", 0)
        for name in changes:
            if name not in KEYS and name != "op":
                raise CaseError(grammar.unknown(name))
        return dataclasses.replace(self, **changes)

    @property
    def scale_f32(self) -> np.float32:
        """The factor of QKᵀ as the kernel and the reference use it."""
        return _default_scale(self.D) if self.scale is None else np.float32(self.scale)

    @property
    def offset(self) -> int:
        """Query row i stands on the diagonal at key i + offset."""
        return self.Tk - self.Tq if self.align == "br" else 0

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Logical shapes of ``q k v do bias`` and ``attn``, those that the case has."""
        B, H, Tq, Tk = self.B, self.H, self.Tq, self.Tk
        shapes: dict[str, tuple[int, ...]] = {"q": (B, Tq, H, self.D)}
        shapes["k"] = shapes["v"] = (B, Tk, self.Hkv, self.D)
        if self.op == "backward":
            shapes["do"] = shapes["q"]
        if self.bias != "none":
            shapes["bias"] = {
                "tt": (Tq, Tk),
                "htt": (H, Tq, Tk),
                "bhtt": (B, H, Tq, Tk),
                "b11t": (B, 1, 1, Tk),
            }[self.bias]
        if self.attn:
            shapes["attn"] = (B, H, Tq, Tk)
        return shapes

    def to_job(self) -> dict[str, Any]:
        """The resolved fields for the page, ready for JSON: a seed above 2⁵³ must be a string."""
        job = dataclasses.asdict(self)
        del job["kernel"]
        job.update(window=list(self.window), scale=float(self.scale_f32), seed=str(self.seed))
        return job


def _default_scale(D: int) -> np.float32:
    return np.float32(1 / math.sqrt(D))


_DEFAULTS = {
    field.name: field.default
    for field in dataclasses.fields(Case)
    if field.default is not dataclasses.MISSING
}
