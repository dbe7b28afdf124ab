"""Manifests of kernels that are not ours: what is refused, with the field and the reason."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from server import own_kernel
from server.cases import Case
from server.errors import CaseError, ManifestError
from server.own_cases import cases_for
from server.paths import STATIC
from server.report import Done, Report, failed_to_run
from server.results import FAILED, USAGE, Results
from server.schemas_own import json_schema
from server.selection import Selected

ROOT = STATIC.parent
TEXT = """
struct Shape { T: u32, heads: u32 }
@group(0) @binding(0) var<uniform> shape: Shape;
@group(0) @binding(1) var<storage, read> q_buf: array<f32>;  // not Qm
@group(0) @binding(2) var<storage, read_write> o: array<f32>;
@compute @workgroup_size(16, max(1, 2)) fn main() { o[0] = q_buf[0] * f32(shape.T * HEAD_DIM); }
"""
GRID: dict[str, Any] = {"grid": ["ceil_div(T, 16)", "B * H"]}


def checked(manifest: dict[str, Any], text: str = TEXT, **files: str) -> dict[str, Any]:
    own = {"name": "mine", "manifest": manifest, "files": {"mine.wgsl": text, **files}}
    return own_kernel.checked(own, "mine.json")


def test_what_a_manifest_leaves_out_is_left_out() -> None:
    own = checked(GRID)
    assert own["manifest"] == {"op": "forward", **GRID}
    assert (own["name"], own_kernel.source(own)) == ("mine", "mine.wgsl")


@pytest.mark.parametrize(
    ("manifest", "says"),
    [
        ({"bindings": {"Qm": "q"}},
         "bindings.Qm: mine.wgsl declares no such variable; it declares q_buf, o"),
        ({"bindings": {"shape": "q"}}, "bindings.shape: shape is a uniform"),
        ({"bindings": {"q_buf": "queries"}},
         "bindings.q_buf: 'queries' is neither a tensor nor in scratch; use q, k, v"),
        ({"bindings": {"q buf": "q"}}, "bindings.q buf"),
        ({"entry": "forward"}, "entry: mine.wgsl has no compute entry point forward; it has main"),
        ({"passes": [{"entry": "main", "grid": ["T"]}, {"entry": "second", "grid": ["T"]}]},
         "passes[1].entry: mine.wgsl has no compute entry point second"),
        ({"passes": [{"entry": "main", "grid": ["T"]}], "grid": ["T"]},
         "grid: a manifest with passes has it in each of them"),
        ({"grid": None}, "grid: how many workgroups run is not known from any text"),
        ({"passes": [{"entry": "main"}]}, "passes[0].grid: how many workgroups run is not known"),
        ({"passes": []}, "passes: List should have at least 1 item"),
        ({"grid": ["T", "H", "B", "1"]}, "grid: List should have at most 3 items"),
        ({"grid": ["T; rm"]}, "grid[0]: "),
        ({"grid": "T"}, "grid: Input should be a valid list"),
        ({"constants": {"WIDTH": "D"}}, "constants.WIDTH: mine.wgsl mentions no WIDTH"),
        ({"constants": {"HEAD_DIM": {"value": "D", "type": "u64"}}}, "constants.HEAD_DIM.type: "),
        ({"uniforms": {"seqlen": "T"}}, "uniforms.seqlen: mine.wgsl mentions no seqlen"),
        ({"scratch": {"lse": "4 * T"}}, "scratch.lse: this is the name of a tensor"),
        ({"outputs": ["dq"]}, "outputs: a forward has no dq; it has o, lse, attn"),
        ({"outputs": []}, "outputs: List should have at least 1 item"),
        ({"op": "sideways"}, "op: Input should be 'forward' or 'backward'"),
        ({"supports": {"dtypes": ["f32"]}}, "supports.dtypes: there is no such field"),
        ({"supports": {"max_D": 0}}, "supports.max_D: Input should be greater than"),
        ({"bindigs": {}}, "bindigs: there is no such field; there are $schema, name, op"),
        ({"tile": {"Br": 16}}, "tile.Bc: Field required"),
        ({"file": "../mine.wgsl"}, "file: String should match pattern"),
        ({"file": "other.wgsl"}, "file: there is no other.wgsl; there is mine.wgsl"),
        ({"forward": {"grid": ["T"]}}, "forward: only a backward is given"),
        ({"name": "my kernel"}, "name: String should match pattern"),
    ],
    ids=lambda value: "" if isinstance(value, str) else json.dumps(value)[:60],
)  # fmt: skip
def test_a_wrong_manifest_is_refused_with_the_field_and_the_reason(
    manifest: dict[str, Any], says: str
) -> None:
    with pytest.raises(ManifestError) as refused:
        checked({**({} if "grid" in manifest or "passes" in manifest else GRID), **manifest})
    assert refused.value.message.startswith(f"mine.json: {says}")


@pytest.mark.parametrize("name", ["../a.wgsl", "/etc/passwd", "a/b.wgsl", "a.txt", ".wgsl", ""])
def test_a_files_name_is_a_name(name: str) -> None:
    with pytest.raises(ManifestError, match=r"must be the name of a \.wgsl file"):
        own_kernel.checked({"name": "x", "manifest": {}, "files": {name: ""}})


def test_files_are_read_beside_the_kernel_and_nowhere_else(tmp_path: Path) -> None:
    (tmp_path / "mine.wgsl").write_text(f"// @use part.wgsl\n// @use common/masking.wgsl\n{TEXT}")
    (tmp_path / "part.wgsl").write_text("const A = 1u;")
    (tmp_path / "mine.json").write_text(json.dumps(GRID))
    own = own_kernel.read(tmp_path / "mine.wgsl")
    assert list(own["files"]) == ["mine.wgsl", "part.wgsl"]
    (tmp_path / "other.json").write_text(json.dumps({"grid": ["T"]}))
    assert own_kernel.read(tmp_path / "mine.wgsl", tmp_path / "other.json")["manifest"]["grid"] == [
        "T"
    ]
    assert own_kernel.read(tmp_path / "mine.wgsl", grid=["B"])["manifest"]["grid"] == ["B"]


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    kernel = tmp_path / "mine.wgsl"
    with pytest.raises(CaseError, match=r"mine\.wgsl cannot be read: No such file"):
        own_kernel.read(kernel)
    kernel.write_text(TEXT)
    (tmp_path / "mine.json").write_text("{'grid': []}")
    with pytest.raises(ManifestError, match=r"mine\.json: no JSON: "):
        own_kernel.read(kernel)
    for text in (
        '{"grid": [NaN]}',
        '{"grid": [1e999]}',
        '{"grid": [1], "grid": [2]}',
        "[" * 100_000,
    ):
        (tmp_path / "mine.json").write_text(text)
        with pytest.raises(ManifestError, match=r"mine\.json: no JSON: "):
            own_kernel.read(kernel)
    (tmp_path / "mine.json").write_text("[]")
    with pytest.raises(ManifestError, match="a manifest is an object, this is a list"):
        own_kernel.read(kernel)
    with pytest.raises(CaseError, match=r"is no \.wgsl file"):
        own_kernel.read(tmp_path / "mine.json")


def test_numbers_that_json_does_not_have_are_no_values() -> None:
    for value in (float("nan"), float("inf")):
        with pytest.raises(ManifestError, match=r"grid\[0\]: Input should be a finite number"):
            checked({"grid": [value]})
        with pytest.raises(ManifestError, match=r"uniforms\.T: "):
            checked({**GRID, "uniforms": {"T": value}})


def test_the_mark_that_windows_editors_begin_files_with_is_no_part_of_them(tmp_path: Path) -> None:
    (tmp_path / "mine.wgsl").write_text("\ufeff" + TEXT, encoding="utf-8")
    (tmp_path / "mine.json").write_text("\ufeff" + json.dumps(GRID), encoding="utf-8")
    assert own_kernel.read(tmp_path / "mine.wgsl")["files"] == {"mine.wgsl": TEXT}
    assert checked(GRID, "\ufeff" + TEXT)["files"] == {"mine.wgsl": TEXT}


def test_outputs_that_the_manifest_leaves_out_are_not_judged() -> None:
    case = Case.parse("forward:T=8,D=4,attn=1")
    assert own_kernel.judged(None, case) is None
    assert own_kernel.judged(checked(GRID), case) is None
    assert own_kernel.judged(checked({**GRID, "outputs": ["o", "attn"]}), case) == ["o", "attn"]
    with pytest.raises(ManifestError, match="outputs: attn is nothing that forward:T=8,D=4 asks"):
        own_kernel.judged(checked({**GRID, "outputs": ["attn"]}), case.replace(attn=False))
    backward = checked({**GRID, "op": "backward", "outputs": ["dq"]})
    assert own_kernel.judged(backward, case.replace(op="backward")) == ["o", "lse", "attn", "dq"]


def test_the_schema_in_the_docs_is_that_of_the_model() -> None:
    """`fa2 check --schema > docs/own-kernel.schema.json` writes it."""
    text = (ROOT / "docs" / "own-kernel.schema.json").read_text(encoding="utf-8")
    assert json.loads(text) == json_schema()


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.wgsl")), ids=lambda p: p.stem)
def test_the_examples_are_understood_and_have_cases(path: Path) -> None:
    own = own_kernel.read(path)
    assert len(cases_for(own)) > 10
    assert json.loads(path.with_suffix(".json").read_text())["$schema"].endswith(
        "docs/own-kernel.schema.json"
    )


def test_a_kernel_for_f16_alone_is_asked_for_f16() -> None:
    cases = cases_for(checked({**GRID, "supports": {"dtype": ["f16"]}}))
    assert {case.dtype for case in cases} == {"f16"}


def test_cases_that_hardly_a_kernel_takes_are_asked_for_when_the_manifest_speaks_of_them() -> None:
    def ids(**more: Any) -> str:
        return " ".join(map(str, cases_for(checked({**GRID, **more}))))

    assert not any(word in ids() for word in ("f16", "bias", "window", "softcap", "attn"))
    supports = {"dtype": ["f32", "f16"], "bias": ["tt"], "window": True, "softcap": True}
    said = ids(supports=supports, outputs=["o", "lse", "attn"])
    assert all(w in said for w in ("dtype=f16", "bias=tt", "window=5:0", "softcap=3", "attn=1"))
    assert "bias=htt" not in said
    assert all(f"Tq={q},Tk={k},H=3,D=16,attn=1" in said for q, k in ((19, 45), (33, 19)))
    assert {"causal=0,window=4:-1", "causal=0,window=-1:4"} <= set(re.findall(r"c\w+=0,w\S+", said))
    assert "negative" not in ids(outputs=["o"])


def _report(kind: str) -> Report:
    return failed_to_run("forward:T=8,D=4", kind, "why", Done(status="error", source="mine.wgsl"))


def test_a_mistake_in_a_manifest_is_a_mistake_of_usage() -> None:
    case = Selected(Case.parse("forward:T=8,D=4"))
    results = Results(entries=[(case, _report("manifest"))])
    assert results.exit_code() == USAGE
    results.entries.append((case, _report("compile")))
    assert results.exit_code() == FAILED


def test_a_report_says_how_the_kernel_is_checked_again() -> None:
    assert "again: fa2 check mine.wgsl 'forward:T=8,D=4'" in _report("compile").message


@pytest.mark.parametrize(
    "text",
    [
        "@compute " + "@a   " * 40,
        "@compute " * 29_000,
        "@compute @a" + "(()" * 80_000,
        "\n" * 262_000,
        "/* " * 87_000,
        "var<storage " * 21_000,
    ],
    ids=["attributes", "entry points", "parentheses", "empty lines", "comments", "buffers"],
)
def test_no_text_takes_long_to_look_through(text: str) -> None:
    """A server looks while its other requests wait."""
    started = time.process_time()
    names = {f"N{n}": 1 for n in range(60)}
    with pytest.raises(ManifestError, match=r"constants\.N0: "):
        checked({"grid": [1], "constants": names}, text)
    assert time.process_time() - started < 2
