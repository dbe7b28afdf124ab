"""Names that a WGSL text declares, seen without a parser: enough to find a slip in a manifest."""

from __future__ import annotations

import re
from collections.abc import Iterator

from server.schemas_own import Manifest

# The texts may be anybody's: no pattern takes more than a time in proportion to their length.
_COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_STORAGE = re.compile(r"\bvar\s*<\s*storage\b[^<>]{0,100}>\s*(\w+)")
_UNIFORM = re.compile(r"\bvar\s*<\s*uniform\s*>\s*(\w+)")
_ARGUMENTS = r"\([^()]{0,200}(?:\([^()]{0,200}\)[^()]{0,200}){0,8}\)"
_ENTRY = re.compile(rf"@compute\b(?:\s*@\w+(?:\s*{_ARGUMENTS})?){{0,4}}\s*fn\s+(\w+)")


def wrong(manifest: Manifest, text: str, file: str) -> Iterator[tuple[str, str]]:
    """(field, reason) of names in a manifest that the text does not have."""
    code = without_comments(text)
    storage, entries = _STORAGE.findall(code), _ENTRY.findall(code)
    words = set(re.findall(r"\w+", code))
    for variable in manifest.bindings:
        if variable in storage:
            continue
        if variable in _UNIFORM.findall(code):
            reason = f"{variable} is a uniform; its members belong into uniforms"
        else:
            reason = f"{file} declares no such variable; it declares {_listed(storage)}"
        yield f"bindings.{variable}", reason
    named = [("entry", manifest.entry)]
    named += [(f"passes[{n}].entry", one.entry) for n, one in enumerate(manifest.passes or [])]
    for field, entry in named:
        if entry is not None and entry not in entries:
            yield field, f"{file} has no compute entry point {entry}; it has {_listed(entries)}"
    for name in manifest.constants:
        if name not in words:
            yield f"constants.{name}", f"{file} mentions no {name}"
    for member in manifest.uniforms:
        if not words.issuperset(re.findall(r"[A-Za-z_]\w*", member)):
            yield f"uniforms.{member}", f"{file} mentions no {member}"


def without_comments(text: str) -> str:
    """A WGSL text with a space in place of every comment."""
    return _COMMENT.sub(" ", text)


def _listed(names: list[str]) -> str:
    return ", ".join(dict.fromkeys(names)) or "none"
