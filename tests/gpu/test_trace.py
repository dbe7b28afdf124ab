"""What the kernels themselves tell of a tile, and what dbg() tells: on a real adapter."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mutant import SHADERS
from page_tab import SOON_MS, Tab

from server.cases import Case
from server.cli import app
from server.harness import Harness
from server.history import History
from server.service import Service
from server.trace import Trace
from server.trace_words import sentence

FORWARD = "forward:T=70,H=2,D=8,kernel=fa2_forward"
BACKWARD = "backward:T=40,H=4,Hkv=2,D=8,kernel=fa2_backward"
TILE = {"b": 0, "h": 1, "i_tile": 1}


def edited(old: str, new: str, path: str = "fa2_forward.wgsl") -> dict[str, str]:
    text = (SHADERS / path).read_text(encoding="utf-8")
    assert text.count(old) == 1, f"the shipped text no longer holds {old!r} once"
    return {path: text.replace(old, new)}


def traced(
    harness: Harness, case: str, shaders: Mapping[str, str] | None = None, **tile: int
) -> tuple[Trace, str]:
    """The trace of a run, and its sentence, which knows the verdict."""
    report = harness.run(case, trace=tile or TILE, shaders=shaders)
    found = harness.last_trace()
    assert found is not None, report.message
    assert report.told == found.told.wanted > 0
    return found, sentence(found, float(Case.parse(case).scale_f32), report)


@pytest.mark.parametrize(
    ("case", "kernels"),
    [
        (FORWARD, ["fa2_forward"]),
        ("forward:T=70,H=2,D=8", ["fa2_forward_rows"]),
        pytest.param(
            "forward:T=40,H=2,D=8,kernel=fa2_forward_wide",
            ["fa2_forward_wide"],
            marks=pytest.mark.slow,
        ),
        (BACKWARD, ["fa2_forward_rows", "fa2_dkdv", "fa2_dq"]),
        pytest.param(
            "backward:T=40,H=2,D=8",
            ["fa2_forward_rows", "fa2_dkdv_rows", "fa2_dq_rows"],
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "backward:T=40,H=2,D=8,kernel=fa2_backward_wide",
            ["fa2_forward_rows", "fa2_dqdkdv_wide"],
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_right_kernel_is_right_in_every_step_and_tracing_changes_no_bit(
    harness: Harness, case: str, kernels: list[str]
) -> None:
    plain = harness.run(case)
    if plain.kernel == "auto" or not harness.environment["adapter"].get("fallback"):
        pytest.skip("another adapter takes other kernels")
    untraced = dict(harness.last_outputs)
    found, said = traced(harness, case)
    assert harness.last_report is not None
    assert harness.last_report.status == plain.status == "pass"
    assert harness.last_done is not None
    assert harness.last_done.traced == kernels
    assert said.startswith("Right in every step: "), said
    assert all(q.told.any() for step in found.steps for q in step.quantities.values())
    kinds = {"forward", "dQ", "dK, dV"} if case.startswith("backward") else {"forward"}
    assert {step.kind for step in found.steps} == kinds
    for name, array in untraced.items():
        np.testing.assert_array_equal(array, harness.last_outputs[name], err_msg=name)


FAULTS = [
    # (what is edited, by what, step, quantity, reason)
    ("let alpha = exp(m_i - m_new);", "let alpha = vec4<f32>(1.0);", 1, "alpha", "not rescaled"),
    ("l_i = l_i * alpha + P", "l_i = l_i + P", 1, "l", "the old sum was not rescaled"),
    ("S = S * params.scale;", "S = S * params.scale * params.scale;", 0, "S", "scale is applied"),
    ("S = S * params.scale;", "", 0, "S", "scale is left out"),
    ("if (j0 + BC > first_end)", "if (j0 + BC > first_end + BC)", 2, "S", "are not masked"),
    ("O_0 = scale_rows(O_0, alpha);", "", 1, "O", "the old sum was not rescaled"),
    ("var m_new = m_i;", "var m_new = vec4<f32>(SCORE_FLOOR);", 1, "m", "is forgotten"),
]


@pytest.mark.parametrize(("old", "new", "step", "quantity", "why"), FAULTS)
def test_a_broken_forward_parts_where_it_is_broken(
    harness: Harness, old: str, new: str, step: int, quantity: str, why: str
) -> None:
    found, said = traced(harness, FORWARD, edited(old, new))
    departure = found.departure
    assert departure is not None, said
    assert (departure.step, departure.quantity) == (step, quantity), said
    assert why in said


def test_where_attn_alone_is_wrong_the_kernel_that_writes_it_is_named(harness: Harness) -> None:
    past_the_end = edited(
        "vec4<u32>(j[n]) < ends", "vec4<u32>(j[n]) <= ends", "attn_writeback.wgsl"
    )
    found, said = traced(harness, FORWARD.replace("kernel", "attn=1,kernel"), past_the_end)
    assert found.departure is None
    assert "Only attn is wrong, and no traced kernel writes it: attn_writeback computes" in said
    assert "after the last key tile" not in said


def test_a_broken_backward_parts_in_its_own_kernel(harness: Harness) -> None:
    forgotten = edited("p * (dp - delta", "p * (dp - 0.0 * delta", "fa2_dkdv.wgsl")
    found, said = traced(harness, BACKWARD, forgotten, b=0, h=2, j_tile=0)
    assert found.departure is not None
    assert found.steps[found.departure.step].kind == "dK, dV"
    assert found.departure.quantity == "dS"
    assert said.endswith("delta is not subtracted."), said


@pytest.mark.slow
def test_a_broken_tile_of_keys_is_found_in_the_grid_of_all_gradients(harness: Harness) -> None:
    forgotten = edited(
        "(dS[r * KEYS + n] - delta_i)",
        "(dS[r * KEYS + n] - 0.0 * delta_i)",
        "common/dkdv_wide.wgsl",
    )
    case = "backward:T=40,H=2,D=8,kernel=fa2_backward_wide"
    found, said = traced(harness, case, forgotten, b=0, h=1, j_tile=0)
    assert found.departure is not None
    assert found.steps[found.departure.step].kind == "dK, dV"
    assert found.departure.quantity == "dS"
    assert said.endswith("delta is not subtracted."), said


def test_what_cannot_be_traced_is_refused_by_name(harness: Harness) -> None:
    report = harness.run("forward:T=16,D=8,kernel=baseline", trace=TILE | {"h": 0})
    assert report.status == "skip"
    assert "attn_fused_sv has no trace hooks; name kernel=fa2_forward" in report.message
    report = harness.run(FORWARD, trace=TILE | {"i_tile": 3})
    assert report.status == "skip"
    assert "no query tile 3: this kernel's tiles are 32 long, so they are 0 to 2" in report.message


def test_dbg_tells_who_said_what_and_the_kernel_stays_right(harness: Harness) -> None:
    calls = (
        "  dbg_u(7u, item.h); dbg4(8u, vec4<f32>(l_0()));\n"
        "  if (is_first(tx, ty)) { dbg(9u, f32(i0)); }\n"
    )
    shaders = edited("  var m_i = vec4<f32>", f"{calls}  var m_i = vec4<f32>")
    shaders["fa2_forward.wgsl"] += (
        "\nfn l_0() -> f32 { return -0.5; }"
        "\nfn is_first(tx: u32, ty: u32) -> bool { return tx == 0u && ty == 0u; }"
    )
    report = harness.run(FORWARD, shaders=shaders)
    assert report.status == "pass", report.message
    found = harness.last_trace()
    assert found is not None
    assert found.steps == []
    tiles, heads, invocations = 3, 2, 32
    by_tag = {tag: [v for v in found.values if v.tag == tag] for tag in (7, 8, 9)}
    assert len(by_tag[7]) == tiles * heads * invocations
    assert {(v.workgroup % heads, v.value) for v in by_tag[7]} == {(0, 0.0), (1, 1.0)}
    assert {v.invocation for v in by_tag[7]} == set(range(invocations))
    assert {(v.component, v.value) for v in by_tag[8]} == {(n, -0.5) for n in range(4)}
    assert sorted(v.value for v in by_tag[9]) == [0.0, 0.0, 32.0, 32.0, 64.0, 64.0]
    assert report.told == len(found.values)


def test_values_without_room_are_counted(harness: Harness) -> None:
    loop = "  for (var n = 0u; n < 2000u; n++) { dbg_u(1u, n); }\n  var m_i = vec4<f32>"
    report = harness.run(FORWARD, shaders=edited("  var m_i = vec4<f32>", loop))
    assert report.status == "pass", report.message
    found = harness.last_trace()
    assert found is not None
    assert report.told == 2000 * 3 * 2 * 32
    assert len(found.values) == found.told.capacity == 65536
    assert found.told.lost == report.told - 65536


@pytest.fixture(scope="module")
def tab(chromium: Any) -> Iterator[Tab]:
    with Service() as service:
        tab = Tab.of(chromium, service, "trace", viewport={"width": 1280, "height": 900})
        yield tab
        tab.close()


def test_the_page_shows_where_a_broken_kernel_parts(tab: Tab) -> None:
    tab.open()
    shaders = edited("l_i = l_i * alpha + P", "l_i = l_i + P")
    tab.service.store.submit(FORWARD, page=tab.id, shaders=shaders)
    tab.headline("1 FAILED")
    tab.page.click("#lines button")
    tab.page.click("#trace-start:enabled")
    tab.page.locator("#trace-sentence", has_text="the old sum was not rescaled").wait_for()
    tab.page.locator(".trace-matrix canvas").nth(8).wait_for(timeout=SOON_MS)
    chosen = tab.page.locator("#trace-steps label:has(input:checked)")
    assert "key tile 1" in chosen.inner_text()
    assert "parts here: l_i" in chosen.inner_text()
    assert "l_i of rows" in tab.page.inner_text(".trace-here")
    tab.page.focus("#trace-steps input:checked")
    tab.page.keyboard.press("ArrowLeft")
    assert "right" in chosen.inner_text()
    assert tab.page.inner_text("#trace-step h3") == "key tile 0"
    tab.page.keyboard.press("End")
    assert "wrong too" in chosen.inner_text()
    with tab.page.expect_download() as download:
        tab.page.click("#trace-downloads a >> nth=0")
    with np.load(Path(download.value.path())) as arrays:
        assert arrays["tile1.l.actual"].shape == (32,)
    assert tab.complaints == []


@pytest.mark.slow
def test_a_trace_that_is_not_of_the_run_on_show_says_so(tab: Tab) -> None:
    tab.open()
    store = tab.service.store
    store.submit(FORWARD, page=tab.id, shaders=edited("l_i = l_i * alpha + P", "l_i = l_i + P"))
    tab.headline("1 FAILED")
    tab.page.click("#lines button")
    tab.page.click("#trace-start:enabled")
    tab.page.locator("#trace-sentence", has_text="the old sum was not rescaled").wait_for()
    assert tab.page.locator("#trace-of").is_hidden()
    tab.run(FORWARD)  # the shipped text
    tab.headline("ALL PASS")
    tab.page.locator("#trace-of", has_text="is of an earlier run of this case.").wait_for()
    tab.run("forward:T=20,D=8")
    tab.page.locator("#trace-of", has_text=f"is of {FORWARD}.").wait_for()
    tab.run(FORWARD)
    tab.page.locator("#trace-of", has_text="is of an earlier run of this case.").wait_for()
    tab.page.click("#trace-start:enabled")
    tab.page.locator("#trace-sentence", has_text="Right in every step").wait_for()
    assert tab.page.locator("#trace-of").is_hidden()
    assert tab.complaints == []


def test_a_trace_that_is_stopped_is_over(tab: Tab) -> None:
    tab.open()
    tab.page.fill("#case", "forward:T=2048,H=4,D=64,kernel=fa2_forward")
    tab.page.press("#case", "Tab")
    tab.page.click("#trace-start:enabled")
    tab.page.click("#stop:enabled")
    tab.page.locator("#trace-status", has_text="Not traced: ").wait_for()
    tab.page.locator("#trace-start:enabled").wait_for()
    assert tab.page.get_attribute("main", "data-state") != "running"
    assert [line for line in tab.complaints if "409" not in line] == []
    tab.complaints.clear()


def test_the_page_lists_what_dbg_told(tab: Tab) -> None:
    tab.open()
    shaders = edited(
        "  var m_i = vec4<f32>", "  dbg(3u, 0.25); dbg(4u, 1.0);\n  var m_i = vec4<f32>"
    )
    tab.service.store.submit("forward:T=16,D=8,kernel=fa2_forward", page=tab.id, shaders=shaders)
    values = tab.page.locator("#trace-values", has_text="dbg() told 64 values")
    values.wait_for(timeout=SOON_MS)
    tab.page.select_option("#trace-tag", "4")
    rows = tab.page.locator("#trace-values tbody tr").all_inner_texts()
    assert [row.split() for row in rows][:2] == [["4", "0", "0", "1"], ["4", "0", "1", "1"]]
    assert len(rows) == 32
    assert tab.complaints == []


def test_the_command_prints_the_steps_and_the_sentence(
    tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "trace.json"
    monkeypatch.setenv("FA2_HISTORY", str(tmp_path / "history.db"))
    with pytest.raises(SystemExit) as end:
        app(["trace", "forward:T=40,D=8,kernel=fa2_forward", "--tile=1", "--rows", f"--json={out}"])
    assert end.value.code == 0
    said = capsys.readouterr().out
    assert "Right in every step" in said
    assert "row 32: m_i " in said
    steps = json.loads(out.read_text())["steps"]
    assert [step["title"] for step in steps] == ["key tile 0", "key tile 1", "key tile 2"]
    kept = [(row["origin"], row["status"]) for row in History(tmp_path / "history.db").rows()]
    assert kept == [("trace", "pass")]
