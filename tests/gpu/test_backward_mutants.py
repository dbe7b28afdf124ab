"""The judge can fail: broken backward kernels, made from the shipped ones by one small edit each.

As in test_mutants.py: each edit must change the text, each broken kernel must be caught, and the
shipped kernels must pass the same case.
"""

from __future__ import annotations

from functools import partial

from mutant import Mutant, both_tests

SHARED, MASKING, GRID = "common/backward.wgsl", "common/masking.wgsl", "common/grid.wgsl"
Delta = partial(Mutant, file="fa2_delta.wgsl")
DkDv = partial(Mutant, file="fa2_dkdv.wgsl")
Dq = partial(Mutant, file="fa2_dq.wgsl")

# Three key tiles and five query tiles, not all full.
LONG = "backward:T=70,H=2,D=8,kernel=fa2_backward"
OPEN = "backward:B=2,T=33,H=2,D=16,causal=0,kernel=fa2_backward"
GROUPED = "backward:B=2,T=40,H=4,Hkv=2,D=8,kernel=fa2_backward"
SHORT_Q = "backward:Tq=19,Tk=45,H=2,D=8,kernel=fa2_backward"
BLIND = "backward:Tq=45,Tk=19,H=2,D=8,kernel=fa2_backward"  # the first 26 rows see no key
UNSEEN = "backward:Tq=19,Tk=45,H=2,D=8,align=tl,kernel=fa2_backward"  # nobody sees the last 26 keys
ODD = "backward:T=37,D=8,kernel=fa2_backward"
WIDE = "backward:T=40,D=65,kernel=fa2_backward"  # several chunks of channels, and of rows
SLOW = "backward:T=40,H=4,Hkv=2,D=8,kernel=baseline"

MUTANTS = [
    Delta("delta forgotten", LONG, "= sum;", "= 0.0;", "dq: .* beyond"),
    Delta(
        "delta of dO alone",
        LONG,
        "* o_element(o_at + d)",
        "* do_element(do_at + d)",
        "dq: .* beyond",
    ),
    Delta("delta loses a channel", LONG, "d < HEAD_DIM", "d + 1u < HEAD_DIM", "dq: .* beyond"),
    Delta("delta of the first tile only", LONG, "* params.Tq + i]", "* params.Tq + r]", "dq: .* b"),
    Delta(
        "delta of the first batch",
        GROUPED,
        "item.b * params.do_batch",
        "0u * params.do_batch",
        "dq: .* beyond",
    ),
    Mutant(
        "rows start one too late",
        LONG,
        "i32(j) - params.causal_offset",
        "i32(j) + 1 - params.causal_offset",
        "dk: .* beyond",
        MASKING,
    ),
    Mutant(
        "rows start at the top-left diagonal",
        SHORT_Q,
        "i32(j) - params.causal_offset",
        "i32(j)",
        "dk: .* beyond",
        MASKING,
    ),
    Mutant(
        "key tiles counted by query heads",
        GROUPED,
        "id / (params.B * heads)",
        "id / (params.B * params.H)",
        "dk: .* never written",
        GRID,
    ),
    DkDv(
        "last, partial query tile dropped",
        LONG,
        "i0 < params.Tq; i0 += BR",
        "i0 + BR <= params.Tq; i0 += BR",
        "dk: .* beyond",
    ),
    DkDv("one head of the group", GROUPED, "g < params.group", "g < 1u", "dk: .* beyond"),
    DkDv(
        "heads of another group",
        GROUPED,
        "item.h * params.group + g",
        "item.h + g * (params.H / params.group)",
        "dk: .* beyond",
    ),
    DkDv("dK without scale", LONG, "dk[r] * params.scale", "dk[r]", "dk: .* beyond"),
    DkDv("dV with scale", LONG, "dv[r]);", "dv[r] * params.scale);", "dv: .* beyond"),
    DkDv("dV of dS", LONG, "(&dV_j, P, true", "(&dV_j, dS, true", "dv: .* beyond"),
    DkDv("dV of Q", LONG, "P, true, do_at", "P, false, q_at", "dv: .* beyond"),
    DkDv("dK of dO", LONG, "dS, false, q_at", "dS, true, do_at", "dk: .* beyond"),
    DkDv("dK adds delta", LONG, "(dp - delta[", "(dp + delta[", "dk: .* beyond"),
    DkDv("dK without P", LONG, "return p * (dp", "return (dp", "dk: .* beyond"),
    DkDv(
        "dK by the LSE of the first row",
        LONG,
        "let L = LSE[head + min(i, params.Tq - 1u)];",
        "let L = LSE[head];",
        "dk: .* beyond",
    ),
    DkDv(
        "last key unwritten",
        LONG,
        "j + r < params.Tk",
        "j + r + 1u < params.Tk",
        "dk: .* never written",
    ),
    DkDv(
        "keys written past the end",
        ODD,
        "j + r < params.Tk && d < HEAD_DIM",
        "d < HEAD_DIM",
        "dk: the kernel wrote behind",
    ),
    DkDv(
        "adds to what dV holds",
        LONG,
        "dv[r]);",
        "dV[dv_at + (j + r) * params.dv_row + d] + dv[r]);",
        "dv: .* never written",
    ),
    DkDv(
        "keys that no row sees left out",
        UNSEEN,
        "(item.exists)",
        "(item.exists && first_row(item.tile * BC) < params.Tq)",
        "dk: .* never written",
    ),
    DkDv("P of four rows from one", LONG, "weigh(S[1], keys, i + TX,", "weigh(S[1], keys, i,", "d"),
    Dq("dQ without scale", LONG, "column[r] * params.scale", "column[r]", "dq: .* beyond"),
    Dq(
        "later rows lose their last key tile",
        LONG,
        "key_end(min(i0 + BR, params.Tq) - 1u)",
        "key_end(i0)",
        "dq: .* beyond",
    ),
    Dq(
        "last, partial key tile dropped",
        LONG,
        "j0 < last_end; j0 += BC",
        "j0 + BC <= last_end; j0 += BC",
        "dq: .* beyond",
    ),
    Dq("first key tile skipped", LONG, "var j0 = 0u; j0", "var j0 = BC; j0", "dq: .* beyond"),
    Dq(
        "K of another head",
        GROUPED,
        "item.h / params.group",
        "item.h % (params.H / params.group)",
        "dq: .* beyond",
    ),
    Dq("sees a key too many", LONG, "vec4<u32>(j) < ends", "vec4<u32>(j) <= ends", "dq: .* beyond"),
    Dq("dQ adds delta", LONG, "P[0] * (dP[0] - D_i)", "P[0] * (dP[0] + D_i)", "dq: .* beyond"),
    Dq("dQ by the LSE of the next row", LONG, "LSE[rows.x]", "LSE[rows.y]", "dq: .* beyond"),
    Dq("last row unwritten", LONG, "i + r < params.Tq", "i + r + 1u < params.Tq", "dq: .* never w"),
    Dq("dO of the first batch", OPEN, "item.b * params.do_batch", "0u", "dq: .* beyond"),
    Dq("never runs", LONG, "(item.exists)", "(item.exists && params.Tq == 0u)", "dq: .* never w"),
    Mutant(
        "masked scores count",
        LONG,
        "return select(vec4<f32>(), exp(exponent), seen);",
        "return exp(exponent);",
        "dq: .* beyond",
        SHARED,
    ),
    Mutant(
        "masked by a factor, after exp of infinity",
        BLIND,
        "return select(vec4<f32>(), exp(exponent), seen);",
        "return exp(s * params.scale - L) * select(vec4<f32>(), vec4<f32>(1.0), seen);",
        "d[qkv]: .* not finite",
        SHARED,
    ),
    Mutant(
        "scale of the scores 0.1 % off",
        LONG,
        "s * params.scale - L",
        "s * (params.scale * 1.001) - L",
        "dq: .* beyond",
        SHARED,
    ),
    Mutant("base 2", LONG, "exp(exponent)", "exp2(exponent)", "dq: .* beyond", SHARED),
    Mutant(
        "chunks read before they are complete",
        LONG,
        "workgroupBarrier();  // the chunk is complete",
        "",
        "d",
        SHARED,
    ),
    Mutant(
        "weights and rows read before they are complete",
        LONG,
        "workgroupBarrier();  // the weights and these rows are complete",
        "",
        "d",
        SHARED,
    ),
    Mutant(
        "chunks written over what others still read",
        WIDE,
        "workgroupBarrier();  // nobody reads what A and X held any more",
        "",
        "d",
        SHARED,
    ),
    Mutant(
        "rows written over what others still read",
        WIDE,
        "workgroupBarrier();  // nobody reads what X held any more, and the first time A",
        "",
        "d",
        SHARED,
    ),
    Mutant(
        "baseline: attn against the LSE of the first row",
        SLOW,
        "exp(s[r] - LSE[at])",
        "exp(s[r] - LSE[bh * params.Tq])",
        "dq: .* beyond",
        "attn_recompute.wgsl",
    ),
    Mutant(
        "baseline: attn without scale",
        SLOW,
        "1.0) * params.scale;",
        "1.0);",
        "dq: .* beyond",
        "attn_recompute.wgsl",
    ),
    Mutant(
        "baseline: delta forgotten",
        SLOW,
        "(dscores[row + j] - delta)",
        "dscores[row + j]",
        "dq: .* beyond",
        "attn_dscores.wgsl",
    ),
    Mutant(
        "baseline: dQ without scale", SLOW, "= sum * params.scale", "= sum", "dq", "attn_dq.wgsl"
    ),
    Mutant(
        "baseline: one head of the group", SLOW, "g < params.group", "g < 1u", "dk", "attn_dk.wgsl"
    ),
    Mutant(
        "baseline: rows start one too late",
        SLOW,
        "first_row(j);",
        "first_row(j) + 1u;",
        "dv: .* beyond",
        "attn_dv.wgsl",
    ),
]


test_the_shipped_kernels_pass_what_the_broken_ones_must_fail, test_a_broken_kernel_fails = (
    both_tests(MUTANTS)
)
