// attn_dq.wgsl: the baseline's dQ, one invocation per element.
//
//   dQ = scale * dscores K             (B, Tq, H, HEAD_DIM), by strides
//
// Grid       B * H * ceil(Tq * HEAD_DIM / INVOCATIONS) workgroups, folded; see common/grid.wgsl.
// Constants  HEAD_DIM, INVOCATIONS: u32; CAUSAL: bool
// Workgroup  nothing
// Requires   nothing beyond core WebGPU and its default limits.
//
// Masking    row i sums over the keys j < key_end(i), common/masking.wgsl.
// Error      f32 throughout; a sum over the keys, in their order.
// Source     the backward that the forward notes name.
//
// @use common/params.wgsl
// @use common/grid.wgsl
// @use common/masking.wgsl

@group(0) @binding(12) var<storage, read> dscores: array<f32>;
@group(0) @binding(2) var<storage, read> K: array<f32>;
@group(0) @binding(8) var<storage, read_write> dQ: array<f32>;

@compute @workgroup_size(INVOCATIONS)
fn attn_dq(@builtin(workgroup_id) workgroup: vec3<u32>,
           @builtin(local_invocation_index) lane: u32) {
  let item = item_of(workgroup, (params.Tq * HEAD_DIM + INVOCATIONS - 1u) / INVOCATIONS);
  let element = item.tile * INVOCATIONS + lane;
  let i = element / HEAD_DIM;
  let d = element % HEAD_DIM;
  if (!item.exists || i >= params.Tq) { return; }  // no barrier follows
  let row = ((item.b * params.H + item.h) * params.Tq + i) * params.Tk;
  let k_at = params.k_offset + item.b * params.k_batch + item.h / params.group * params.k_head + d;
  let end = key_end(i);
  var sum = 0.0;
  for (var j = 0u; j < end; j++) { sum += dscores[row + j] * K[k_at + j * params.k_row]; }
  dQ[params.dq_offset + item.b * params.dq_batch + item.h * params.dq_head + i * params.dq_row + d]
      = sum * params.scale;
}
