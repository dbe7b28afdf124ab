"""docs/ten-faults.md says what the page says of ten broken kernels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from mutant import Mutant
from ten_faults import ask, faults

from server.paths import STATIC
from server.service import Service

pytestmark = pytest.mark.slow

DOCUMENT = (STATIC.parent / "docs" / "ten-faults.md").read_text(encoding="utf-8")
RACES = ("Q and K read before they are complete",)
"""What a race leaves differs from GPU to GPU: of these only the verdict is sure."""


@pytest.fixture(scope="module")
def page(chromium: Any) -> Iterator[Any]:
    with Service() as service:
        page = chromium.new_page(base_url=service.url)
        yield page
        page.close()


@pytest.mark.parametrize("mutant", faults(), ids=lambda mutant: mutant.name)
def test_the_document_says_what_the_page_says(page: Any, mutant: Mutant) -> None:
    said = ask(page, mutant, f"ten-faults-{mutant.name:_<20}".replace(" ", "-").replace(",", "")
               .replace("%", "").replace(".", "")[:40])  # fmt: skip
    _, heading, rest = DOCUMENT.partition(f"### {mutant.name}\n")
    assert heading, f"docs/ten-faults.md has no heading for {mutant.name!r}"
    section = rest.partition("\n### ")[0]
    if mutant.name in RACES:
        return
    assert f"> {said['sentence']}\n" in section
    assert not said["looks"] or f"> {said['looks']}\n" in section
