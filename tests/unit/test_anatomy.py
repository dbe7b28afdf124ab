"""An output taken apart: heads, histogram, worst elements and profiles are those of the judge."""

import numpy as np
import pytest
from fake_upload import done, results, uploads

from server.anatomy import WORST, anatomy
from server.cases import Case
from server.inputs import few_weights, make_inputs
from server.judge import actual_of, problem_of, tile_of
from server.judged_parts import NotJudged, Subject
from server.measure import Bounds, measure, sample_of
from server.outputs import outputs_of
from server.truths import Truths
from server.verdict import compare


def subject(text, *, sampled_above=None, truths=None, **wrong):
    """A run of a right kernel, with some elements replaced: ``o={(0, 1, 2, 3): 7.0}``."""
    case = Case.parse(text)
    flat = uploads(case, results(case))
    tensors = {spec.name: flat[spec.name].reshape(spec.shape) for spec in outputs_of(case)}
    for name, elements in wrong.items():
        for index, value in elements.items():
            tensors[name][index] = value
    return Subject(
        id="run",
        case=case,
        tensors=tensors,
        tile=tile_of(done(case)),
        bounds=Bounds(4.0, few_weights(case), case.dtype == "f16"),
        inputs=None,
        sampled_above=sampled_above,
        truths=truths or Truths(1 << 26),
    )


@pytest.mark.parametrize(
    "text",
    [
        "forward:B=2,Tq=21,Tk=34,H=4,Hkv=2,D=8,attn=1",
        "backward:B=2,Tq=18,Tk=23,H=4,Hkv=2,D=8,bias=htt",
        "backward:B=2,T=17,H=4,Hkv=2,D=5,dtype=f16,layout=bhtd",
    ],
)
def test_heads_worst_and_counts_are_the_judges(text):
    one = subject(text)
    case, problem = one.case, problem_of(one.case, make_inputs(one.case))
    for output in measure(problem, actual_of(case, one.tensors), one.bounds, None).outputs:
        judged, found = compare(output, one.tile), anatomy(one, output.name)
        assert (found["elements"], found["wrong"]) == (judged.total, judged.wrong)
        assert found["worst"][0]["index"] == judged.worst.index
        assert found["worst"][0]["ratio"] == pytest.approx(judged.worst_ratio, rel=1e-9)
        others = tuple(n for n, axis in enumerate(output.axes) if axis not in ("b", "h", "hkv"))
        np.testing.assert_allclose(found["heads"]["worst"], judged.ratios.max(axis=others), 1e-9)


def test_the_worst_ten_come_in_order_with_no_number_first():
    wrong = {(0, 5, 1, 2): np.nan, (0, 6, 1, 2): np.inf, (0, 7, 0, 0): 90.0, (0, 8, 0, 0): 80.0}
    found = anatomy(subject("forward:T=20,H=2,D=4", o=wrong), "o")
    assert len(found["worst"]) == WORST
    places = [(w["index"]["i"], w["index"]["h"], w["actual"]) for w in found["worst"][:4]]
    assert places == [(5, 1, "NaN"), (6, 1, "inf"), (7, 0, 90.0), (8, 0, 80.0)]
    assert found["worst"][2]["tile"] == {"i": 0}
    assert (found["ulps"]["nan"], found["ulps"]["inf"], found["wrong"]) == (1, 1, 4)
    ratios = [w["ratio"] for w in found["worst"][2:]]
    assert ratios == sorted(ratios, reverse=True)


def test_profiles_count_the_wrong_elements_of_each_row_tile_and_channel():
    wrong = {(0, 17, 1, n): 50.0 for n in range(3)} | {(0, 39, 0, 3): 50.0}
    found = anatomy(subject("forward:T=40,H=2,D=4", o=wrong), "o")
    rows, channels = found["profiles"]
    assert (rows["axis"], rows["tile"], rows["size"], rows["step"]) == ("i", 16, 40, 1)
    assert {n: w for n, w in zip(rows["at"], rows["wrong"], strict=True) if w} == {17: 3, 39: 1}
    assert (rows["tiles"]["at"], rows["tiles"]["wrong"]) == ([0, 1, 2], [0, 3, 1])
    assert (channels["axis"], channels["wrong"], channels["tiles"]) == ("d", [1, 1, 1, 1], None)


def test_a_long_axis_is_told_in_fewer_points_that_lose_no_wrong_element():
    found = anatomy(subject("forward:T=1030,H=1,D=2", lse={(0, 0, 1029): 9.0}), "lse")
    (rows,) = found["profiles"]
    assert (rows["step"], len(rows["at"])) == (3, 344)
    assert rows["wrong"][-1] == 1
    assert sum(rows["wrong"]) == 1


def test_of_a_sample_only_what_was_judged_is_told():
    one = subject("backward:T=100,H=4,Hkv=2,D=2", sampled_above=64)
    sample = sample_of(one.problem, one.tile, 0, 64)
    rows = anatomy(one, "o")
    assert rows["sampled"]
    assert rows["profiles"][0]["at"] == sample.rows.tolist()
    assert rows["elements"] == len(sample.rows) * 4 * 2
    keys = anatomy(one, "dk")
    judged = [n in sample.kv_heads for n in range(2)]
    assert [w is not None for w in keys["heads"]["worst"][sample.batch]] == judged


def test_what_was_computed_is_kept_and_used_again():
    truths = Truths(1 << 26)
    one = subject("forward:T=20,H=2,D=4", truths=truths)
    first = one.head("o", 0, 1)
    assert truths.kept_bytes > 0
    assert one.head("o", 0, 1).expected.base is first.expected.base


def test_a_head_that_there_is_not_is_named():
    with pytest.raises(NotJudged, match="h < 2"):
        subject("forward:T=20,H=2,D=4").head("o", 0, 2)


def test_the_store_of_truths_forgets_what_was_used_longest_ago():
    truths = Truths(10)
    for key, size in (("a", 4), ("b", 4)):
        truths.get(key, lambda key=key: key, lambda _, size=size: size)
    assert truths.get("a", lambda: "made anew", lambda _: 4) == "a"
    truths.get("c", lambda: "c", lambda _: 4)
    assert truths.get("b", lambda: "made anew", lambda _: 4) == "made anew"
    assert truths.get("big", lambda: "big", lambda _: 11) == "big"
    assert truths.kept_bytes <= 10
