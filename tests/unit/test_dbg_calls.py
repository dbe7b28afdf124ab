"""Which texts may call dbg(): their runs get room for what they tell."""

from __future__ import annotations

import pytest

from server.trace_buffer import may_tell


@pytest.mark.parametrize("before", ["{ ", "{\n", "{\t", "{\r\n\t", ""])
@pytest.mark.parametrize("call", ["dbg(1u, x);", "dbg_u (1u, 2u);", "dbg4\n(1u, v);"])
def test_a_call_of_dbg_is_seen_wherever_it_stands_in_a_line(before: str, call: str) -> None:
    text = f"fn k() {before}{call} }}"
    assert may_tell({"a": text}, None)
    assert may_tell({}, {"name": "own", "manifest": {}, "files": {"a.wgsl": text}})


def test_no_other_name_that_ends_in_dbg_is_a_call_of_it() -> None:
    other = "fn k() { debug(1u); mydbg(2u); }"
    assert not may_tell({"a": other}, {"name": "dbg(", "manifest": {}, "files": {"a.wgsl": other}})
