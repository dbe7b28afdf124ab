"""What a web site on another port of this machine can do to the server in a real browser: nothing.

The site tries everything a page can send. The same site against a server without any defence is
the control: there every attempt succeeds, so a refusal means something.
"""

from __future__ import annotations

import http.server
import json
import queue
import threading
import time
from collections.abc import Iterator
from typing import Any

import engines
import pytest

from server.browser import Browser
from server.launch import Options, choose_launcher, launch
from server.service import Service

RESULTS_S = 60.0
SITE = """<!doctype html><title>another site</title><body><script type="module">
const target = "TARGET";
const body = '{"case": "forward:T=8,D=4"}';
const loads = (tag, fields, into) => new Promise((resolve) => {
  const element = Object.assign(document.createElement(tag), fields);
  element.onload = () => resolve("loaded");
  element.onerror = () => resolve("refused");
  into.append(element);
});
const attempts = {
  read: async () => (await (await fetch(target + "/api/runs")).text()) && "loaded",
  write: async () => (await fetch(target + "/api/runs", { method: "POST", body })) && "loaded",
  blindWrite: async () => {
    await fetch(target + "/api/runs", { method: "POST", mode: "no-cors", body });
    return "loaded";
  },
  stream: () => new Promise((resolve) => {
    const stream = new EventSource(target + "/api/pages/another-site-00/jobs");
    stream.onopen = () => { stream.close(); resolve("loaded"); };
    stream.onerror = () => { stream.close(); resolve("refused"); };
  }),
  script: () => loads("script", { src: target + "/static/js/format.js" }, document.head),
  picture: () => loads("img", { src: target + "/static/favicon.svg" }, document.body),
  form: () => new Promise((resolve) => {
    const fields = { method: "POST", action: target + "/api/runs", enctype: "text/plain" };
    const form = Object.assign(document.createElement("form"), { ...fields, target: "hole" });
    const hole = Object.assign(document.createElement("iframe"), { name: "hole" });
    form.append(Object.assign(document.createElement("input"), { name: body, value: "" }));
    document.body.append(hole, form);
    form.submit();
    setTimeout(() => resolve("sent"), 1000);  // the site cannot see what became of it
  }),
};
const results = {};
for (const [name, attempt] of Object.entries(attempts)) {
  results[name] = await attempt().catch(() => "refused");
}
await fetch("/results", { method: "POST", body: JSON.stringify(results) });
</script></body>
"""
SCRIPT, PICTURE = "window.stolen = 1;", '<svg xmlns="http://www.w3.org/2000/svg"/>'


class Site(http.server.ThreadingHTTPServer):
    """The other site, and at the same time a server that has no defence."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.target = self.url
        self.results: queue.Queue[dict[str, str]] = queue.Queue()
        self.writes = 0
        threading.Thread(target=self.serve_forever, daemon=True).start()


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        kinds = {".js": ("text/javascript", SCRIPT), "svg": ("image/svg+xml", PICTURE)}
        kinds |= {"obs": ("text/event-stream", ": hello\n\n"), "uns": ("application/json", "[]")}
        page = ("text/html", SITE.replace("TARGET", self.server.target))
        self._answer(*kinds.get(self.path[-3:], page))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/results":
            self.server.results.put(json.loads(body))
        else:
            self.server.writes += 1
        self._answer("text/plain", "")

    def _answer(self, kind: str, text: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text)))
        self.send_header("Access-Control-Allow-Origin", "*")
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: Any) -> None:
        """Quiet."""


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as server:
        yield server
        server.shutdown()


def visit(found: Browser, site: Site, host: str) -> dict[str, str]:
    """What the site's attempts came to, in a browser that opens it under the name ``host``."""
    url = f"http://{host}:{site.server_port}/"
    launched = launch(found, url, choose_launcher(found, None), Options())
    try:
        return site.results.get(timeout=RESULTS_S)
    finally:
        launched.close()


def test_an_open_server_would_suffer_every_attempt(site: Site, pytestconfig: pytest.Config) -> None:
    found = engines.program(pytestconfig)
    other = Site()
    site.target = other.url
    results = visit(found, site, "127.0.0.1")
    assert results.pop("form") == "sent"
    assert set(results.values()) == {"loaded"}, results
    end = time.monotonic() + 10  # the form is sent by itself: nothing tells when it has arrived
    while other.writes < 3 and time.monotonic() < end:
        time.sleep(0.05)
    assert other.writes == 3
    other.shutdown()
    other.server_close()


@pytest.mark.parametrize("engine", [None, "firefox"])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_another_site_reads_and_changes_nothing(
    site: Site, engine: str | None, host: str, pytestconfig: pytest.Config
) -> None:
    found = engines.program(pytestconfig, engine)
    with Service() as service:
        site.target = service.url
        results = visit(found, site, host)
        assert results.pop("form") == "sent"
        assert set(results.values()) == {"refused"}, results
        assert service.store.all() == []
        assert service.pages.all() == []
