"""The heat map shows what the judge judged, element by element, and loses no bad one."""

import json

import numpy as np
import pytest
from fake_upload import done, results, uploads

from server.cases import Case
from server.heatmap import LARGEST, HeatMap, heat_map, safetensors
from server.inputs import few_weights, make_inputs
from server.judge import actual_of, problem_of, tile_of
from server.judged_parts import Subject, heads_of
from server.measure import Bounds, measure, sample_of
from server.outputs import outputs_of
from server.truths import Truths
from server.verdict import ratios

CASES = [
    "forward:B=2,Tq=21,Tk=34,H=4,Hkv=2,D=8,attn=1",
    "forward:B=2,T=19,H=3,D=5,layout=bhtd",
    "forward:T=20,H=2,D=8,dist=ties",
    "backward:B=2,Tq=18,Tk=23,H=4,Hkv=2,D=8,bias=htt",
    "backward:B=2,T=17,H=2,D=4,layout=bhtd,bias=b11t",
    "backward:B=2,T=17,H=4,Hkv=2,D=5,dtype=f16",
]


def shaped(case, got):
    """The uploaded outputs in their shapes in memory, as the run store keeps them."""
    flat = uploads(case, got)
    return {spec.name: flat[spec.name].reshape(spec.shape) for spec in outputs_of(case)}


def drawn(case, name, actual, b, h, kappa=4.0, **window):
    subject = Subject(
        id="run",
        case=case,
        tensors={name: actual},
        tile=tile_of(done(case)),
        bounds=Bounds(kappa, few_weights(case), case.dtype == "f16"),
        inputs=None,
        sampled_above=None,
        truths=Truths(0),
    )
    return heat_map(subject, name, b=b, h=h, **window)


@pytest.mark.parametrize("text", CASES)
def test_every_element_has_the_ratio_that_the_judge_gave_it(text):
    case = Case.parse(text)
    arrays = shaped(case, results(case))
    bounds = Bounds(4.0, few_weights(case), case.dtype == "f16")
    problem = problem_of(case, make_inputs(case))
    whole = measure(problem, actual_of(case, arrays), bounds, None)
    for output in whole.outputs:
        judged = ratios(output.actual, output.expected, output.allowed)
        B, H = heads_of(case, output.name)
        for b in range(B):
            for h in range(H):
                found = drawn(case, output.name, arrays[output.name], b, h)
                index = {"b": b, "h": h, "hkv": h}
                head = tuple(index.get(axis, slice(None)) for axis in output.axes)
                expected = judged[head].reshape(found.planes["ratio"].shape)
                np.testing.assert_allclose(found.planes["ratio"], expected, rtol=1e-5, atol=1e-7)


def test_a_wrong_element_is_told_with_its_place_and_values():
    case = Case.parse("forward:B=2,T=40,H=4,Hkv=2,D=8")
    arrays = shaped(case, results(case))
    arrays["o"][1, 17, 2, 5] = 7.0
    found = drawn(case, "o", arrays["o"], 1, 2)
    at = np.unravel_index(np.argmax(found.planes["ratio"]), (40, 8))
    assert at == (17, 5)
    assert {name: found.planes[name][at] for name in ("row", "column", "actual")} == {
        "row": 17,
        "column": 5,
        "actual": 7.0,
    }
    assert (found.planes["ratio"] > 1).sum() == 1
    for b, h in ((0, 2), (1, 1), (1, 3)):
        assert (drawn(case, "o", arrays["o"], b, h).planes["ratio"] <= 1).all()


def test_what_is_no_number_is_no_number_in_the_map():
    case = Case.parse("forward:T=8,D=4")
    arrays = shaped(case, results(case))
    arrays["lse"][0, 0, 3] = np.nan
    ratio = drawn(case, "lse", arrays["lse"], 0, 0).planes["ratio"]
    assert ratio.shape == (8, 1)
    assert np.isnan(ratio[:, 0]).tolist() == [n == 3 for n in range(8)]


def test_a_large_head_is_reduced_to_its_worst_elements():
    case = Case.parse("forward:T=1100,D=2,attn=1")
    arrays = shaped(case, results(case))
    arrays["attn"][0, 0, 1097, 301] += 0.5
    found = drawn(case, "attn", arrays["attn"], 0, 0)
    rows, columns = found.planes["ratio"].shape
    assert rows == columns == -(-1100 // 3) <= LARGEST
    assert found.facts["cell_rows"] == found.facts["cell_columns"] == 3
    (at,) = np.argwhere(found.planes["ratio"] > 1)
    assert (found.planes["row"][tuple(at)], found.planes["column"][tuple(at)]) == (1097, 301)
    assert tuple(at) == (1097 // 3, 301 // 3)


def test_of_a_sampled_case_the_judged_rows_are_shown_with_their_own_numbers():
    case = Case.parse("forward:T=8200,D=2,H=2")
    arrays = {spec.name: np.zeros(spec.shape, np.float32) for spec in outputs_of(case)}
    problem = problem_of(case, make_inputs(case))
    sample = sample_of(problem, tile_of(done(case)), case.seed)
    for name in ("o", "lse"):
        found = drawn(case, name, arrays[name], 0, 1)
        assert found.facts["sampled"] == 1
        assert found.planes["row"][:, 0].tolist() == sample.rows.tolist()


def test_tiles_belong_to_the_axis_that_the_kernel_cut():
    case = Case.parse("backward:T=24,H=2,D=4")
    arrays = shaped(case, results(case))
    names = ("row_axis", "column_axis", "row_tile", "column_tile")
    facts = {
        name: tuple(drawn(case, name, arrays[name], 0, 0).facts[n] for n in names)
        for name in ("o", "lse", "dk")
    }
    assert facts == {
        "o": ("query", "channel", 16, 0),
        "lse": ("query", "", 16, 0),
        "dk": ("key", "channel", 16, 0),
    }


def test_a_looser_kappa_widens_what_is_allowed():
    case = Case.parse("forward:T=8,D=4")
    actual = shaped(case, results(case))["o"]
    wide, narrow = (drawn(case, "o", actual, 0, 0, kappa).planes["allowed"] for kappa in (8, 4))
    np.testing.assert_allclose(wide, 2 * narrow, rtol=1e-5)


def test_the_file_is_in_the_safetensors_format():
    plane = np.arange(6, dtype=np.float32).reshape(2, 3)
    planes = {"expected": plane.astype(np.float64), "ratio": plane, "row": plane.astype(np.uint32)}
    data = safetensors(HeatMap(planes, {"rows": 2, "row_axis": "query"}))
    size = int.from_bytes(data[:8], "little")
    assert size % 8 == 0
    header = json.loads(data[8 : 8 + size])
    assert header.pop("__metadata__") == {"rows": "2", "row_axis": "query"}
    assert {name: entry["dtype"] for name, entry in header.items()} == {
        "expected": "F64",
        "ratio": "F32",
        "row": "U32",
    }
    for name, entry in header.items():
        begin, end = (8 + size + n for n in entry["data_offsets"])
        read = np.frombuffer(data[begin:end], planes[name].dtype).reshape(entry["shape"])
        np.testing.assert_array_equal(read, planes[name])
    assert end == len(data)
