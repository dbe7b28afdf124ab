// fa2_delta.wgsl: what every row of the backward subtracts.
//
//   delta_i = sum_d dO_id O_id = sum_j P_ij dP_ij     (B, H, Tq)
//
// Grid       B * H * ceil(Tq / BR) workgroups of BR invocations, folded; see common/grid.wgsl.
//            Invocation r owns query row tile * BR + r.
// Constants  HEAD_DIM, BR: u32
// Workgroup  nothing
// Requires   nothing beyond core WebGPU and its default limits.
//
// Masking    none: a row without keys has O = 0, so its delta is 0.
// Error      f32; a sum of HEAD_DIM products.
// Source     Dao 2023, arXiv:2307.08691, Algorithm 2, line 4.
//
// @use storage
// @use common/params.wgsl
// @use common/grid.wgsl

@group(0) @binding(7) var<storage, read_write> delta: array<f32>;

@compute @workgroup_size(BR)
fn fa2_delta(@builtin(workgroup_id) workgroup: vec3<u32>,
             @builtin(local_invocation_index) r: u32) {
  let item = item_of(workgroup, (params.Tq + BR - 1u) / BR);
  let i = item.tile * BR + r;
  if (!item.exists || i >= params.Tq) { return; }  // no barrier follows
  let o_at = params.o_offset + item.b * params.o_batch + item.h * params.o_head + i * params.o_row;
  let do_at = params.do_offset + item.b * params.do_batch + item.h * params.do_head
      + i * params.do_row;
  var sum = 0.0;
  for (var d = 0u; d < HEAD_DIM; d++) { sum += do_element(do_at + d) * o_element(o_at + d); }
  delta[(item.b * params.H + item.h) * params.Tq + i] = sum;
}
