"""The judge can fail: the kernels for real GPUs, broken by one small edit each.

As in test_mutants.py: each edit must change the text, each broken kernel must be caught, and the
shipped kernels must pass the same case. A row clamp that is missing shows in no case: the rows
behind an input are numbers here, and their weights are zeros.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from mutant import Mutant, both_tests

from server.harness import Harness

PACKED = "common/storage_f16x4_packed.wgsl"
Forward = partial(Mutant, file="fa2_forward_wide.wgsl")
Tiles = partial(Mutant, file="common/wide.wgsl")
Reduce = partial(Mutant, file="common/reduce_workgroup.wgsl")
DkDv = partial(Mutant, file="common/dkdv_wide.wgsl")
Dq = partial(Mutant, file="common/dq_wide.wgsl")
Grid = partial(Mutant, file="fa2_dqdkdv_wide.wgsl")
Terms = partial(Mutant, file="fa2_row_terms.wgsl")

LONG = "forward:T=70,H=4,Hkv=2,D=12,kernel=fa2_forward_wide"  # three key tiles, ragged edges
DEEP = "forward:T=70,H=2,D=20,kernel=fa2_forward_wide"  # two chunks, the last one not full
BLIND = "forward:Tq=45,Tk=19,H=2,D=8,kernel=fa2_forward_wide"  # the first 26 rows see no key
HALF = "forward:T=70,H=2,D=12,dtype=f16,kernel=fa2_forward_wide"
BACK = "backward:T=70,H=4,Hkv=2,D=12,kernel=fa2_backward_wide"
LATE = "backward:Tq=45,Tk=70,H=4,Hkv=2,D=12,kernel=fa2_backward_wide"  # rows see 26 keys and more

MUTANTS = [
    Forward("a key too many", LONG, "j0 + tx + TX * n < end", "j0 + tx + TX * n <= end", "o: .* b"),
    Forward("edge not masked", LONG, "j0 + BC > first_end", "j0 > first_end", "o: .* beyond"),
    Forward("alpha left out", LONG, "O_i[r * O_TILES + o] *= alpha;", "", "o: .* beyond"),
    Forward("sum of own keys only", LONG, "sum_over_rows(&l_i, tx, ty);", "", "o: .* beyond"),
    Forward("maximum of own keys only", LONG, "max_over_rows(&m_new, tx, ty);", "", "o: .* beyond"),
    Forward("LSE in base 2", LONG, "log2(l)) * LN_2", "log2(l))", "lse: .* beyond"),
    Forward("a row without keys averages V", BLIND, "max(m_new[r], 0.5 * SCORE_FLOOR)", "m_new[r]",
            "o: .* beyond"),
    Reduce("maximum without the first part", LONG, "var all = A[(g * TY + ty) * TX];",
           "var all = vec4<f32>(-1.0e38);", "o: .* not finite"),
    Tiles("A rotated when read only", LONG, "A[row * CHUNK + (c + row % TY) % CHUNK]",
          "A[row * CHUNK + c]", "o: .* beyond"),
    Tiles("rows of V in another order", LONG, "row / 4u + row % 4u * TX",
          "row % 4u + row / 4u * TX", "o: .* beyond"),
    Tiles("weights of the first keys twice", LONG, "vec4<f32>((*weights)[r * KEYS + 4u * q]",
          "vec4<f32>((*weights)[r * KEYS]", "o: .* b"),
    Tiles("weights read before they are complete", LONG,
          "workgroupBarrier();  // the weights and these rows are complete", "", "o: "),
    Tiles("last chunk of channels dropped", DEEP, "part < (HEAD_DIM + 4u * CHUNK - 1u) / (4u",
          "part < HEAD_DIM / (4u", "o: .* beyond"),
    Tiles("channels past the end of the head", DEEP,
          "return select(vec4<f32>(), vector, d < HEAD_DIM);", "return vector;", "o: .* beyond"),
    Mutant("halves of a word swapped", HALF, "packed_pair(value.xy)", "packed_pair(value.yx)",
           "o: .* beyond", PACKED),
    Mutant("infinite from 1 on", HALF, "vec2<f32>(65520.0)", "vec2<f32>(1.0)", "o: .* not finite",
           PACKED),
    DkDv("dS without delta", BACK, "(dS[r * KEYS + n] - delta_i)", "dS[r * KEYS + n]",
         "dk: .* beyond"),
    DkDv("rows past the end seen", BACK, " || i0 + WALK > params.Tq", "", "dk: .* beyond"),
    DkDv("one head of the group", BACK, "g < params.group", "g < 1u", "dk: .* beyond"),
    Dq("K of another head", BACK, "item.h / params.group", "item.h % (params.H / params.group)",
       "dq: .* beyond"),
    Dq("later rows lose their last key tile", LATE, "key_end(min(i0 + OWN, params.Tq) - 1u)",
       "key_end(i0)", "dq: .* beyond"),
    Mutant("masked scores count", BACK, "return select(0.0, exp2(exponent), seen);",
           "return exp2(exponent);", "dq: .* beyond", "common/backward_wide.wgsl"),
    Grid("query tiles counted on from those of keys", BACK, "query_item(id - key_items, ",
          "query_item(id, ", "dq: "),
    Grid("as many key tiles as query heads have", BACK, "(params.H / params.group)", "params.H",
          "dq: "),
    Dq("delta of other rows", BACK, "delta_i[r] = row_delta(at);", "delta_i[r] = row_delta(head);",
          "dq: .* beyond"),
    Mutant("LSE and delta swapped", BACK, "row_terms[at].x", "row_terms[at].y", "dq: ",
           "common/backward_wide.wgsl"),
    Terms("LSE in base e", BACK, "LSE[at] * LOG2_E", "LSE[at]", "dq: .* beyond"),
    Terms("delta by dO of another head", BACK, "item.h * params.do_head",
          "item.h / params.group * params.do_head", "dq: .* beyond"),
    Terms("terms of the last rows missing", BACK, "i >= params.Tq", "i + 1u >= params.Tq", "dq: "),
]  # fmt: skip


test_the_shipped_kernels_pass_what_the_broken_ones_must_fail, test_a_broken_kernel_fails = (
    both_tests(MUTANTS, kernels="wide")
)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_result_beyond_the_largest_f16_number_is_infinite(harness: Harness, sign: int) -> None:
    """Two query heads share the key, and dV is the sum of their dO; its neighbours stay right.
    The judge lets such results be anything, so it cannot catch NaN in their place.
    """
    q, k = np.zeros((1, 1, 8), np.float16), np.zeros((1, 1, 4), np.float16)
    dO = np.array([[[1, sign * 65504, 2, 3, 1, sign * 65504, 5, 4]]], np.float16)
    out = harness.attention(q, k, k, H=2, Hkv=1, dO=dO, kernel="fa2_backward_wide")
    assert out["dv"].tolist() == [[[2, sign * np.inf, 7, 7]]]
