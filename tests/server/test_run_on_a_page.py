"""`fa2 run --page` and Harness(page=…): runs on a page that somebody opened on a server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import CASE, Live, Serve
from fake_page import FakePage
from lent_page import Working, introduce
from typer.testing import CliRunner, Result

from server.cli import app
from server.errors import CaseError, HarnessError, NoAdapter, NoBrowser, Unsupported
from server.harness import Harness
from server.reference import attention

OTHER = "forward:T=9,H=2,D=4"


Person = Callable[..., FakePage]


@pytest.fixture
def person(live: Live) -> Iterator[Person]:
    """``person("pixel8")`` opens a page of that name, which does what it is given."""
    working: list[Working] = []

    def open_page(name: str, do: Any = FakePage.work, **facts: Any) -> FakePage:
        page = live.page(label=name)
        introduce(page, **facts)
        working.append(Working(page, do))
        return page

    yield open_page
    for one in working:
        one.end()


def fa2(live: Live, *words: str) -> Result:
    """``fa2`` in this process; errors of the harness are raised as the console script sees them."""
    return CliRunner().invoke(app, ["run", "--server", live.url, *words], catch_exceptions=True)


def problem(result: Result) -> HarnessError:
    assert isinstance(result.exception, HarnessError), result.output
    return result.exception


def test_cases_run_on_the_page_that_is_named(live: Live, person: Person, tmp_path: Path) -> None:
    bystander = live.page(label="laptop")
    introduce(bystander)
    person("pixel8")
    file = tmp_path / "reports.json"
    result = fa2(live, "--page", "Pixel8", CASE, OTHER, "--json", str(file))
    assert result.exit_code == 0, result.output
    assert "2 cases · NumPy 2 · numpy float64 no GPU at all (software)" in result.output
    assert f"PASS    {CASE}  o 0" in result.output
    assert "ALL PASS: 2 checks in 2 cases" in result.output
    found = json.loads(file.read_text())
    assert found["counts"]["pass"] == 2
    assert found["results"][0]["adapter"]["vendor"] == "numpy"
    assert bystander.silent()


def test_wrong_numbers_are_a_failure_with_the_server_s_words(live: Live, person: Person) -> None:
    def spoil(page: FakePage, job: dict[str, Any]) -> None:
        page.work(job, **{"o": bytes(4 * 64), "o.repeat": bytes(4 * 64)})

    person("pixel8", spoil)
    result = fa2(live, "--page", "pixel8", CASE)
    assert result.exit_code == 1
    assert f"FAIL    {CASE}" in result.output
    assert "again: fa2 run" in result.output


def test_a_name_that_nobody_has_is_refused_and_those_connected_are_listed(
    live: Live, person: Person
) -> None:
    person("laptop")
    assert "no page called 'lap'" in problem(fa2(live, "--page", "lap", CASE)).message
    error = problem(fa2(live, "--page", "pixel8", CASE))
    assert isinstance(error, NoBrowser)
    assert "no page called 'pixel8'" in error.message
    assert "'laptop' (numpy float64" in error.message
    assert f"{live.url}/webgpu-test?name=NAME" in error.message


def test_two_pages_of_one_name_are_told_apart_by_their_ids(live: Live, person: Person) -> None:
    first, second = person("phone"), person("phone")
    error = problem(fa2(live, "--page", "phone", CASE))
    assert isinstance(error, CaseError)
    assert all(page.id[:8] in error.message for page in (first, second))
    assert fa2(live, "--page", second.id[:8], CASE).exit_code == 0


def test_a_page_without_webgpu_or_with_another_adapter_is_refused(
    live: Live, person: Person
) -> None:
    person("old", ok=False, step="adapter", message="requestAdapter() gave null", adapter=None)
    assert "gave null" in problem(fa2(live, "--page", "old", CASE)).message
    person("soft")
    error = problem(fa2(live, "--page", "soft", CASE, "--adapter", "hardware"))
    assert isinstance(error, NoAdapter)
    assert "the page 'soft' offers the software adapter" in error.message
    assert "--browser-arg" not in error.message


def test_options_of_a_browser_that_is_started_do_not_go_with_a_page(live: Live) -> None:
    for words in (["--browser", "firefox"], ["--headed"], ["--without", "shader-f16"]):
        error = problem(fa2(live, "--page", "pixel8", CASE, *words))
        assert f"{words[0][2:]}=" in error.message
        assert "'pixel8' is open already" in error.message
    assert "--page" in problem(fa2(live, CASE)).message, "--server alone means nothing"


def test_a_server_that_is_not_there_is_named() -> None:
    words = ["run", "--page", "p", "--server", "http://127.0.0.1:9", CASE]
    error = problem(CliRunner().invoke(app, words))
    assert isinstance(error, NoBrowser)
    assert "no answer from http://127.0.0.1:9" in error.message
    assert "fa2 serve" in error.message
    error = problem(CliRunner().invoke(app, ["run", "--page", "p", "--server", "ftp://x", CASE]))
    assert "must be a URL" in error.message


def test_the_token_comes_with_the_printed_url_or_by_itself(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = "t" * 40
    live = serve(token=token)
    page = FakePage(live.url, label="pixel8", headers={"Authorization": f"Bearer {token}"})
    live.pages_made.append(page)
    assert live.pages.wait_for(page.id, 5)
    introduce(page)
    working = Working(page, FakePage.work)
    words = ["run", "--page", "pixel8", CASE, "--server"]
    assert "asks for its token" in problem(CliRunner().invoke(app, [*words, live.url])).message
    printed = f"{live.url}/webgpu-test?token={token}"
    assert CliRunner().invoke(app, [*words, printed]).exit_code == 0
    assert CliRunner().invoke(app, [*words, live.url, "--token", token]).exit_code == 0
    monkeypatch.setenv("FA2_TOKEN", token)
    assert CliRunner().invoke(app, [*words, live.url]).exit_code == 0
    working.end()


def test_a_page_that_goes_away_during_a_run_ends_the_run_not_the_wait(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.remote_page.SETTLE_S", 0.5)
    live = serve(page_lost_s=0.2)
    page = live.page(label="pixel8")
    introduce(page)
    with Harness(page="pixel8", server=live.url) as harness:

        def leave() -> None:
            job = page.next_event("job")
            body = {"phase": "compile", "done": 0, "total": 1}
            page.http.post(f"/api/runs/{job['run']}/progress", json=body)
            page.close()

        threading.Thread(target=leave, daemon=True).start()
        report = harness.run(CASE)
        assert (report.status, report.error and report.error.kind) == ("error", "device-lost")
        assert "went away" in report.message
        with pytest.raises(NoBrowser, match="no page called 'pixel8'"):
            harness.run(CASE)


def test_a_page_that_comes_back_goes_on(live: Live, person: Person) -> None:
    page = person("pixel8")
    with Harness(page="pixel8", server=live.url) as harness:
        assert harness.run(CASE).ok
        page.close()
        page.gone(live.pages)
        threading.Timer(0.3, lambda: person("pixel8")).start()
        assert harness.run(CASE).ok


def test_an_interrupted_run_is_cancelled_on_the_page(live: Live) -> None:
    page = live.page(label="pixel8")
    introduce(page)
    with Harness(page="pixel8", server=live.url) as harness:
        worker = harness._started()

        def interrupt(_: Any) -> None:
            page.next_event("job")
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            worker.do(lambda service, page: service.store.submit(case(CASE), page=page), interrupt)
    assert page.next_event("cancel")


def case(text: str) -> Any:
    from server.cases import Case

    return Case.parse(text)


def test_pytest_runs_on_the_page_that_is_named(live: Live, person: Person, tmp_path: Path) -> None:
    person("pixel8")
    (tmp_path / "test_theirs.py").write_text(f"def test_it(fa2_run): fa2_run({CASE!r})")
    words = [sys.executable, "-m", "pytest", "-p", "server.pytest_plugin", "--require-webgpu"]
    words += ["-p", "no:cacheprovider", "--fa2-server", live.url, "--fa2-page"]
    checkout = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}

    def pytest_on(name: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*words, name], cwd=tmp_path, env=checkout, capture_output=True, text=True, timeout=60
        )

    found = pytest_on("pixel8")
    assert found.returncode == 0, found.stdout
    assert "fa2: page 'pixel8', adapter wanted: any" in found.stdout
    assert "fa2: NumPy 2, numpy float64" in found.stdout
    absent = pytest_on("nobody")
    assert absent.returncode == 1
    assert "no page called 'nobody'" in absent.stdout


def test_arrays_of_one_s_own_travel_there_and_results_back(live: Live, person: Person) -> None:
    person("pixel8")
    rng = np.random.default_rng(1)
    q, k, v, do = (rng.standard_normal((2, 5, 8)).astype(np.float32) for _ in range(4))
    with Harness(page="pixel8", server=live.url) as harness:
        found = harness.attention(q, k, v, H=2, dO=do)
        assert harness.last_report is not None
        assert harness.last_report.ok, harness.last_report.message
    split = [x.reshape(2, 5, 2, 4) for x in (q, k, v, do)]
    truth = attention(*split[:3], do=split[3], causal=True, align="br", scale=0.5)
    np.testing.assert_allclose(found["o"], truth["o"].reshape(2, 5, 8), rtol=1e-5)
    np.testing.assert_allclose(found["dk"], truth["dk"].reshape(2, 5, 8), rtol=1e-4, atol=1e-6)


def test_outputs_are_fetched_when_somebody_looks_at_them(live: Live, person: Person) -> None:
    person("pixel8")
    with Harness(page="pixel8", server=live.url) as harness:
        report = harness.run(CASE)
        run = live.store.all()[-1]
        outputs = harness.last_outputs
        assert "dq" not in outputs
        np.testing.assert_array_equal(outputs["o"], run.tensors["o"])
        assert list(outputs) == ["o", "lse"]
        run.tensors = {}
        assert len(outputs) == 2, "kept once fetched"
        assert report == run.report


def test_a_benchmark_runs_there_and_its_report_comes_back_whole(live: Live, person: Person) -> None:
    person("pixel8")
    with Harness(page="pixel8", server=live.url) as harness:
        report = harness.bench(CASE, samples=31)
        assert report.status == "timed", report.message
        assert report == live.app.state.benches.all()[-1].report
        with pytest.raises(CaseError, match="30 to"):
            harness.bench(CASE, samples=3)
        with pytest.raises(Unsupported, match="tiles of its own"):
            harness.bench(CASE, tuned={"kernels": {}, "choices": []})
        with pytest.raises(Unsupported, match="tiles of its own"):
            harness.run(CASE, tuned={"kernels": {}, "choices": []})


def test_training_on_such_a_page_is_refused_by_name(live: Live, person: Person) -> None:
    person("pixel8")
    with Harness(page="pixel8", server=live.url) as harness, pytest.raises(Unsupported):
        harness.train("tiny")
