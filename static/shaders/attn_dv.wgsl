// attn_dv.wgsl: the baseline's dV, one invocation per element.
//
//   dV = attn^T dO                     (B, Tk, Hkv, HEAD_DIM), by strides
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

@group(0) @binding(11) var<storage, read> attn: array<f32>;
@group(0) @binding(6) var<storage, read> dO: array<f32>;
@group(0) @binding(10) var<storage, read_write> dV: array<f32>;

@compute @workgroup_size(INVOCATIONS)
fn attn_dv(@builtin(workgroup_id) workgroup: vec3<u32>,
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
    let do_at = params.do_offset + item.b * params.do_batch + h * params.do_head + d;
    for (var i = first; i < params.Tq; i++) {
      sum += attn[(head + i) * params.Tk + j] * dO[do_at + i * params.do_row];
    }
  }
  dV[params.dv_offset + item.b * params.dv_batch + item.h * params.dv_head + j * params.dv_row + d]
      = sum;
}
