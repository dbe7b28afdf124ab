"""The judge can fail: the kernels for SwiftShader, broken by one small edit each.

As in test_mutants.py: each edit must change the text, each broken kernel must be caught, and the
shipped kernels must pass the same case.
"""

from __future__ import annotations

from functools import partial

from mutant import Mutant, both_tests

SHARED, BACKWARD, QUAD = "common/rows.wgsl", "common/rows_backward.wgsl", "common/walk_quad.wgsl"
Forward = partial(Mutant, file="fa2_forward_rows.wgsl")
Dq = partial(Mutant, file="fa2_dq_rows.wgsl")
DkDv = partial(Mutant, file="fa2_dkdv_rows.wgsl")

SHORT = "forward:T=40,H=2,D=8,kernel=fa2_forward_rows"  # three tiles of rows, three of keys
TALL = "forward:T=140,D=8,kernel=fa2_forward_rows"  # eight rows an invocation
ODD = "forward:T=37,D=8,kernel=fa2_forward_rows"
BLIND = "forward:Tq=45,Tk=19,H=2,D=8,kernel=fa2_forward_rows"  # the first 26 rows see no key
GROUPED = "backward:B=2,T=40,H=4,Hkv=2,D=8,kernel=fa2_backward_rows"
TALL_BACK = "backward:T=140,D=8,kernel=fa2_backward_rows"
BLIND_BACK = "backward:Tq=45,Tk=19,H=2,D=8,kernel=fa2_backward_rows"

MUTANTS = [
    Mutant("tile not cleared", SHORT, "*tile = Tile();", "", "o: .* beyond", SHARED),
    Mutant("channels of the first chunk", SHORT, "own[r] + 4u * c", "own[r]", "o: .* b", SHARED),
    Mutant(
        "sums not rescaled",
        SHORT,
        "(*sums)[c][r], kept[r])",
        "(*sums)[c][r], vec4<f32>(1.0))",
        "o: .* b",
        SHARED,
    ),
    Mutant("one row four times", SHORT, "first + lane % 4u", "first", "o: .* beyond", QUAD),
    Mutant(
        "two lanes alike",
        SHORT,
        "quadBroadcast(own, 3u)",
        "quadBroadcast(own, 2u)",
        "o: .* b",
        QUAD,
    ),
    Forward("sum not rescaled", SHORT, "l_i[r] *= alpha[r];", "", "o: .* beyond"),
    Forward("edge not masked", SHORT, "j0 + BC > first_end", "j0 > first_end", "o: .* beyond"),
    Forward(
        "masks of four rows from others", TALL, "key_end4(i + 4u * r)", "key_end4(i)", "o: .* b"
    ),
    Forward(
        "later rows lose a key tile", TALL, "min(i0 + BR, params.Tq) - 1u", "i0", "o: .* beyond"
    ),
    Forward(
        "rows written past the end",
        ODD,
        "if (row < params.Tq) { store_o",
        "if (true) { store_o",
        "o: the kernel wrote behind",
    ),
    Forward(
        "last LSE unwritten",
        ODD,
        "if (row < params.Tq) { LSE",
        "if (row + 1u < params.Tq) { LSE",
        "lse: .* never w",
    ),
    Forward(
        "a row without keys averages V",
        BLIND,
        "select(vec4<f32>(), exp(select(vec4<f32>(), s - m, seen)), seen)",
        "exp(s - m)",
        "o: .* beyond",
    ),
    Mutant(
        "masked scores count",
        TALL_BACK,
        "return select(vec4<f32>(), exp(exponent), seen);",
        "return exp(exponent);",
        "dq: .* beyond",
        BACKWARD,
    ),
    Mutant(
        "delta of one row for four",
        GROUPED,
        "delta[at.w]",
        "delta[at.x]",
        "dq: .* beyond",
        BACKWARD,
    ),
    Dq("dQ without scale", GROUPED, "dQ_i[c][r] * params.scale", "dQ_i[c][r]", "dq: .* beyond"),
    Dq("V in place of K", GROUPED, "&dS, false, k_rows", "&dS, true, v_rows", "dq: .* beyond"),
    Dq(
        "sees a key too many", GROUPED, "(j + 2u) < ends[r]", "(j + 2u) <= ends[r]", "dq: .* beyond"
    ),
    DkDv("one head of the group", GROUPED, "g < params.group", "g < 1u", "dk: .* beyond"),
    DkDv("a row too late", GROUPED, "var i0 = first;", "var i0 = first + 1u;", "dk: .* beyond"),
    DkDv("LSE of the row before", TALL_BACK, "vec4<f32>(L.y)", "vec4<f32>(L.x)", "dk: .* beyond"),
    DkDv(
        "masked by the next row",
        TALL_BACK,
        "keys < vec4<u32>(ends.z)",
        "keys < vec4<u32>(ends.w)",
        "dk: .* b",
    ),
    DkDv("dV of dS", GROUPED, "&P, true, do_rows", "&dS, true, do_rows", "dv: .* beyond"),
    DkDv(
        "keys written past the end",
        BLIND_BACK,
        "if (key < params.Tk)",
        "if (key <= params.Tk)",
        "d",
    ),
]


test_the_shipped_kernels_pass_what_the_broken_ones_must_fail, test_a_broken_kernel_fails = (
    both_tests(MUTANTS)
)
