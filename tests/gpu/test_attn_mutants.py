"""The judge can fail: the kernels that name every score, broken by one small edit each.

What writes attn, and the baseline forward. As in test_mutants.py: each edit must change the text,
each broken kernel must be caught, and the shipped kernels must pass the same case.
"""

from __future__ import annotations

from mutant import Mutant, both_tests

BASELINE, ATTN = "attn_fused_sv.wgsl", "attn_writeback.wgsl"

WITH_ATTN = "forward:T=40,H=2,D=8,attn=1,kernel=fa2_forward"
SLOW = "forward:T=70,H=2,D=8,kernel=baseline"


MUTANTS = [
    Mutant(
        "attn above the diagonal",
        WITH_ATTN,
        "vec4<u32>(j[n]) < ends",
        "vec4<u32>(j[n]) <= ends",
        "attn: .* beyond",
        ATTN,
    ),
    Mutant(
        "attn not normalised",
        WITH_ATTN,
        "weigh(S[n], m_i, seen) / l_i",
        "weigh(S[n], m_i, seen)",
        "attn: .* beyond",
        ATTN,
    ),
    Mutant(
        "attn last key unwritten",
        WITH_ATTN,
        "j[n] < params.Tk && i + r",
        "j[n] + 1u < params.Tk && i + r",
        "attn: .* never written",
        ATTN,
    ),
    Mutant(
        "attn: rescale of the sum lost",
        "forward:T=70,H=2,D=8,attn=1,dist=growing,kernel=fa2_forward",
        "l_i * exp(m_i - m_new) + weigh",
        "l_i + weigh",
        "attn: .* beyond",
        ATTN,
    ),
    Mutant(
        "attn: a row without keys divides by 0",
        "forward:Tq=45,Tk=19,H=2,D=8,attn=1,kernel=fa2_forward",
        "l_i = select(vec4<f32>(1.0), l_i, l_i > vec4<f32>());",
        "",
        "attn: .* not finite",
        ATTN,
    ),
    Mutant(
        "attn by the sum of own keys",
        WITH_ATTN,
        "l_i += row_part[ty * TX + t];",
        "l_i = row_part[ty * TX + tx];",
        "attn: .* beyond",
        ATTN,
    ),
    Mutant(
        "attn against the maximum of own keys",
        WITH_ATTN,
        "share(l_i * exp(m_i - m_row), tx, ty);",
        "share(l_i, tx, ty);",
        "attn: .* beyond",
        ATTN,
    ),
    Mutant(
        "baseline: rescale of O lost",
        SLOW,
        "+ d] * alpha + sum",
        "+ d] + sum",
        "o: .* beyond",
        BASELINE,
    ),
    Mutant(
        "baseline: rescale of the sum lost", SLOW, "l_i *= alpha;", "", "o: .* beyond", BASELINE
    ),
    Mutant(
        "baseline: last key dropped",
        SLOW,
        "let end = key_end(i);",
        "let end = max(key_end(i), 1u) - 1u;",
        "o: .* beyond",
        BASELINE,
    ),
]


test_the_shipped_kernels_pass_what_the_broken_ones_must_fail, test_a_broken_kernel_fails = (
    both_tests(MUTANTS)
)
