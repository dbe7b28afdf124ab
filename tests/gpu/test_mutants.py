"""The judge can fail: broken kernels, made from the shipped ones by one small edit each.

Each edit must change the text, each broken kernel must be caught, and the shipped kernel must
pass the same case. Head sizes stay small, since building a pipeline is what costs time here.
"""

from __future__ import annotations

from mutant import Mutant, both_tests

MASKING = "common/masking.wgsl"

LONG = "forward:T=70,H=2,D=8,kernel=fa2_forward"  # three key tiles, the last one not full
OPEN = "forward:B=2,T=33,H=2,D=16,causal=0,kernel=fa2_forward"
GROUPED = "forward:B=2,T=40,H=4,Hkv=2,D=8,kernel=fa2_forward"
GROWING = "forward:T=200,H=2,D=16,dist=growing,kernel=fa2_forward"
SHORT_Q = "forward:Tq=19,Tk=45,H=2,D=8,kernel=fa2_forward"
BLIND = "forward:Tq=45,Tk=19,H=2,D=8,kernel=fa2_forward"  # the first 26 rows see no key


MUTANTS = [
    Mutant(
        "sees one key too many",
        LONG,
        "causal_offset + 1,",
        "causal_offset + 2,",
        "o: .* beyond",
        MASKING,
    ),
    Mutant(
        "sees one key too few",
        LONG,
        "causal_offset + 1,",
        "causal_offset,",
        "o: .* beyond",
        MASKING,
    ),
    Mutant(
        "mask forgotten",
        LONG,
        "if (!CAUSAL) { return params.Tk; }",
        "if (!CAUSAL || params.Tq > 0u) { return params.Tk; }",
        "o: .* beyond",
        MASKING,
    ),
    Mutant(
        "top-left instead of bottom-right",
        SHORT_Q,
        "i32(i) + params.causal_offset + 1",
        "i32(i) + 1",
        "o: .* beyond",
        MASKING,
    ),
    Mutant(
        "keys beyond the end are seen",
        OPEN,
        "return params.Tk;",
        "return params.Tk + 1u;",
        "o: .* beyond",
        MASKING,
    ),
    Mutant(
        "last, partial key tile dropped",
        LONG,
        "j0 < last_end; j0 += BC",
        "j0 + BC <= last_end; j0 += BC",
        "o: .* beyond",
    ),
    Mutant(
        "first key tile skipped",
        LONG,
        "var j0 = 0u; j0 < last_end",
        "var j0 = BC; j0 < last_end",
        "o: .* beyond",
    ),
    Mutant(
        "later rows lose their last key tile",
        SHORT_Q,
        "key_end(min(i0 + BR, params.Tq) - 1u)",
        "key_end(i0)",
        "o: .* beyond",
    ),
    Mutant(
        "edge tile taken for an inner one",
        LONG,
        "if (j0 + BC > first_end)",
        "if (j0 > first_end)",
        "o: .* beyond",
    ),
    Mutant(
        "rescale of O lost",
        GROWING,
        "O_0 = scale_rows(O_0, alpha);",
        "O_0 = scale_rows(O_0, vec4<f32>(1.0));",
        "o: .* beyond",
    ),
    Mutant(
        "rescale of the sum lost",
        GROWING,
        "l_i = l_i * alpha + P[0]",
        "l_i = l_i + P[0]",
        "o: .* beyond",
    ),
    Mutant(
        "rescale in base 2",
        GROWING,
        "let alpha = exp(m_i - m_new);",
        "let alpha = exp2(m_i - m_new);",
        "o: .* beyond",
    ),
    Mutant("maximum never stored", GROWING, "m_i = m_new;", "", "o: "),
    Mutant(
        "scale 0.1 % off",
        LONG,
        "S = S * params.scale;",
        "S = S * (params.scale * 1.001);",
        "o: .* beyond",
    ),
    Mutant("scale forgotten", LONG, "S = S * params.scale;", "", "o: .* beyond"),
    Mutant(
        "sum not divided out",
        LONG,
        "let weight = 1.0 / l;",
        "let weight = vec4<f32>(1.0);",
        "o: .* beyond",
    ),
    Mutant(
        "result 0.01 % off",
        LONG,
        "let weight = 1.0 / l;",
        "let weight = 1.0001 / l;",
        "o: .* beyond",
    ),
    Mutant(
        "LSE in base 2",
        LONG,
        "m_i[r] + log(l[r])",
        "(m_i[r] + log(l[r])) * 1.44269504",
        "lse: .* beyond",
    ),
    Mutant("LSE without the maximum", LONG, "m_i[r] + log(l[r])", "log(l[r])", "lse: .* beyond"),
    Mutant(
        "wrong head map",
        GROUPED,
        "item.h / params.group",
        "item.h % (params.H / params.group)",
        "o: .* beyond",
    ),
    Mutant(
        "V of the query head",
        GROUPED,
        "kv_head * params.v_head",
        "item.h * params.v_head",
        "o: .* beyond",
    ),
    Mutant(
        "every batch reads the first",
        GROUPED,
        "item.b * params.q_batch",
        "0u * params.q_batch",
        "o: .* beyond",
    ),
    Mutant(
        "Q and K read before they are complete",
        LONG,
        "workgroupBarrier();  // the chunk of Q and K is complete",
        "",
        "o: ",
    ),
    Mutant(
        "P and V read before they are complete",
        LONG,
        "workgroupBarrier();  // P and this chunk of V are complete",
        "",
        "o: ",
    ),
    Mutant(
        "last row unwritten",
        LONG,
        "if (i + r < params.Tq && d < HEAD_DIM)",
        "if (i + r + 1u < params.Tq && d < HEAD_DIM)",
        "o: .* never written",
    ),
    Mutant(
        "last channel unwritten",
        LONG,
        "if (i + r < params.Tq && d < HEAD_DIM)",
        "if (i + r < params.Tq && d + 1u < HEAD_DIM)",
        "o: .* never written",
    ),
    Mutant(
        "last LSE unwritten",
        LONG,
        "if (i + r < params.Tq) {",
        "if (i + r + 1u < params.Tq) {",
        "lse: .* never written",
    ),
    Mutant(
        "rows written past the end",
        "forward:T=37,D=8,kernel=fa2_forward",
        "if (i + r < params.Tq && d < HEAD_DIM)",
        "if (d < HEAD_DIM)",
        "o: the kernel wrote behind",
    ),
    Mutant(
        "never runs",
        LONG,
        "if (item.exists)",
        "if (item.exists && params.Tq == 0u)",
        "o: .* never written",
    ),
    Mutant(
        "adds to what the buffer holds",
        LONG,
        "+ d, column[r]);",
        "+ d, O[at + (i + r) * params.o_row + d] + column[r]);",
        "o: ",
    ),
    Mutant(
        "keeps what an earlier run left",
        LONG,
        "{ store_o(at + (i + r) * params.o_row + d, column[r]); }",
        "{ let at_d = at + (i + r) * params.o_row + d;"
        " O[at_d] = select(column[r], 0.0, bitcast<u32>(O[at_d]) >> 31u == 1u); }",
        "o: .* changed when the same dispatch ran again",
    ),
    Mutant(
        "keeps what is larger of what the buffer held",
        LONG,
        "+ d, column[r]);",
        "+ d, max(O[at + (i + r) * params.o_row + d], column[r]));",
        "o: .*(changed when the same dispatch ran again|never written)",
    ),
    Mutant(
        "keeps what is smaller of what the buffer held",
        LONG,
        "+ d, column[r]);",
        "+ d, min(O[at + (i + r) * params.o_row + d], column[r]));",
        "o: .*(changed when the same dispatch ran again|never written)",
    ),
    Mutant(
        "keeps the larger LSE",
        LONG,
        "Tq + i + r] = L;",
        "Tq + i + r] = max(L, LSE[(item.b * params.H + item.h) * params.Tq + i + r]);",
        "lse: .*(changed when the same dispatch ran again|never written)",
    ),
    Mutant(
        "keeps an LSE below zero",
        LONG,
        "Tq + i + r] = L;",
        "Tq + i + r] = min(L, LSE[(item.b * params.H + item.h) * params.Tq + i + r]);",
        "lse: .*(changed when the same dispatch ran again|never written)",
    ),
    Mutant(
        "adds the LSE to what the buffer holds",
        LONG,
        "Tq + i + r] = L;",
        "Tq + i + r] += L;",
        "lse: .*(changed when the same dispatch ran again|never written)",
    ),
    Mutant(
        "a NaN at one place",
        LONG,
        "+ d, column[r]);",
        "+ d, select(column[r], bitcast<f32>(0x7fc00000u | params.Tq), i + r + d == 20u));",
        "o: .* not finite",
    ),
    Mutant(
        "a row without keys divides by zero",
        BLIND,
        "l = select(vec4<f32>(1.0), l, row_sees);",
        "",
        "o: .* not finite",
    ),
    Mutant(
        "a row without keys averages V",
        BLIND,
        "select(vec4<f32>(), exp(select(vec4<f32>(), s - m, seen)), seen)",
        "exp(s - m)",
        "o: .* beyond",
    ),
    Mutant(
        "a row without keys has LSE 0",
        BLIND,
        "select(LSE_EMPTY, m_i[r] + log(l[r]), row_sees[r])",
        "select(0.0, m_i[r] + log(l[r]), row_sees[r])",
        "lse: .* beyond",
    ),
]


test_the_shipped_kernels_pass_what_the_broken_ones_must_fail, test_a_broken_kernel_fails = (
    both_tests(MUTANTS)
)
