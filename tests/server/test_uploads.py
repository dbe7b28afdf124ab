"""A tensor is exactly the bytes that the case implies, once, with its digest, or it is refused."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from conftest import CASE, Live, Serve
from fake_page import FakePage, content_digest
from starlette.requests import Request

from server import judging, uploads
from server.inputs import digest
from server.problems import Problem
from server.task import JUDGING

O_BYTES = 4 * 8 * 2 * 4
Job = dict[str, Any]


@pytest.fixture
def sent(live: Live) -> Iterator[tuple[FakePage, Job]]:
    """A page that has a job and has sent nothing yet."""
    page = live.page()
    run = live.submit(CASE)
    yield page, page.next_event("job")
    live.client.post(f"/api/runs/{run}/cancel")


def problem_of(response: Any) -> tuple[int, str]:
    assert response.headers["content-type"] == "application/problem+json", response.text
    body = response.json()
    assert body["status"] == response.status_code
    return response.status_code, body["type"].removeprefix("urn:fa2:problem:")


@pytest.mark.parametrize(
    ("size", "refusal"),
    [
        (0, (422, "wrong-length")),
        (O_BYTES - 1, (422, "wrong-length")),
        (O_BYTES + 1, (413, "too-large")),
        (O_BYTES * 1000, (413, "too-large")),
    ],
)
def test_a_wrong_length_is_refused(
    sent: tuple[FakePage, Job], size: int, refusal: tuple[int, str]
) -> None:
    page, job = sent
    assert problem_of(page.put(job, "o", bytes(size))) == refusal


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (content_digest(b"other bytes"), "wrong-digest"),
        ("", "digest-malformed"),
        ("sha-256=:!!!:", "digest-malformed"),
        ("sha-256=:AAAA:", "digest-malformed"),
        ("sha-256=:AAA:", "digest-malformed"),
        ("md5=:1B2M2Y8AsgTpgAmY7PhCfg==:", "digest-malformed"),
        (content_digest(bytes(O_BYTES)).replace(":", ""), "digest-malformed"),
    ],
)
def test_a_wrong_digest_is_refused(sent: tuple[FakePage, Job], value: str, kind: str) -> None:
    page, job = sent
    response = page.put(job, "o", bytes(O_BYTES), Content_Digest=value)
    assert problem_of(response) == (422, kind)


def test_a_missing_digest_is_refused(sent: tuple[FakePage, Job]) -> None:
    page, job = sent
    response = page.http.put(f"/api/runs/{job['run']}/tensors/o", content=bytes(O_BYTES))
    assert problem_of(response) == (422, "digest-required")


def test_a_digest_among_others_is_found(sent: tuple[FakePage, Job]) -> None:
    page, job = sent
    value = "unixsum=:AAA=:, " + content_digest(bytes(O_BYTES))
    assert page.put(job, "o", bytes(O_BYTES), Content_Digest=value).status_code == 204


def test_a_body_without_a_length_is_refused(sent: tuple[FakePage, Job]) -> None:
    page, job = sent
    response = page.http.put(
        f"/api/runs/{job['run']}/tensors/o",
        content=iter([bytes(O_BYTES)]),  # httpx sends an iterator in chunks
        headers={"Content-Digest": content_digest(bytes(O_BYTES))},
    )
    assert problem_of(response) == (411, "length-required")


def test_a_declared_length_is_refused_before_any_byte_comes(
    live: Live, sent: tuple[FakePage, Job]
) -> None:
    _, job = sent
    for path, length, status in (
        (f"/api/runs/{job['run']}/tensors/o", O_BYTES + 1, b"413"),
        (f"/api/runs/{job['run']}/tensors/o", O_BYTES - 1, b"422"),
        (f"/api/runs/{job['run']}/done", 10**9, b"413"),
    ):
        method = "PUT" if "tensors" in path else "POST"
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n"
        head += f"Content-Digest: {content_digest(b'')}\r\n\r\n"
        assert live.raw(head.encode()).startswith(b"HTTP/1.1 " + status), path


@pytest.mark.parametrize(("chunks", "status"), [([5, 4], 422), ([5, 6], 413), ([], 422)])
def test_a_server_that_does_not_count_is_not_trusted(chunks: list[int], status: int) -> None:
    """uvicorn holds a body to its Content-Length; another ASGI server may not."""
    rest = list(chunks)

    async def receive() -> dict[str, Any]:
        body = bytes(rest.pop(0)) if rest else b""
        return {"type": "http.request", "body": body, "more_body": bool(rest)}

    digest_header = (b"content-digest", content_digest(bytes(sum(chunks))).encode())
    scope = {"type": "http", "headers": [(b"content-length", b"10"), digest_header]}
    with pytest.raises(Problem) as caught:
        asyncio.run(uploads.receive(Request(scope, receive), "o", 10, 5))
    assert caught.value.status_code == status


def test_a_length_beside_chunks_is_refused(live: Live, sent: tuple[FakePage, Job]) -> None:
    _, job = sent
    head = f"PUT /api/runs/{job['run']}/tensors/o HTTP/1.1\r\nHost: localhost\r\n"
    head += f"Content-Length: {O_BYTES}\r\nTransfer-Encoding: chunked\r\n"
    head += f"Content-Digest: {content_digest(b'')}\r\n\r\n0\r\n\r\n"
    assert live.raw(head.encode()).startswith((b"HTTP/1.1 411", b"HTTP/1.1 400"))


@pytest.mark.parametrize(
    "header",
    [
        {"Content_Type": "application/json"},
        {"Content_Type": "text/plain"},
        {"Content_Encoding": "gzip"},
    ],
)
def test_only_plain_bytes_are_taken(sent: tuple[FakePage, Job], header: dict[str, str]) -> None:
    page, job = sent
    assert page.put(job, "o", bytes(O_BYTES), **header).status_code == 415


@pytest.mark.parametrize("name", ["O", "dq", "o.guard", "%2e%2e%2fo", "o%00", "attn"])
def test_an_unknown_tensor_is_refused(sent: tuple[FakePage, Job], name: str) -> None:
    page, job = sent
    assert page.put(job, name, b"").status_code == 404


def test_an_unknown_run_is_refused(live: Live) -> None:
    page = live.page()
    job = {"run": "f" * 16}
    assert problem_of(page.put(job, "o", b"")) == (404, "unknown-run")
    assert problem_of(page.done(job)) == (404, "unknown-run")
    for path in ("", "/tensors/o", "/inputs/q"):
        assert problem_of(live.client.get(f"/api/runs/{job['run']}{path}")) == (404, "unknown-run")
    assert problem_of(live.client.post(f"/api/runs/{job['run']}/cancel")) == (404, "unknown-run")


def test_a_tensor_is_taken_once(sent: tuple[FakePage, Job]) -> None:
    page, job = sent
    assert page.put(job, "o", bytes(O_BYTES)).status_code == 204
    assert problem_of(page.put(job, "o", bytes(O_BYTES))) == (409, "duplicate")


def test_a_refused_tensor_may_be_sent_again_rightly(sent: tuple[FakePage, Job]) -> None:
    page, job = sent
    assert page.put(job, "o", bytes(O_BYTES - 4)).status_code == 422
    assert page.put(job, "o", bytes(O_BYTES), Content_Digest="sha-256=::").status_code == 422
    assert page.work(job)["status"] == "pass"


def test_tensors_belong_to_a_run_that_is_sent(live: Live, sent: tuple[FakePage, Job]) -> None:
    page, job = sent
    queued = {"run": live.submit(CASE, page="not-there-yet")}
    assert problem_of(page.put(queued, "o", bytes(O_BYTES))) == (409, "wrong-state")
    assert problem_of(page.done(queued)) == (409, "wrong-state")
    live.client.post(f"/api/runs/{queued['run']}/cancel")
    report = page.work(job)
    assert problem_of(page.put(job, "o", bytes(O_BYTES))) == (409, "wrong-state")
    assert problem_of(page.done(job)) == (409, "wrong-state")
    assert live.client.get(f"/api/runs/{job['run']}").json() == report, "nothing has changed it"


def begin(live: Live, job: Job, body: bytes) -> socket.socket:
    """An upload of o that declares the right length and then sends ``body`` only."""
    head = f"PUT /api/runs/{job['run']}/tensors/o HTTP/1.1\r\nHost: localhost\r\n"
    head += f"Content-Length: {O_BYTES}\r\nContent-Digest: {content_digest(bytes(O_BYTES))}\r\n\r\n"
    connection = socket.create_connection(("127.0.0.1", live.port), timeout=5)
    connection.sendall(head.encode() + body)
    return connection


def receiving(live: Live, job: Job) -> Collection[str]:
    run = live.store.get(job["run"])
    assert run is not None
    return run.receiving.keys()


def until(condition: Any) -> None:
    end = time.monotonic() + 5
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_a_truncated_upload_is_no_tensor(live: Live, sent: tuple[FakePage, Job]) -> None:
    page, job = sent
    connection = begin(live, job, bytes(O_BYTES - 1))
    until(lambda: receiving(live, job))
    # While it is under way the name is taken.
    assert problem_of(page.put(job, "o", bytes(O_BYTES))) == (409, "duplicate")
    connection.close()
    until(lambda: not receiving(live, job))
    run = live.store.get(job["run"])
    assert run is not None
    assert not run.uploads
    assert page.work(job)["status"] == "pass"


def test_a_stalled_upload_ends(serve: Serve) -> None:
    live = serve(upload_s=1.0)
    page = live.page()
    live.submit(CASE)
    job = page.next_event("job")
    with begin(live, job, b"some bytes") as connection:
        assert connection.recv(1000).startswith(b"HTTP/1.1 408 ")
    assert page.work(job)["status"] == "pass"


def test_an_upload_ends_with_its_run(live: Live) -> None:
    page = live.page()
    run = live.submit(CASE)
    job = page.next_event("job")
    with begin(live, job, bytes(O_BYTES - 1)) as connection:
        until(lambda: receiving(live, job))
        assert live.client.post(f"/api/runs/{run}/cancel").status_code == 204
        assert connection.recv(1000).startswith(b"HTTP/1.1 409 "), "without the last byte"


def test_an_upload_that_comes_after_done_is_refused(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged = threading.Event()
    judge = judging.judge
    monkeypatch.setattr(judging, "judge", lambda *a, **k: judged.wait(5) and judge(*a, **k))
    page = live.page()
    live.submit(CASE)
    job = page.next_event("job")
    with begin(live, job, bytes(O_BYTES - 1)) as connection, ThreadPoolExecutor(1) as pool:
        until(lambda: receiving(live, job))
        answer = pool.submit(page.done, job, input_sha256=digest(page.inputs(job)))
        until(lambda: live.run(job["run"]).state == JUDGING)
        connection.sendall(b"\0")
        assert connection.recv(1000).startswith(b"HTTP/1.1 409 ")
        judged.set()
        report = answer.result(5).json()
    assert (report["status"], "o was not uploaded" in report["message"]) == ("fail", True)


def test_large_tensors_arrive_intact(live: Live) -> None:
    page = live.page()
    live.submit("forward:T=64,H=16,D=256")  # 1 MiB, many times what a socket buffers
    job = page.next_event("job")
    inputs = page.inputs(job)
    tensors = page.tensors(job, inputs)
    for name, data in tensors.items():
        assert page.put(job, name, data).status_code == 204
    run = live.store.get(job["run"])
    assert run is not None
    assert {name: array.tobytes() for name, array in run.uploads.items()} == tensors
    assert page.done(job, input_sha256=digest(inputs)).json()["status"] == "pass"
