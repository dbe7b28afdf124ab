"""A run as a zip file that another machine can replay: what was run, where, and what came of it.

::

    case.json          what was asked for; `fa2 replay` reads it
    report.json        the verdict, as the judge gave it
    environment.json   adapter, engine, versions, how the browser was started
    outputs.json       SHA-256, type and shape of each output
    outputs.npz        the outputs themselves, where they were kept
    kernels.json       the registry of kernels and tiles as it was
    shaders/…          every shader file as the run had it, edited ones too
    own/…              a kernel of one's own and its manifest, if it was one
    README.txt

Nothing in it names this user's folders: paths that begin with the home folder begin with ~.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy.typing as npt

from server.errors import CaseError
from server.exports import npy
from server.history import History, Kept, told
from server.history_own import FOLDER as OWN
from server.shader_texts import REGISTRY

FORMAT = 1
SHADERS = "shaders/"
STAMP = (2000, 1, 1, 0, 0, 0)  # the same run gives the same bytes

NOT_REPEATED = {
    "golden": "a golden check: its inputs are those of the set's files, on which `fa2 golden` "
    "runs it again",
    "train": "a training, which `fa2 train` runs again from its preset, gate and seed",
}

README = """\
A run of webgpu-fa2, packed up by `fa2 repro`.

  case      {case}
  verdict   {verdict}
  kernel    {kernel}
  adapter   {adapter}
  engine    {engine}
  finished  {finished}
  edited    {edited}
  outputs   {outputs}

Replay it elsewhere:

  fa2 replay {name}.zip

That runs the case with the texts under shaders/ (and own/) in place of the installed ones, judges
it again, and prints the verdict of here beside the one in report.json. What was computed depends
on the seed in the case alone, so inputs are not in this file.

{message}
"""


def write_repro(history: History, kept: Kept) -> bytes:
    """The zip file. Raises HistoryError, and CaseError for what no zip can repeat."""
    check_repeatable(kept)
    texts = history.texts(kept.row["run"])
    return pack(kept, texts, history.outputs(kept))


def check_repeatable(kept: Kept) -> None:
    """Raises CaseError for what no zip can repeat."""
    if why := NOT_REPEATED.get(kept.row["kind"]):
        raise CaseError(
            f"{kept.row['run'][:8]} is {why}; `fa2 history --kind run,bench` lists what can be "
            "packed up"
        )


def pack(kept: Kept, texts: Mapping[str, str], outputs: Mapping[str, npt.NDArray[Any]]) -> bytes:
    """A run with its texts by path and those of its outputs that there are."""
    row = told(kept.row)
    report = kept.report if row["kind"] == "run" else kept.report.get("report") or {}
    request = dict(kept.request)
    environment = {
        "engine": row["engine"],
        "adapter": kept.report.get("adapter"),
        **request.pop("environment", {}),
    }
    case = {
        "format": FORMAT,
        "run": row["run"],
        "kind": row["kind"],
        "origin": row["origin"],
        "finished": row["finished"],
        "edited": report.get("edited", []),
        **request,
    }
    files: dict[str, bytes] = {
        "README.txt": _readme(kept, row, case, bool(outputs)).encode(),
        "case.json": _json(case),
        "report.json": _json(kept.report),
        "environment.json": _json(environment),
        "outputs.json": _json(kept.digests),
    }
    for path, text in texts.items():
        inside = path if path == REGISTRY or path.startswith(OWN) else SHADERS + path
        files[inside] = text.encode("utf-8", "replace")
    if outputs:
        files["outputs.npz"] = _npz(outputs)
    return _zip({name: without_home(data, name) for name, data in files.items()})


def name_of(kept: Kept) -> str:
    """What the file is called, without the suffix.

    >>> name_of(Kept({"run": "0a1b2c3d4e5f6071", "status": "fail"}, {}, {}, {}, {}))
    'fa2-fail-0a1b2c3d'
    """
    return f"fa2-{kept.row['status']}-{kept.row['run'][:8]}"


def without_home(data: bytes, name: str) -> bytes:
    """A text in which this user's home folder is ~; arrays as they are."""
    home = str(Path.home())
    if name.endswith(".npz") or len(home) < 4:  # "/" is everybody's
        return data
    # In JSON a backslash is two.
    for written in (home, home.replace("\\", "\\\\")):
        data = data.replace(written.encode(), b"~")
    return data


def _readme(kept: Kept, row: Mapping[str, Any], case: Mapping[str, Any], outputs: bool) -> str:
    kernel = row["kernel"] + (f" ({row['own']}, not one of ours)" if row["own"] else "")
    return README.format(
        case=row["case"],
        verdict=row["status"],
        kernel=kernel,
        adapter=row["adapter"] or "unknown",
        engine=row["engine"] or "unknown",
        finished=row["finished"],
        edited=", ".join(case["edited"]) or "nothing: the shipped texts",
        outputs="outputs.npz" if outputs else "not kept: only their SHA-256, in outputs.json",
        name=name_of(kept),
        message=kept.report.get("message", ""),
    )


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _npz(arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    return _zip({f"{name}.npy": npy(array) for name, array in arrays.items()})


def _zip(files: Mapping[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            info = zipfile.ZipInfo(name, STAMP)
            info.external_attr = 0o644 << 16
            inner = name.endswith(".npz")  # deflated inside already
            info.compress_type = zipfile.ZIP_STORED if inner else zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
    return file.getvalue()
