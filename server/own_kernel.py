"""A kernel that is not ours: its manifest and its texts, read from files or from a request.

Whatever is wrong raises ManifestError with the field and the reason, before a browser starts. The
page, which can read WGSL, has the last word on what the text binds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from server import own_names
from server.cases import Case
from server.errors import CaseError, ManifestError
from server.outputs import outputs_of
from server.paths import STATIC
from server.schemas_own import OUTPUTS, Manifest
from server.shader_files import MAX_TEXT, shader_paths, text_bytes
from server.strict_json import loads

MAX_FILES = 8
_USE = re.compile(r"^[ \t]*//[ \t]*@use\b[ \t]*(\S*)", re.MULTILINE)
_TRIED = re.compile(
    r"bool|str|int|float|constrained-\w+|TypedConstant|Scratch|(?:list|union)\[.*|\[key\]"
)
_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,95}\.wgsl")


def read(
    path: Path,
    manifest: str | Path | Mapping[str, Any] | None = None,
    grid: Sequence[str] | None = None,
    *,
    outputs: Sequence[str] | None = None,
) -> dict[str, Any]:
    """The kernel in a file with the manifest beside it, as a run takes it (``own=``).

    ``manifest``: another file, or the manifest itself; ``grid`` and ``outputs`` replace what it
    says of them. Raises CaseError when a file cannot be read, ManifestError for what is wrong in
    the manifest.
    """
    if path.suffix != ".wgsl":
        raise CaseError(f"{path} is no .wgsl file")
    if manifest is None and path.with_suffix(".json").is_file():
        manifest = path.with_suffix(".json")
    where = path.name
    said: Mapping[str, Any] = {}
    if isinstance(manifest, Mapping):
        said = manifest
    elif manifest is not None:
        where = Path(manifest).name
        said = _json(Path(manifest))
    if grid is not None:
        said = {**said, "grid": list(grid)}
    if outputs is not None:
        said = {**said, "outputs": list(outputs)}
    files = {path.name: _text(path)}
    ours = shader_paths(STATIC)
    waiting = [*_file_names(said), *_USE.findall(files[path.name])]
    while waiting:
        name = waiting.pop()
        if _FILE_NAME.fullmatch(name) and name not in files and name not in ours:
            files[name] = _text(path.parent / name)
            waiting += _USE.findall(files[name])
    return checked({"name": path.stem, "manifest": said, "files": files}, where)


def checked(own: Mapping[str, Any], where: str = "manifest") -> dict[str, Any]:
    """A kernel with its manifest held against its schema and, as far as words go, its texts.

    ``own``: ``{"name", "manifest": {…}, "files": {name: WGSL text}}``, the kernel's file first.
    ``where`` stands in front of what is wrong. Raises ManifestError.
    """
    # Editors on Windows begin a file with a mark that WGSL does not know.
    files = {name: text.removeprefix("\ufeff") for name, text in own["files"].items()}
    if not files:
        raise ManifestError(f"{where}: files: there is no WGSL text")
    if len(files) > MAX_FILES:
        raise ManifestError(f"{where}: files: {len(files)} files, a kernel has at most {MAX_FILES}")
    for name, text in files.items():
        if not _FILE_NAME.fullmatch(name):
            raise ManifestError(
                f"{where}: files: {name[:100]!r} must be the name of a .wgsl file, without folders"
            )
        if (size := text_bytes(text)) > MAX_TEXT:
            raise ManifestError(f"{where}: {name} has {size} bytes; at most {MAX_TEXT} are taken")
    try:
        manifest = Manifest.model_validate(own["manifest"])
    except ValidationError as error:
        raise ManifestError(f"{where}: {_said(error)}") from None
    _check_texts(manifest, files, where)
    plain = manifest.model_dump(exclude_none=True, exclude_defaults=True, exclude={"schema_"})
    name = manifest.name or str(own.get("name") or next(iter(files)).removesuffix(".wgsl"))
    return {"name": _plain(name), "manifest": {"op": manifest.op, **plain}, "files": files}


def judged(own: Mapping[str, Any] | None, case: Case) -> list[str] | None:
    """Which of a case's outputs are judged, None = all; of a backward o and lse, which a forward
    gives, too. ManifestError when nothing of the kernel's would be.
    """
    said = None if own is None else own["manifest"].get("outputs")
    if own is None or said is None or own["manifest"]["op"] != case.op:
        return None
    names = [spec.name for spec in outputs_of(case)]
    if not set(names) & set(said):
        raise ManifestError(
            f"outputs: {', '.join(said)} is nothing that {case} asks for; it has {', '.join(names)}"
        )
    given = OUTPUTS["forward"] if case.op == "backward" else ()
    return [name for name in names if name in said or name in given]


def in_place_of(case: Case, asked: str | None) -> Case:
    """The case as a kernel that is not ours runs it, whichever kernel it names. CaseError where
    one of ours is asked for beside it.
    """
    if asked not in (None, "auto"):
        raise CaseError(
            f"kernel {asked!r} is one of ours, and so is not what a request with a kernel of its "
            "own runs; leave one of the two out"
        )
    return case.replace(kernel="auto")


def source(own: Mapping[str, Any]) -> str:
    """The name of the kernel's file."""
    return str(own["manifest"].get("file") or next(iter(own["files"])))


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name)[:64] or "own"


def _json(path: Path) -> dict[str, Any]:
    text = _text(path)
    try:
        value = loads(text)
    except ValueError as error:
        raise ManifestError(f"{path.name}: no JSON: {error}") from None
    if not isinstance(value, dict):
        raise ManifestError(
            f"{path.name}: a manifest is an object, this is a {type(value).__name__}"
        )
    return value


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_TEXT:
            raise CaseError(f"{path} has more than {MAX_TEXT} bytes")
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise CaseError(f"{path} is not UTF-8") from None
    except OSError as error:
        raise CaseError(f"{path} cannot be read: {error.strerror or error}") from None


def _file_names(manifest: Mapping[str, Any]) -> list[str]:
    """Every ``file`` in a manifest that nobody has checked yet."""
    found = []
    for value in (manifest, *_dicts(manifest.get("passes")), *_dicts([manifest.get("forward")])):
        if isinstance(value.get("file"), str):
            found.append(value["file"])
    for forward in _dicts([manifest.get("forward")]):
        found += [
            p["file"] for p in _dicts(forward.get("passes")) if isinstance(p.get("file"), str)
        ]
    return found


def _dicts(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _said(error: ValidationError) -> str:
    """The most telling of the things that are wrong, as ``passes[0].grid: …``."""

    def telling(one: Mapping[str, Any]) -> tuple[int, bool]:
        # Of a value that may be of several types, each says that it is not of that type.
        return -len(_places(one["loc"])), one["type"].endswith("_type")

    first = min(error.errors(), key=telling)
    places = _places(first["loc"])
    field = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in places).lstrip(".")
    message = str(first["msg"]).removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        known = [one.alias or name for name, one in Manifest.model_fields.items()]
        message = "there is no such field"
        message += f"; there are {', '.join(known)}" if len(places) == 1 else ""
    elif first["type"] != "value_error":
        message += f", not {str(first['input'])[:60]!r}"
    return f"{field}: {message}" if field else message


def _places(loc: Sequence[int | str]) -> list[int | str]:
    """Without the names of union members that were tried, which are no part of a field's name."""
    return [place for place in loc if isinstance(place, int) or not _TRIED.fullmatch(place)]


def _check_texts(manifest: Manifest, files: Mapping[str, str], where: str) -> None:
    """What the manifest names stands in the texts, as far as that can be seen without a parser."""
    main = manifest.file or next(iter(files))
    passes = manifest.passes or []
    named = [("file", manifest.file)]
    named += [(f"passes[{n}].file", one.file) for n, one in enumerate(passes)]
    for field, name in named:
        if name is not None and name not in files:
            raise ManifestError(
                f"{where}: {field}: there is no {name}; there is {', '.join(files)}"
            )
    used = {main, *(p.file for p in passes if p.file)}
    texts = "\n".join(files[name] for name in used)
    if not _USE.search(texts):  # else the page, which has the other files, says it
        for field, reason in own_names.wrong(manifest, texts, main):
            raise ManifestError(f"{where}: {field}: {reason}")
    if manifest.forward is not None:
        _check_texts(manifest.forward, files, f"{where}: forward")
