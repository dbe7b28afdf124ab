"""docs/ten-faults.md says what a trace says of ten broken kernels."""

from __future__ import annotations

import pytest
from mutant import Mutant
from ten_faults import faults

from server.cases import Case
from server.harness import Harness
from server.paths import STATIC
from server.trace_choice import worst_tile
from server.trace_words import sentence

pytestmark = pytest.mark.slow

DOCUMENT = (STATIC.parent / "docs" / "ten-faults.md").read_text(encoding="utf-8")
RACES = ("Q and K read before they are complete",)
"""What a race leaves differs from GPU to GPU: of these only the quantity is sure."""


def said_of(harness: Harness, mutant: Mutant, **tile: int) -> str:
    """The sentence of the tile that the page and `fa2 trace` take, or of another head's."""
    case, shaders = Case.parse(mutant.case), mutant.shaders()
    report = harness.run(case, shaders=shaders)
    report = harness.run(case, shaders=shaders, trace=worst_tile(case, report) | tile)
    found = harness.last_trace()
    assert found is not None, report.message
    return sentence(found, float(case.scale_f32), report)


@pytest.mark.parametrize("mutant", faults(), ids=lambda mutant: mutant.name)
def test_the_document_says_what_a_trace_says(harness: Harness, mutant: Mutant) -> None:
    said = said_of(harness, mutant)
    section = DOCUMENT.partition(f"### {mutant.name}\n")[2].partition("\n### ")[0]
    if mutant.name in RACES:
        assert said.startswith("Already at key tile 0 S of rows ")
        return
    assert f"Trace: {said}\n" in section, said


def test_a_head_that_does_not_count_is_never_visited(harness: Harness) -> None:
    (mutant,) = (one for one in faults() if one.name == "one head of the group")
    said = said_of(harness, mutant, h=1)
    section = DOCUMENT.partition(f"### {mutant.name}\n")[2].partition("\n### ")[0]
    assert f"Trace of head 1: {said}\n" in section, said
