// attn_dscores.wgsl: the baseline backward's gradient of the scores, one invocation per query row.
//
//   dP      = dO V^T
//   dscores = attn o (dP - sum_j attn dP)      (B, H, Tq, Tk), scale left to attn_dq and attn_dk
//
// Grid       B * H * ceil(Tq / INVOCATIONS) workgroups, folded; see common/grid.wgsl.
// Constants  HEAD_DIM, INVOCATIONS: u32; CAUSAL: bool
// Workgroup  nothing; every invocation reads V for itself
// Private    nothing: dscores itself holds dP until the row's sum is known
// Requires   nothing beyond core WebGPU and its default limits.
//
// Masking    row i sees the keys j < key_end(i), common/masking.wgsl; the others are written as 0.
// Error      f32 throughout; the row's sum is one of up to Tk products.
// Source     the backward that the forward notes name: a matrix in memory, no limit on its width.
//
// @use common/params.wgsl
// @use common/grid.wgsl
// @use common/masking.wgsl

@group(0) @binding(11) var<storage, read> attn: array<f32>;
@group(0) @binding(3) var<storage, read> V: array<f32>;
@group(0) @binding(6) var<storage, read> dO: array<f32>;
@group(0) @binding(12) var<storage, read_write> dscores: array<f32>;

@compute @workgroup_size(INVOCATIONS)
fn attn_dscores(@builtin(workgroup_id) workgroup: vec3<u32>,
                @builtin(local_invocation_index) lane: u32) {
  let item = item_of(workgroup, (params.Tq + INVOCATIONS - 1u) / INVOCATIONS);
  let i = item.tile * INVOCATIONS + lane;
  if (!item.exists || i >= params.Tq) { return; }  // no barrier follows
  let kv_head = item.h / params.group;
  let v_at = params.v_offset + item.b * params.v_batch + kv_head * params.v_head;
  let do_at = params.do_offset + item.b * params.do_batch + item.h * params.do_head
      + i * params.do_row;
  let row = ((item.b * params.H + item.h) * params.Tq + i) * params.Tk;
  let end = key_end(i);

  var delta = 0.0;
  for (var j = 0u; j < end; j++) {
    var dp = 0.0;
    for (var d = 0u; d < HEAD_DIM; d++) { dp += dO[do_at + d] * V[v_at + j * params.v_row + d]; }
    dscores[row + j] = dp;
    delta += attn[row + j] * dp;
  }
  for (var j = 0u; j < end; j++) {
    dscores[row + j] = attn[row + j] * (dscores[row + j] - delta);
  }
  for (var j = end; j < params.Tk; j++) { dscores[row + j] = 0.0; }
}
