// common/matrix.wgsl: f16 tiles of 16 x 16 on the matrix unit, staged in workgroup memory.
//
// A tensor is bound as array<vec4<u32>>: one element, a unit, is 8 halves, 16 bytes. Every stride
// and offset must be a multiple of 8 elements. Matrices are never loaded from storage: that is 7 to
// 20 times slower, and a tile that reaches past the end would be read shifted. Lanes copy units
// instead, the last row again past the end: masked, without weight, or never stored.
//
// A row of a staged tile is one unit longer than needed: with an odd number of units the 8 rows
// that a matrix load reads together lie in different memory banks (7 times faster).
//
// Subgroup and lane come from local_invocation_index by shifts and masks, in the entry point itself:
// the compiler then proves the offsets to be in range and drops its clamps. That needs subgroups of
// 32 consecutive invocations; the plan asks for subgroup size 32. It also needs the kernels'
// `diagnostic(off, chromium.subgroup_matrix_uniformity)`: the offsets are the same in a subgroup,
// which the compiler cannot see.
// Requires   shader-f16, subgroups of size 32, chromium-experimental-subgroup-matrix with
//            16x16x16 f16 -> f32.
// A kernel that is given what another one writes calls it `_given`.
// Constants  HEAD_DIM, SUBGROUPS, D_TILES = HEAD_DIM / 16: u32
// @use common/logarithms.wgsl

@group(0) @binding(1) var<storage, read> Q: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> K: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> V: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read_write> O: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read> LSE_given: array<f32>;
@group(0) @binding(6) var<storage, read> dO: array<vec4<u32>>;
@group(0) @binding(7) var<storage, read> delta_given: array<f32>;
@group(0) @binding(8) var<storage, read_write> dQ: array<vec4<u32>>;
@group(0) @binding(9) var<storage, read_write> dK: array<vec4<u32>>;
@group(0) @binding(10) var<storage, read_write> dV: array<vec4<u32>>;

alias Left = subgroup_matrix_left<f16, 16, 16>;
alias Right = subgroup_matrix_right<f16, 16, 16>;
alias Sum = subgroup_matrix_result<f32, 16, 16>;

const THREADS = 32u * SUBGROUPS;
const ROW_UNITS = HEAD_DIM / 8u;
const ROW_PITCH = ROW_UNITS + 1u;  // units from row to row of a staged tile

const_assert HEAD_DIM == 16u * D_TILES;

// Eight values as f16.
fn pack(low: vec4<f32>, high: vec4<f32>) -> vec4<u32> {
  return vec4<u32>(pack2x16float(low.xy), pack2x16float(low.zw),
                   pack2x16float(high.xy), pack2x16float(high.zw));
}
