"""Words and texts that come from a page: what is refused, so that what is written down holds."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from server import own_kernel, shader_files
from server.errors import CaseError, ManifestError
from server.paths import STATIC
from server.repro_file import Asked
from server.schemas import Adapter, DoneIn, RunRequest
from server.schemas_benches import BenchRequest
from server.shader_files import MAX_TEXT

CASE = "forward:T=8,D=4"
LONG = "é" * (MAX_TEXT // 2) + "."  # half as many characters as bytes
FITS = LONG[1:]


@pytest.mark.parametrize("name", ["x; rm -rf ~", "$(id)", "-x", "", "Subgroups", "a" * 65, "a\n"])
def test_a_feature_that_was_withheld_is_a_word_and_a_repro_takes_it(name: str) -> None:
    with pytest.raises(ValidationError):
        DoneIn.model_validate({"status": "ok", "adapter": {"withheld": [name]}})
    with pytest.raises(ValidationError):
        Asked.model_validate({"format": 1, "case": CASE, "without": [name]})
    for good in ("shader-f16", "subgroups", "a" * 64):
        assert Adapter(withheld=[good]).withheld == [good]
        assert Asked.model_validate({"format": 1, "case": CASE, "without": [good]})


@pytest.mark.parametrize("model", [RunRequest, BenchRequest])
@pytest.mark.parametrize("field", ["shaders", "own"])
def test_texts_of_a_request_are_counted_in_bytes(model: Any, field: str) -> None:
    def body(text: str) -> dict[str, Any]:
        files = {"fa2_forward.wgsl": text}
        return {"case": CASE, field: files if field == "shaders" else {"files": files}}

    assert model.model_validate(body(FITS))
    with pytest.raises(ValidationError, match=f"has {MAX_TEXT + 1} bytes; at most {MAX_TEXT}"):
        model.model_validate(body(LONG))


def test_texts_of_a_harness_are_counted_in_bytes_too() -> None:
    shader_files.check({"fa2_forward.wgsl": FITS}, STATIC)
    with pytest.raises(CaseError, match=f"has {MAX_TEXT + 1} bytes; at most {MAX_TEXT}"):
        shader_files.check({"fa2_forward.wgsl": LONG}, STATIC)
    with pytest.raises(ManifestError, match=f"k.wgsl has {MAX_TEXT + 1} bytes; at most"):
        own_kernel.checked({"manifest": {}, "files": {"k.wgsl": LONG}})
