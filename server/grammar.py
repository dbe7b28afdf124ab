"""What a case string may say: every key, the values it takes, how text becomes values and back.

:data:`KEYS` is the grammar, one row a key, in the order of printing. ``read`` checks the text,
``fix`` the value, so a case made in Python obeys the same rules as one that was parsed.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from server.errors import CaseError

OPS = ("forward", "backward")
DISTS = (
    "normal",
    "uniform",
    "f16exact",
    "zeros",
    "ties",
    "onehot",
    "large",
    "negative",
    "growing",
    "headscaled",
    "indexcoded",
)
"""How the inputs are made: ``inputs.py`` defines each."""
MAX_ELEMENTS = 1 << 28
"""Most numbers in one tensor (1 GiB of float32), so that a mistyped size allocates nothing."""
MAX_LENGTH = 500
"""Longest case string that is looked at; the longest sensible one has about 250 characters."""
FEATURE = "[a-z][a-z0-9-]{0,63}"
"""How names of WebGPU features look, as a regular expression; a case may run without some."""


@dataclass(frozen=True)
class Key:
    """A row of the grammar."""

    takes: str
    """Completes the sentence ``B takes …``."""
    text: str
    """Regular expression of the whole text behind ``=``."""
    read: Callable[[str], Any]
    """From matching text to a value, not yet checked."""
    fix: Callable[[Any], Any]
    """From a value, out of a text or out of Python, to the stored one; ValueError or TypeError."""
    show: Callable[[Any], str] = str


def _whole(low: int, high: int) -> Callable[[Any], int]:
    def fix(value: Any) -> int:
        if isinstance(value, bool) or not low <= operator.index(value) <= high:
            raise ValueError
        return operator.index(value)

    return fix


def _flag(value: Any) -> bool:
    if isinstance(value, (bool, np.bool_)) or operator.index(value) in (0, 1):
        return bool(value)
    raise ValueError


def _float32(value: Any) -> float:
    """Rounded to float32, as the kernels get it; no subnormal, since a GPU may flush it to 0."""
    with np.errstate(over="ignore", under="ignore"):
        x = np.float32(value)
    if isinstance(value, (bool, str)) or not np.isfinite(x):
        raise ValueError
    if value != 0 and abs(x) < np.finfo(np.float32).tiny:
        raise ValueError
    return float(x) + 0.0  # -0.0 becomes 0.0


def _not_negative(value: Any) -> float:
    x = _float32(value)
    if x < 0:
        raise ValueError
    return x


def _window(value: Any) -> tuple[int, int]:
    left, right = value
    side = _whole(-1, MAX_ELEMENTS)
    return side(left), side(right)


def show_float32(value: float) -> str:
    """The shortest text that reads back as the same float32.

    Without ``+``, which a URL query reads as a space.

    >>> [show_float32(x) for x in (2.0, 0.1, 1e20, 1e-5)]
    ['2', '0.1', '1e20', '1e-5']
    """
    mantissa, _, exponent = str(np.float32(value)).partition("e")
    mantissa = mantissa.removesuffix(".0")
    return f"{mantissa}e{int(exponent)}" if exponent else mantissa


def _choice(*names: str) -> Key:
    def fix(value: Any) -> str:
        if not isinstance(value, str) or value not in names:
            raise ValueError
        return value

    return Key(f"one of {', '.join(names)}", r".*", str, fix)


def _kernel(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,63}", value):
        raise ValueError
    return value


def _number(text: str) -> float:
    value = float(text)
    if value == 0 and re.search("[1-9]", re.split("[eE]", text)[0]):
        raise ValueError  # 1e-400 is no way to say 0
    return value


_NUMBER = r"-?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?"
_SIZE = Key(f"a whole number from 1 to {MAX_ELEMENTS}", r"[0-9]+", int, _whole(1, MAX_ELEMENTS))
_FLAG = Key("0 or 1", r"[01]", lambda text: text == "1", _flag, lambda value: str(int(value)))

KEYS: dict[str, Key] = {
    "B": _SIZE,
    "T": _SIZE,
    "Tq": _SIZE,
    "Tk": _SIZE,
    "H": _SIZE,
    "Hkv": _SIZE,
    "D": _SIZE,
    "causal": _FLAG,
    "align": _choice("br", "tl"),
    "window": Key(
        f"l:r, each a whole number from 0 to {MAX_ELEMENTS}, or -1 for open on that side",
        r"-?[0-9]+:-?[0-9]+",
        lambda text: tuple(int(side) for side in text.split(":")),
        _window,
        lambda value: f"{value[0]}:{value[1]}",
    ),
    "softcap": Key(
        "0 (off) or a positive finite float32 number, 1.1754944e-38 at least",
        _NUMBER,
        _number,
        _not_negative,
        show_float32,
    ),
    "scale": Key(
        "0 or a finite float32 number, 1.1754944e-38 at least in size",
        _NUMBER,
        _number,
        _float32,
        show_float32,
    ),
    "bias": _choice("none", "tt", "htt", "bhtt", "b11t"),
    "dtype": _choice("f32", "f16"),
    "layout": _choice("bthd", "bhtd", "packed"),
    "dist": _choice(*DISTS),
    "attn": _FLAG,
    "seed": Key(
        "a decimal or 0x… hexadecimal number below 2**64",
        r"[0-9]+|0[xX][0-9a-fA-F]+",
        lambda text: int(text, 16 if text[:2] in ("0x", "0X") else 10),
        _whole(0, 2**64 - 1),
    ),
    "kernel": Key(
        "auto, baseline, fa2 or a kernel's registry name (a-z, 0-9, _ and -)", r".*", str, _kernel
    ),
}


def refusal(name: str, value: object) -> str:
    """The sentence for a value that a key does not take."""
    return f"{name}={value} is not allowed; {name} takes {KEYS[name].takes}"


def unknown(name: str) -> str:
    """The sentence for a key that does not exist."""
    return f"there is no key {name!r}; the keys are {', '.join(KEYS)}"


def read(text: str) -> dict[str, Any]:
    """The keyword arguments of ``Case`` that ``text`` spells out; CaseError."""
    if len(text) > MAX_LENGTH:
        raise CaseError(f"{len(text)} characters are too many; a case has at most {MAX_LENGTH}")
    if re.search(r"\s", text):
        raise CaseError("a case holds no spaces")
    op, colon, rest = text.partition(":")
    if op not in OPS or not colon:
        raise CaseError(f"it starts with {op!r}; a case starts with forward: or backward:")
    values: dict[str, Any] = {"op": op}
    for item in rest.split(","):
        name, equals, value = item.partition("=")
        if not equals:
            raise CaseError(f"{item!r} is not KEY=VALUE; the keys are {', '.join(KEYS)}")
        if name not in KEYS:
            raise CaseError(unknown(name))
        if name in values:
            raise CaseError(f"{name} is given twice; each key may stand once")
        values[name] = read_value(name, value)
    return _resolve_lengths(values)


def read_value(name: str, text: str) -> Any:
    """The checked value of one key; the refusal quotes the text as it was typed."""
    key = KEYS[name]
    try:
        if not re.fullmatch(key.text, text):
            raise ValueError
        return key.fix(key.read(text))
    except (ValueError, OverflowError):
        raise CaseError(refusal(name, text)) from None


def _resolve_lengths(values: dict[str, Any]) -> dict[str, Any]:
    lengths = [name for name in ("T", "Tq", "Tk") if name in values]
    if lengths not in (["T"], ["Tq", "Tk"]):
        given = " beside ".join(lengths) or "no length"
        raise CaseError(f"it has {given}; give either T, or both Tq and Tk")
    if "D" not in values:
        raise CaseError(f"it has no D; D takes {KEYS['D'].takes}")
    if "T" in values:
        values["Tq"] = values["Tk"] = values.pop("T")
    return values
