"""What kernels told, as a file that travels from the server of a page to a client elsewhere."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np

from server.errors import PageError
from server.outputs import OutputSpec
from server.trace_buffer import Words


def write(words: Words, traced: Sequence[str]) -> bytes:
    """An ``.npz``: ``words`` (u32, the tensor ``trace``) and ``traced``, the kernels with hooks."""
    file = io.BytesIO()
    np.savez_compressed(file, words=words, traced=np.array(list(traced), np.str_))
    return file.getvalue()


def read(data: bytes, spec: OutputSpec) -> tuple[Words, list[str]]:
    """The words and the kernels. Raises PageError for a file that is none, or of another size."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            words, traced = file["words"], [str(name) for name in file["traced"]]
    except Exception as error:  # numpy, zipfile and zlib each have their own
        raise PageError(f"this is no file of what kernels told: {error}") from None
    if words.dtype != np.uint32 or words.shape != spec.shape:
        raise PageError(
            f"what the kernels told is {words.dtype} {words.shape}, not uint32 {spec.shape}; the "
            "server is of another version"
        )
    return words, traced
