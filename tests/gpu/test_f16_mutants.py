"""Broken kernels in dtype=f16: wrong halves, wrong neighbours, sums and scores of too few bits.

The packed storage is what Chromium's software adapter runs; that of shader-f16 is broken in
test_firefox.py.
"""

from __future__ import annotations

from mutant import Mutant, both_tests

PACKED, OUTER = "common/storage_f16_packed.wgsl", "common/outer.wgsl"

ODD = "forward:T=19,H=3,D=3,dtype=f16"  # an odd number of elements; rows and heads share words
LONG = "forward:T=1025,D=4,causal=0,dist=uniform,dtype=f16,kernel=fa2_forward"
BACK = "backward:B=2,T=21,H=4,Hkv=2,D=5,dtype=f16"
TINY = "backward:T=200,H=2,D=16,dist=large,dtype=f16,kernel=fa2_backward"  # gradients of 2⁻²⁴

SCALED_ROWS = """fn scale_rows(tile: mat4x4<f32>, factor: vec4<f32>) -> mat4x4<f32> {
  return mat4x4<f32>(tile[0] * factor, tile[1] * factor, tile[2] * factor, tile[3] * factor);
}"""
ROWS_IN_F16 = """fn half4(x: vec4<f32>) -> vec4<f32> {
  return vec4<f32>(unpack2x16float(pack2x16float(x.xy)), unpack2x16float(pack2x16float(x.zw)));
}
fn scale_rows(tile: mat4x4<f32>, factor: vec4<f32>) -> mat4x4<f32> {
  return mat4x4<f32>(half4(tile[0] * factor), half4(tile[1] * factor),
                     half4(tile[2] * factor), half4(tile[3] * factor));
}"""
TRUNCATED = (
    "select(bitcast<f32>(bitcast<u32>(value) & 0xffffe000u), "
    "value - select(-2.98e-8, 2.98e-8, value > 0.0), abs(value) < 6.1e-5)"
)
STORED_O = "  atomicOr(&O[at / 2u], half_bits(value) << shift_of(at));"
STORED_DK = "  atomicOr(&dK[at / 2u], half_bits(value) << shift_of(at));"

MUTANTS = [
    Mutant(
        "sums of O kept in f16 from one key tile to the next",
        LONG,
        SCALED_ROWS,
        ROWS_IN_F16,
        "o: .* beyond",
        OUTER,
    ),
    Mutant(
        "one column of scores rounded to f16",
        LONG,
        "    S = S * params.scale;",
        "    S = S * params.scale; S[0].x = unpack2x16float(pack2x16float(S[0].xy)).x;",
        "lse: .* beyond",
    ),
    Mutant(
        "reads the other half", ODD, "(at & 1u) == 1u", "(at & 1u) == 0u", "o: .* beyond", PACKED
    ),
    Mutant("reads lower halves only", ODD, "(at & 1u) == 1u", "false", "o: .* beyond", PACKED),
    Mutant(
        "stores into the other half",
        ODD,
        "return 16u * (at & 1u);",
        "return 16u - 16u * (at & 1u);",
        "o: the kernel wrote behind|o: .* never written",
        PACKED,
    ),
    Mutant(
        "stores the neighbour's word",
        ODD,
        STORED_O,
        STORED_O.replace("at / 2u", "at / 2u + 1u"),
        "o: the kernel wrote behind",
        PACKED,
    ),
    Mutant(
        "a store clears the other half",
        ODD,
        STORED_O,
        "  atomicStore(&O[at / 2u], half_bits(value) << shift_of(at));",
        "o: the kernel wrote behind|o: .* (changed|beyond)",
        PACKED,
    ),
    Mutant(
        "a store keeps what was there",
        BACK,
        "  atomicAnd(&dK[at / 2u], 0xffff0000u >> shift_of(at));\n",
        "",
        "dk: ",
        PACKED,
    ),
    Mutant(
        "a store spills into the other half",
        BACK,
        STORED_DK,
        STORED_DK.replace("half_bits(value) <<", "(half_bits(value) * 0x10001u) <<"),
        "dk: ",
        PACKED,
    ),
    Mutant(
        "delta of the neighbour's O",
        BACK,
        "half_of(O_given[at / 2u], at)",
        "half_of(O_given[at / 2u], at + 1u)",
        "dq: .* beyond",
        PACKED,
    ),
    Mutant(
        "truncates instead of rounding",
        TINY,
        "pack2x16float(vec2<f32>(value, 0.0))",
        f"pack2x16float(vec2<f32>({TRUNCATED}, 0.0))",
        "d[kv]: .* beyond",
        PACKED,
    ),
]


test_the_shipped_kernels_pass_what_the_broken_ones_must_fail, test_a_broken_kernel_fails = (
    both_tests(MUTANTS)
)
