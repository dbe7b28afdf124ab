"""The broken kernels of docs/ten-faults.md, and how the page is asked about them."""

from __future__ import annotations

from typing import Any

import test_backward_mutants
import test_mutants
from mutant import Mutant

SOON_MS = 30_000

NAMES = (
    "sees one key too many",
    "last, partial key tile dropped",
    "edge tile taken for an inner one",
    "rescale of O lost",
    "scale 0.1 % off",
    "LSE in base 2",
    "wrong head map",
    "last row unwritten",
    "rows written past the end",
    "Q and K read before they are complete",
)
BACKWARD = (
    "delta forgotten",
    "one head of the group",
    "dK without scale",
    "first key tile skipped",
)


def faults() -> list[Mutant]:
    forward = {mutant.name: mutant for mutant in test_mutants.MUTANTS}
    backward = {mutant.name: mutant for mutant in test_backward_mutants.MUTANTS}
    return [forward[name] for name in NAMES] + [backward[name] for name in BACKWARD]


def ask(page: Any, mutant: Mutant, page_id: str) -> dict[str, str]:
    """Opens the page, posts the broken text as anybody may, and reads what the page says."""
    page.goto(f"/webgpu-test?page={page_id}")
    page.wait_for_selector("main[data-state='idle']", timeout=SOON_MS)
    body = {"case": mutant.case, "shaders": mutant.shaders(), "page": page_id}
    answer = page.request.post("/api/runs", data=body)
    assert answer.status == 201, answer.text()
    line = page.locator("#lines tr", has_text="FAIL").first
    line.wait_for(timeout=SOON_MS)
    line.locator("button").first.click()
    page.wait_for_selector("#detail-body[aria-busy='false'] .sentence", timeout=SOON_MS)
    looks = page.locator(".suspects")
    profiles = page.locator(".profiles .hint").all_inner_texts()
    return {
        "sentence": page.inner_text(".sentence"),
        "looks": looks.inner_text() if looks.count() else "",
        "heads": " ".join(page.locator(".heads .head").all_inner_texts()),
        "profiles": " · ".join(profiles),
    }
