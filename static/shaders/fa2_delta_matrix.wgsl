// fa2_delta_matrix.wgsl: what every row of the backward in f16 on the matrix unit subtracts.
// It differs from fa2_delta.wgsl by loads of 8 halves.
//
//   delta_i = sum_d dO_id O_id = sum_j P_ij dP_ij     (B, H, Tq) f32
//
// Grid       B * H * ceil(Tq / BR) workgroups of BR invocations, folded; see common/grid.wgsl.
//            Invocation r owns query row tile * BR + r.
// Constants  HEAD_DIM, BR: u32
// Workgroup  nothing
// Requires   no feature; HEAD_DIM, strides and offsets that are multiples of 8.
//
// Masking    none: a row without keys has O = 0, so its delta is 0.
// Error      products of f16 summed in f32; a sum of HEAD_DIM products.
// Source     Dao 2023, arXiv:2307.08691, Algorithm 2, line 4.
//
// @use common/params.wgsl
// @use common/grid.wgsl

@group(0) @binding(4) var<storage, read> O_given: array<vec4<u32>>;  // 8 halves an element
@group(0) @binding(6) var<storage, read> dO: array<vec4<u32>>;
@group(0) @binding(7) var<storage, read_write> delta: array<f32>;

@compute @workgroup_size(BR)
fn fa2_delta_matrix(@builtin(workgroup_id) workgroup: vec3<u32>,
                    @builtin(local_invocation_index) r: u32) {
  let item = item_of(workgroup, (params.Tq + BR - 1u) / BR);
  let i = item.tile * BR + r;
  if (!item.exists || i >= params.Tq) { return; }  // no barrier follows
  let o_at = (params.o_offset + item.b * params.o_batch + item.h * params.o_head
      + i * params.o_row) / 8u;
  let do_at = (params.do_offset + item.b * params.do_batch + item.h * params.do_head
      + i * params.do_row) / 8u;
  var sum = vec2<f32>();
  for (var n = 0u; n < HEAD_DIM / 8u; n++) {
    let o = O_given[o_at + n];
    let g = dO[do_at + n];
    sum += unpack2x16float(o.x) * unpack2x16float(g.x) + unpack2x16float(o.y) * unpack2x16float(g.y)
        + unpack2x16float(o.z) * unpack2x16float(g.z) + unpack2x16float(o.w) * unpack2x16float(g.w);
  }
  delta[(item.b * params.H + item.h) * params.Tq + i] = sum.x + sum.y;
}
