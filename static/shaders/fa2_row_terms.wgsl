// fa2_row_terms.wgsl: what the backward asks of every query row, for fa2_dqdkdv_wide.
//
//   delta_i = sum_d dO_id O_id = sum_j P_ij dP_ij
//   terms_i = (LSE_i log2(e), delta_i)                (B, H, Tq)
//
// Grid       B * H * ceil(Tq / BR) workgroups of BR invocations, folded; see common/grid.wgsl.
//            Invocation r owns query row tile * BR + r.
// Constants  HEAD_DIM, BR: u32
// Workgroup  nothing
// Requires   HEAD_DIM, the strides and offsets of O and dO multiples of 4.
//
// Masking    none: a row without keys has O = 0, so its delta is 0.
// Error      f32; a sum of HEAD_DIM products; adds the rounding of LSE log2(e), 2^-24 relative.
// Source     Dao 2023, arXiv:2307.08691, Algorithm 2, line 4.
//
// @use storage
// @use common/params.wgsl
// @use common/grid.wgsl
// @use common/logarithms.wgsl

@group(0) @binding(5) var<storage, read> LSE: array<f32>;
@group(0) @binding(16) var<storage, read_write> row_terms: array<vec2<f32>>;

@compute @workgroup_size(BR)
fn fa2_row_terms(@builtin(workgroup_id) workgroup: vec3<u32>,
                 @builtin(local_invocation_index) r: u32) {
  let item = item_of(workgroup, (params.Tq + BR - 1u) / BR);
  let i = item.tile * BR + r;
  if (!item.exists || i >= params.Tq) { return; }  // no barrier follows
  let o_at = params.o_offset + item.b * params.o_batch + item.h * params.o_head + i * params.o_row;
  let do_at = params.do_offset + item.b * params.do_batch + item.h * params.do_head
      + i * params.do_row;
  var delta_i = 0.0;
  for (var d = 0u; d < HEAD_DIM; d += 4u) { delta_i += dot(load_do(do_at + d), load_o(o_at + d)); }
  let at = (item.b * params.H + item.h) * params.Tq + i;
  row_terms[at] = vec2<f32>(LSE[at] * LOG2_E, delta_i);
}
