"""The judge can fail: broken kernels for few queries, made from the shipped ones by one small edit.

As in test_mutants.py: each edit must change the text, each broken kernel must be caught, and the
shipped kernels must pass the same case.
"""

from __future__ import annotations

from functools import partial

from mutant import Mutant, both_tests

NAMED = "kernel=fa2_forward_split"
# 72 key heads leave eight slices to the 16 blocks of keys: two blocks each.
GROWING = f"forward:B=6,Tq=3,Tk=1000,H=12,D=8,dist=growing,{NAMED}"
STEADY = f"forward:B=6,Tq=3,Tk=1000,H=12,D=8,{NAMED}"  # a later block may hold the smaller maximum
GROUPED = f"forward:Tq=3,Tk=300,H=6,Hkv=2,D=8,{NAMED}"
# Key 0 alone is seen by row 0: all slices but the first are empty, all scores far below zero.
EMPTY = f"forward:Tq=8,Tk=300,H=2,D=8,align=tl,dist=negative,{NAMED}"
BLIND = f"forward:Tq=8,Tk=5,H=2,D=8,{NAMED}"  # the first three rows see no key
ODD = f"forward:Tq=1,Tk=70,H=3,D=5,{NAMED}"

Split = partial(Mutant, file="fa2_forward_split.wgsl", says="o: .* beyond")
Merge = partial(Mutant, file="fa2_merge.wgsl", says="o: .* beyond")
Group = partial(Mutant, file="common/head_group.wgsl", says="o: .* beyond")

MUTANTS = [
    Merge(
        "slices merged without rescaling",
        GROWING,
        "let weight = exp2(slice.x - M);",
        "let weight = 1.0;",
    ),
    Merge(
        "last slice dropped",
        GROUPED,
        "s < params.slices; s += TEAMS",
        "s + 1u < params.slices; s += TEAMS",
    ),
    Merge(
        "LSE of one slice",
        GROUPED,
        "log2(l)) * LN_2",
        "log2(Ml_part[part_at].y)) * LN_2",
        says="lse: .* beyond",
    ),
    Merge("one team's sums only", GROUPED, "t < TEAMS; t++) { sum +=", "t < 1u; t++) { sum +="),
    Merge(
        "channels of the next head overwritten",
        ODD,
        "if (d < HEAD_DIM) {",
        "if (d <= HEAD_DIM) {",
        says="o: ",
    ),
    Group("slices begin one key late", GROUPED, "slice * keys, end);", "slice * keys + 1u, end);"),
    Group(
        "slices overlap by a key",
        GROUPED,
        "min((slice + 1u) * keys,",
        "min((slice + 1u) * keys + 1u,",
    ),
    Group(
        "group packed by the wrong head",
        GROUPED,
        "min(p / params.Tq, params.group - 1u)",
        "min(p % params.group, params.group - 1u)",
    ),
    Group("neighbouring channels counted", ODD, "select(vec4<f32>(), v, vec4", "select(v, v, vec4"),
    Group("mask of the packed row", GROUPED, "key_end(p % params.Tq)", "key_end(p)"),
    Split(
        "an empty slice weighs as a score of 0",
        EMPTY,
        "m_i[r] = vec4<f32>(SCORE_FLOOR);",
        "m_i[r] = vec4<f32>();",
        says="o: ",
    ),
    Split(
        "a masked key weighs as the maximum",
        BLIND,
        "select(vec4<f32>(), exp2(select(vec4<f32>(), part[n] - m, seen)), seen)",
        "exp2(part[n] - m)",
    ),
    Split(
        "old sums not rescaled",
        GROWING,
        "let alpha = exp2(m_i[r] - m_new);",
        "let alpha = vec4<f32>(1.0);",
    ),
    Split(
        "a block's weights not rescaled",
        STEADY,
        "beta[r] = exp2(m_block - m_new);",
        "beta[r] = vec4<f32>(1.0);",
    ),
    Split(
        "teams joined without rescaling",
        GROWING,
        "let weight = exp2(m_i[r] - M);",
        "let weight = vec4<f32>(1.0);",
    ),
    Split(
        "last row of a group lost",
        GROUPED,
        "if (p < rows_of_group() &&",
        "if (p + 1u < rows_of_group() &&",
    ),
    Split(
        "edge block taken for an inner one",
        GROUPED,
        "if (j0 + BC > first_end)",
        "if (j0 > first_end)",
    ),
    Split(
        "weights read before they are complete",
        GROUPED,
        "workgroupBarrier();  // the block's weights and the maxima they refer to are there",
        "",
        says="o: ",
    ),
]


test_the_shipped_kernels_pass_what_the_broken_ones_must_fail, test_a_broken_kernel_fails = (
    both_tests(MUTANTS)
)
