"""Ctrl+C ends the server soon, whoever is connected, and nobody is left waiting."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
from conftest import CASE, Live
from fake_page import FakePage, client

SERVE = """
import sys
from server.app import create_app
from server.serving import make_server
from server.settings import Settings
try:
    make_server(create_app(Settings(port=int(sys.argv[1])))).run()
except KeyboardInterrupt:  # uvicorn raises the signal again once it has shut down
    sys.exit(130)
"""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def started(port: int) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", SERVE, str(port)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "FA2_PORT": "1"},
    )
    for _ in range(400):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return process
        time.sleep(0.02)
    process.kill()
    raise AssertionError(process.communicate()[0])


def test_ctrl_c_with_open_streams_ends_soon_and_frees_the_port() -> None:
    port = free_port()
    process = started(port)
    try:
        pages: list[FakePage] = []
        with client(f"http://127.0.0.1:{port}") as plain:
            for count in (1, 2):  # one after the other: the first that connects gets the job
                pages.append(FakePage(f"http://127.0.0.1:{port}"))
                while len(plain.get("/api/pages").json()) < count:
                    time.sleep(0.01)
            plain.post("/api/runs", json={"case": CASE}).raise_for_status()
            pages[0].next_event("job")  # one of them is at work
            began = time.monotonic()
            process.send_signal(signal.SIGINT)
            output, _ = process.communicate(timeout=20)
        took = time.monotonic() - began
        assert took < 10, f"{took:.1f} s, of an open stream's hour"
        for page in pages:
            assert page.next_event("bye") == {}
            assert page.ended.wait(1)
            page.close()
        assert (process.returncode, output) == (130, "")
    finally:
        process.kill()
        process.communicate()  # closes the pipe as well, or a later test is blamed for it
    with socket.create_server(("127.0.0.1", port)):
        pass


def test_whoever_waits_for_a_run_is_told() -> None:
    with Live() as live:
        page = live.page()
        runs = [live.store.submit(CASE) for _ in range(3)]
        page.next_event("job")
        live.server.should_exit = True
        for run in runs:
            report = run.future.result(3)
            assert (report.status, "stopped" in report.message) == ("error", True)
        assert page.next_event("bye") == {}
        assert page.ended.wait(2)
        live.thread.join(3)
    with pytest.raises(Exception, match="not running"):
        live.store.submit(CASE)


def test_an_answer_that_waits_for_the_judge_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.judging.judge", lambda *_, **__: time.sleep(60))
    with Live() as live:
        page = live.page()
        live.submit(CASE)
        job = page.next_event("job")
        began = time.monotonic()
        threading.Timer(0.2, setattr, (live.server, "should_exit", True)).start()
        report = page.done(job).json()
        assert (report["status"], "stopped" in report["message"]) == ("error", True)
        assert time.monotonic() - began < 15


def test_thousands_of_waiting_runs_delay_neither_requests_nor_the_end() -> None:
    with Live() as live:
        pages = [live.page() for _ in range(8)]
        # Of the processor's time: the machine may be busy with other things.
        began = time.process_time()
        for _ in range(12):
            live.client.post("/api/runs", json={"suite": "full"}).raise_for_status()
        assert time.process_time() - began < 2, "3 000 runs and more"
        for page in pages:
            page.next_event("job")
        began = time.process_time()
        live.server.should_exit = True
        live.thread.join(15)
        assert not live.thread.is_alive()
        assert time.process_time() - began < 2.5


def test_two_servers_live_side_by_side() -> None:
    with Live() as one, Live() as other:
        page = other.page()
        one.submit(CASE)
        assert page.silent()
        other.submit(CASE)
        assert page.work(page.next_event("job"))["status"] == "pass"
