"""A page without a browser: the same conversation with the server, the numbers by NumPy."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import queue
import secrets
import socket
import threading
import time
from collections.abc import Mapping
from typing import Any

import httpx
import numpy as np

from server.cases import Case
from server.inputs import digest, make_inputs
from server.outputs import DTYPES
from server.pages import Pages
from server.reference import attention

ADAPTER = {
    "vendor": "numpy",
    "architecture": "float64",
    "device": "",
    "description": "no GPU at all",
    "fallback": True,
    "features": [],
    "limits": {"maxBufferSize": 1 << 30},
}


def content_digest(data: bytes) -> str:
    return f"sha-256=:{base64.b64encode(hashlib.sha256(data).digest()).decode()}:"


def client(url: str, headers: Any = None) -> httpx.Client:
    """Without certificates: reading them takes 60 ms, and nothing here is https."""
    return httpx.Client(base_url=url, timeout=10, headers=headers, verify=False)


class FakePage:
    """Listens in a thread; ``next_event`` gives what came, ``work`` does a job as a page would."""

    def __init__(
        self, url: str, page_id: str | None = None, *, label: str = "", headers: Any = None
    ) -> None:
        self.id = page_id or secrets.token_urlsafe(16)
        self.http = client(url, headers)
        self.events: queue.Queue[tuple[str, dict[str, Any]]] = queue.Queue()
        self.pings = 0
        self.ended = threading.Event()
        self.closed = threading.Event()
        self._opened = threading.Event()
        self._stream_client = client(url, headers)
        self._params = {"label": label}
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        with contextlib.suppress(httpx.TransportError, httpx.StreamError, RuntimeError):
            path = f"/api/pages/{self.id}/jobs"
            with self._stream_client.stream("GET", path, params=self._params) as response:
                self._socket = response.extensions["network_stream"].get_extra_info("socket")
                self._opened.set()
                assert response.status_code == 200, response.read()
                name = ""
                for line in response.iter_lines():
                    if line.startswith("event: "):
                        name = line[7:]
                    elif line.startswith("data: "):
                        self.events.put((name, json.loads(line[6:])))
                    elif line.startswith(": ping"):
                        self.pings += 1
        self.ended.set()

    def next_event(self, name: str, timeout_s: float = 5) -> dict[str, Any]:
        """The data of the next event of that name; others before it are skipped."""
        end = time.monotonic() + timeout_s
        while True:
            got, data = self.events.get(timeout=max(0.001, end - time.monotonic()))
            if got == name:
                return data

    def silent(self, for_s: float = 0.15) -> bool:
        """No event comes for a while."""
        with contextlib.suppress(queue.Empty):
            self.events.get(timeout=for_s)
            return False
        return True

    def close(self) -> None:
        """Hangs up, as a closed tab does, also in the middle of an answer."""
        self.closed.set()
        if self._opened.wait(5):
            with contextlib.suppress(OSError):  # the server may have been first
                self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(5)
        self._stream_client.close()
        self.http.close()

    def gone(self, pages: Pages, timeout_s: float = 5) -> None:
        """Returns once the server has noticed."""
        end = time.monotonic() + timeout_s
        while pages.connected(self.id):
            assert time.monotonic() < end, "the server still sees the page"
            time.sleep(0.005)

    # What a page does with a job

    def inputs(self, job: Mapping[str, Any]) -> dict[str, np.ndarray]:
        case = Case.parse(job["case"])
        made = make_inputs(case)
        if job["inputs"] == "posted":
            for name, array in made.items():
                raw = self.http.get(f"/api/runs/{job['run']}/inputs/{name}").raise_for_status()
                assert raw.headers["content-digest"] == content_digest(raw.content)
                made[name] = np.frombuffer(raw.content, array.dtype).reshape(array.shape)
        return made

    def tensors(self, job: Mapping[str, Any], inputs: Mapping[str, np.ndarray]) -> dict[str, bytes]:
        """Right results for everything that the job wants, guards included."""
        case = Case.parse(job["case"])
        truth = attention(
            inputs["q"],
            inputs["k"],
            inputs["v"],
            do=inputs.get("do"),
            causal=case.causal,
            align=case.align,
            scale=float(case.scale_f32),
        )
        guards = np.repeat(np.array(job["poison"], "<u4"), 128)
        found = {}
        for spec in job["want"]:
            name, _, kind = spec["name"].partition(".")
            if name == "trace":  # a head, and nothing told
                found[name] = bytes(spec["bytes"])
                continue
            values = guards if kind == "guards" else np.maximum(truth[name], -3.0e38)
            found[spec["name"]] = values.astype(DTYPES[spec["dtype"]]).tobytes()
        return found

    def put(self, job: Mapping[str, Any], name: str, data: bytes, **headers: str) -> httpx.Response:
        headers = {"Content-Digest": content_digest(data)} | {
            key.replace("_", "-"): value for key, value in headers.items()
        }
        headers.setdefault("Content-Type", "application/octet-stream")
        return self.http.put(
            f"/api/runs/{job['run']}/tensors/{name}", content=data, headers=headers
        )

    def done(self, job: Mapping[str, Any], **fields: Any) -> httpx.Response:
        body = {
            "status": "ok",
            "kernel": "fa2_forward",
            "tile": {"Br": 16, "Bc": 16},
            "shader_sha256": "0" * 64,
            "dispatches": 2,
            "elapsed_ns": 1_250_000.5,
            "compile_ns": 3e5,
            "first_result_ns": 1_000_000,
            "gpu_ns": None,
            "adapter": ADAPTER,
            "engine": "NumPy",
            "warnings": [],
            "error": None,
        }
        return self.http.post(f"/api/runs/{job['run']}/done", json={**body, **fields}, timeout=30)

    def timed(self, bench: str, **fields: Any) -> httpx.Response:
        """Tells 30 samples of a benchmark that was checked; ``fields`` replace some of it."""
        body = {
            "status": "ok",
            "kernel": "fa2_forward",
            "shader_sha256": "0" * 64,
            "peaks": {"f32_tflops": 1.5, "copy_gbps": 20, "f16_matrix_tflops": None},
            "gpu_ns": [1000.0 + n for n in range(30)],
            "calls": 4,
            "resolution_ns": 1,
            "clock": None,
            "wall_ns": [3000.0] * 10,
            "adapter": ADAPTER,
            "engine": "NumPy",
        }
        return self.http.post(f"/api/benches/{bench}/done", json={**body, **fields})

    def work(self, job: Mapping[str, Any], **replaced: bytes) -> dict[str, Any]:
        """Does the whole job and gives the report; ``replaced`` names tensors to send instead."""
        inputs = self.inputs(job)
        for name, data in (self.tensors(job, inputs) | replaced).items():
            response = self.put(job, name, data)
            assert response.status_code == 204, response.text
        response = self.done(job, input_sha256=digest(inputs))
        assert response.status_code == 200, response.text
        report: dict[str, Any] = response.json()
        return report
