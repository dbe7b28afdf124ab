// attn_dk.wgsl: the baseline's dK, one invocation per element.
//
//   dK = scale * dscores^T Q           (B, Tk, Hkv, HEAD_DIM), by strides
//
// Grid       B * Hkv * ceil(Tk * HEAD_DIM / INVOCATIONS) workgroups, folded; see common/grid.wgsl.
// Constants  HEAD_DIM, INVOCATIONS: u32; CAUSAL: bool
// Workgroup  nothing
// Requires   nothing beyond core WebGPU and its default limits.
//
// Masking    key j sums over the rows from first_row(j) on, common/masking.wgsl, of every head of
//            the group that shares the key head.
// Error      f32 throughout; a sum over the rows, in their order.
// Source     the backward that the forward notes name.
//
// @use common/params.wgsl
// @use common/grid.wgsl
// @use common/masking.wgsl

@group(0) @binding(12) var<storage, read> dscores: array<f32>;
@group(0) @binding(1) var<storage, read> Q: array<f32>;
@group(0) @binding(9) var<storage, read_write> dK: array<f32>;

@compute @workgroup_size(INVOCATIONS)
fn attn_dk(@builtin(workgroup_id) workgroup: vec3<u32>,
           @builtin(local_invocation_index) lane: u32) {
  let item = key_item_of(workgroup);
  let element = item.tile * INVOCATIONS + lane;
  let j = element / HEAD_DIM;
  let d = element % HEAD_DIM;
  if (!item.exists || j >= params.Tk) { return; }  // no barrier follows
  let first = first_row(j);
  var sum = 0.0;
  for (var g = 0u; g < params.group; g++) {
    let h = item.h * params.group + g;
    let head = (item.b * params.H + h) * params.Tq;
    let q_at = params.q_offset + item.b * params.q_batch + h * params.q_head + d;
    for (var i = first; i < params.Tq; i++) {
      sum += dscores[(head + i) * params.Tk + j] * Q[q_at + i * params.q_row];
    }
  }
  dK[params.dk_offset + item.b * params.dk_batch + item.h * params.dk_head + j * params.dk_row + d]
      = sum * params.scale;
}
