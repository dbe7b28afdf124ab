"""Bodies are strict JSON of a bounded size, and say only what is known."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import CASE, Live

from server.problems import Problem
from server.strict_json import MAX_BYTES, MAX_DEPTH, parse

JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"{'a': 1}",
        b'{"a": NaN}',
        b'{"a": Infinity}',
        b'{"a": -Infinity}',
        b'{"a": 1e999}',
        b'{"a": -1e999}',
        b'{"a": 1, "a": 2}',
        b'{"a": ' + b"9" * 5000 + b"}",
        b'\xff\xfe{"a": 1}',
        '{"a": 1}'.encode("utf-16"),
        b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1),
        b'{"a":' * 100_000,
        b"[1] [2]",
    ],
)
def test_what_json_is_not_is_refused(text: bytes) -> None:
    with pytest.raises(Problem) as caught:
        parse(text)
    assert (caught.value.status_code, caught.value.kind) == (400, "bad-json")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b'{"a": [1, 2.5, null, true, "\\u00e9"]}', {"a": [1, 2.5, None, True, "é"]}),
        (b"[" * MAX_DEPTH + b"]" * MAX_DEPTH, None),
        (b'"' + b"[{" * 100 + b'\\"["', "[{" * 100 + '"['),
        (b"1e308", 1e308),
    ],
)
def test_what_json_is_is_read(text: bytes, value: Any) -> None:
    assert value is None or parse(text) == value
    parse(text)


@pytest.mark.parametrize(
    ("body", "headers", "status", "kind"),
    [
        (b'{"case": "x", "kappa": NaN}', JSON, 400, "bad-json"),
        (b"{", JSON, 400, "bad-json"),
        (b"", JSON, 422, "invalid"),
        (b"[]", JSON, 422, "invalid"),
        (b'{"case": "forward:T=8,D=4"}', {"Content-Type": "text/plain"}, 415, "not-json"),
        (b'{"case": "forward:T=8,D=4"}', {}, 415, "not-json"),
        (b" " * (MAX_BYTES + 1), JSON, 413, "too-large"),
        (b'{"case": "forward:T=8"}', JSON, 422, "case"),
        (b'{"suite": "nonsense"}', JSON, 422, "case"),
        (b'{"case": "forward:T=8,D=4", "suite": "seed"}', JSON, 422, "invalid"),
        (b"{}", JSON, 422, "invalid"),
        (b'{"case": "forward:T=8,D=4", "kernal": "fa2"}', JSON, 422, "invalid"),
        (b'{"case": "forward:T=8,D=4", "kappa": 0}', JSON, 422, "invalid"),
        (b'{"case": "forward:T=8,D=4", "kappa": "4"}', JSON, 422, "invalid"),
        (b'{"case": "forward:T=8,D=4", "seed": 7}', JSON, 422, "invalid"),
        (b'{"case": "forward:T=8,D=4", "seed": "18446744073709551616"}', JSON, 422, "case"),
        (b'{"case": "forward:T=8,D=4", "page": "../x"}', JSON, 422, "invalid"),
        (b'{"case": 7}', JSON, 422, "invalid"),
        (b'{"case": "forward:T=60000,H=60,D=16,attn=1"}', JSON, 422, "case"),
    ],
)
def test_a_bad_request_for_a_run_is_refused(
    live: Live, body: bytes, headers: dict[str, str], status: int, kind: str
) -> None:
    response = live.client.post("/api/runs", content=body, headers=headers)
    got = (response.status_code, response.json()["type"].removeprefix("urn:fa2:problem:"))
    assert got == (status, kind), response.text


def test_a_long_body_without_a_length_ends_at_the_limit(live: Live) -> None:
    endless = (b" " * 65536 for _ in range(1000))
    response = live.client.post("/api/runs", content=endless, headers=JSON)
    assert response.status_code == 413


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("status", "fine"),
        ("status", None),
        ("input_sha256", "xyz"),
        ("dispatches", -1),
        ("dispatches", 1.5),
        ("elapsed_ns", "soon"),
        ("elapsed_ns", 1e30),
        ("adapter", "none"),
        ("warnings", [1]),
        ("warnings", ["w"] * 101),
        ("error", {"kind": "unheard-of", "message": ""}),
        ("tile", {"Br": "16"}),
        ("status", "error"),  # without an error
    ],
)
def test_a_bad_done_is_refused_and_may_be_corrected(live: Live, field: str, value: Any) -> None:
    page = live.page()
    live.submit(CASE)
    job = page.next_event("job")
    response = page.done(job, **{field: value})
    assert response.status_code == 422
    assert field in response.json()["detail"]
    assert page.work(job)["status"] == "pass"


def test_the_input_of_a_refusal_is_not_echoed(live: Live) -> None:
    response = live.client.post("/api/runs", json={"case": 1, "secret": "hunter2"})
    assert "hunter2" not in response.text
