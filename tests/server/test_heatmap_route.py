"""``GET /api/runs/{run}/heatmap/{name}``: which head, and every way to be refused."""

from __future__ import annotations

import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import numpy as np
import pytest
from conftest import Live, Serve

from server import routes_heatmap
from server.cases import Case
from server.inputs import make_inputs

CASE = "forward:B=2,T=12,H=4,Hkv=2,D=4,attn=1"


def facts(response: httpx.Response) -> dict[str, str]:
    assert response.status_code == 200, response.text
    size = int.from_bytes(response.content[:8], "little")
    found: dict[str, str] = json.loads(response.content[8 : 8 + size])["__metadata__"]
    return found


def planes(response: httpx.Response) -> dict[str, Any]:
    assert response.status_code == 200, response.text
    size = int.from_bytes(response.content[:8], "little")
    header = json.loads(response.content[8 : 8 + size])
    header.pop("__metadata__")
    body, kinds = response.content[8 + size :], {"F32": "<f4", "F64": "<f8", "U32": "<u4"}
    return {
        name: np.frombuffer(body[slice(*entry["data_offsets"])], kinds[entry["dtype"]]).reshape(
            entry["shape"]
        )
        for name, entry in header.items()
    }


def done(live: Live, case: str = CASE, **wrong: float) -> str:
    """A finished run; ``wrong`` replaces the last element of an output."""
    page = live.page()
    run = live.submit(case, page=page.id)
    job = page.next_event("job")
    replaced = {}
    if wrong:
        tensors = page.tensors(job, page.inputs(job))
        for name, value in wrong.items():
            array = np.frombuffer(tensors[name], "<f4").copy()
            array[-1] = value
            replaced |= {name: array.tobytes(), f"{name}.repeat": array.tobytes()}
    page.work(job, **replaced)
    return run


def test_without_a_head_the_one_with_the_worst_element_is_shown(live: Live) -> None:
    run = done(live, o=9.0)
    found = facts(live.client.get(f"/api/runs/{run}/heatmap/o"))
    assert {key: found[key] for key in ("b", "h", "batches", "heads", "rows", "columns")} == {
        "b": "1",
        "h": "3",
        "batches": "2",
        "heads": "4",
        "rows": "12",
        "columns": "4",
    }


def test_a_head_that_is_named_is_shown(live: Live) -> None:
    run = done(live)
    found = facts(live.client.get(f"/api/runs/{run}/heatmap/attn", params={"b": 0, "h": 2}))
    assert (found["b"], found["h"], found["columns"], found["column_axis"]) == (
        "0",
        "2",
        "12",
        "key",
    )


@pytest.mark.parametrize(
    ("path", "query", "status"),
    [
        ("heatmap/o", {"b": 2}, 422),
        ("heatmap/o", {"h": 4}, 422),
        ("heatmap/o", {"h": -1}, 422),
        ("heatmap/o", {"h": "x"}, 422),
        ("heatmap/o", {"rows": "3:3"}, 422),
        ("heatmap/o", {"rows": "-1:3"}, 422),
        ("heatmap/o", {"rows": "12:20"}, 422),
        ("heatmap/o", {"columns": "1"}, 422),
        ("heatmap/o", {"columns": "0:" + "9" * 30}, 422),
        ("anatomy/dq", {}, 404),
        ("suspects/dq", {}, 404),
        ("anatomy/o.repeat", {}, 404),
        ("heatmap/dq", {}, 404),
        ("heatmap/o.guards", {}, 404),
        ("heatmap/..%2f..%2fo", {}, 404),
    ],
)
def test_what_there_is_not_is_refused(
    live: Live, path: str, query: dict[str, object], status: int
) -> None:
    run = done(live)
    response = live.client.get(f"/api/runs/{run}/{path}", params=query)
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"


def test_an_unknown_run_and_an_unfinished_one_are_refused(live: Live) -> None:
    assert live.client.get("/api/runs/none/heatmap/o").status_code == 404
    run = live.submit(CASE)
    assert live.client.get(f"/api/runs/{run}/heatmap/o").status_code == 409
    live.client.post(f"/api/runs/{run}/cancel")


def test_a_run_that_ended_without_tensors_has_no_map(live: Live) -> None:
    page = live.page()
    run = live.submit(CASE, page=page.id)
    page.done(page.next_event("job"), status="skip", error={"kind": "unsupported"})
    assert live.client.get(f"/api/runs/{run}/heatmap/o").status_code == 404


def test_a_run_on_the_callers_own_arrays_is_compared_with_what_they_give(live: Live) -> None:
    page = live.page()
    case = Case.parse(CASE)
    run = live.store.submit(case, page=page.id, inputs=make_inputs(case.replace(seed=5)))
    page.work(page.next_event("job"))
    ratio = planes(live.client.get(f"/api/runs/{run.id}/heatmap/o"))["ratio"]
    assert ratio.max() <= 1, "the inputs of the case's own seed give other results"


def test_a_window_is_shown_alone_and_says_which_one_it_is(live: Live) -> None:
    run = done(live)
    url = f"/api/runs/{run}/heatmap/attn"
    whole = planes(live.client.get(url, params={"b": 1, "h": 2}))
    asked = {"b": 1, "h": 2, "rows": "4:7", "columns": "2:99"}
    response = live.client.get(url, params=asked)
    found = facts(response)
    assert (found["first_row"], found["rows"], found["all_rows"]) == ("4", "3", "12")
    assert (found["first_column"], found["columns"], found["all_columns"]) == ("2", "10", "12")
    np.testing.assert_array_equal(planes(response)["expected"], whole["expected"][4:7, 2:])
    assert planes(response)["row"][:, 0].tolist() == [4, 5, 6]


def test_an_output_is_taken_apart_over_all_its_heads(live: Live) -> None:
    run = done(live, o=9.0)
    found = live.client.get(f"/api/runs/{run}/anatomy/o").raise_for_status().json()
    assert found["heads"]["wrong"] == [[0, 0, 0, 0], [0, 0, 0, 1]]
    assert found["worst"][0]["index"] == {"b": 1, "i": 11, "h": 3, "d": 3}
    assert found["worst"][0]["actual"] == 9
    assert sum(found["ulps"]["buckets"]) + found["ulps"]["zero"] == 2 * 12 * 4 * 4


def test_what_wrong_values_look_like_is_told(live: Live) -> None:
    page = live.page()
    run = live.submit("forward:T=12,H=2,D=4", page=page.id)
    job = page.next_event("job")
    lse = np.frombuffer(page.tensors(job, page.inputs(job))["lse"], "<f4")
    wrong = (lse * np.float32(np.log2(np.e))).tobytes()
    page.work(job, lse=wrong, **{"lse.repeat": wrong})
    (said,) = live.client.get(f"/api/runs/{run}/suspects/lse").raise_for_status().json()
    assert "1.4427 times the right one" in said
    assert live.client.get(f"/api/runs/{run}/suspects/o").json() == []


def test_evicted_tensors_are_said_to_be_evicted(serve: Serve) -> None:
    live = serve(max_kept_bytes=1)
    run = done(live)
    done(live)
    response = live.client.get(f"/api/runs/{run}/heatmap/o")
    assert response.status_code == 404
    assert "evicted" in response.json()["detail"]


def test_many_maps_asked_for_at_once_are_made_two_at_a_time(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = done(live)
    begun: list[int] = []
    ended: list[int] = []
    at_work: list[int] = []

    def slowly(*args: Any, **options: Any) -> Any:
        begun.append(1)
        at_work.append(len(begun) - len(ended))
        time.sleep(0.05)
        ended.append(1)
        return made(*args, **options)

    made = routes_heatmap.heat_map
    monkeypatch.setattr(routes_heatmap, "heat_map", slowly)
    url = f"{live.url}/api/runs/{run}/heatmap/o"
    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(lambda _: httpx.get(url, verify=False).status_code, range(12)))
    assert answers == [200] * 12
    assert max(at_work) == 2


def test_a_map_is_not_made_for_somebody_who_has_gone(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = done(live)
    go_on = threading.Event()
    made = []

    def waits(*_: Any, **__: Any) -> Any:
        made.append(1)
        go_on.wait(5)
        raise ValueError("no map today")

    monkeypatch.setattr(routes_heatmap, "heat_map", waits)
    for _ in range(8):  # two are being made, six wait
        with socket.create_connection(("127.0.0.1", live.port)) as connection:
            ask = f"GET /api/runs/{run}/heatmap/o HTTP/1.1\r\nHost: localhost\r\n\r\n"
            connection.sendall(ask.encode())
            time.sleep(0.02)
    time.sleep(0.5)
    go_on.set()
    time.sleep(0.2)
    assert live.client.get("/api/pages").status_code == 200
    assert len(made) == 2
