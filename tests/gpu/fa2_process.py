"""`fa2` in a process of its own, and what it leaves behind."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

FA2 = (sys.executable, "-m", "server")
NO_WEBGPU = ("--disable-gpu", "--disable-software-rasterizer")  # a Chromium without any adapter
TIMEOUT_S = 120


def fa2(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs ``fa2`` to its end."""
    return subprocess.run(
        [*FA2, *words],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        env={**os.environ, **environment},
    )


def children(pid: int) -> set[int]:
    """Every living descendant of a process, zombies left out (Linux)."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue  # it ended meanwhile
        if state not in "ZX":
            parents[int(stat.parent.name)] = int(parent)
    found, new = set[int](), {pid}
    while new:
        found |= new
        new = {child for child, parent in parents.items() if parent in new} - found
    return found - {pid}


def alive(pids: set[int]) -> set[int]:
    """Those that still run."""
    living = set()
    for pid in pids:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state not in "ZX":
            living.add(pid)
    return living


def gone(pids: set[int], within_s: float) -> bool:
    """Whether all of them have ended in time."""
    deadline = time.monotonic() + within_s
    while alive(pids):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
