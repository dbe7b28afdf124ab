"""What is kept of finished runs: the newest that fit, and none that nobody can ask for."""

from __future__ import annotations

from kept_runs import finished

from server.newest import Newest
from server.run import Run


def test_the_oldest_goes_when_there_is_no_room_or_nobody_knows_it_any_more() -> None:
    runs, gone = [finished()[0] for _ in range(5)], list[Run]()
    kept = Newest(most_bytes=30, size=lambda run: 10, let_go=gone.append)
    for run in runs[:3]:
        kept.add(run, lambda one: True)
    assert gone == [], "as many as there is room for"
    kept.add(runs[3], lambda one: one not in runs[:2])
    assert gone == runs[:2], "the first for want of room, the second since nobody knows it"
    kept.add(runs[4], lambda one: False)
    assert gone == runs[:4], "the last one stays, known or not"
