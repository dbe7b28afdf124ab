// fa2_dkdv_wide.wgsl: FlashAttention-2 backward, dK and dV, with large register tiles for real GPUs.
//
//   P  = exp(scale * Q K^T - LSE)      recomputed a tile at a time, never stored
//   dV = P^T dO                        (B, Tk, Hkv, HEAD_DIM), by strides
//   dS = P o (dO V^T - delta)
//   dK = scale * dS^T Q                (B, Tk, Hkv, HEAD_DIM), by strides
//
// Grid       B * Hkv * ceil(Tk / BC) workgroups of TX * TY invocations, folded; see common/grid.wgsl.
// Constants  HEAD_DIM, TX, TY, ROWS, KEYS, O_TILES, CHUNK, V_CHUNK, BC = TY ROWS, BR = TX KEYS: u32;
//            CAUSAL: bool
// Workgroup  A and X of common/wide.wgsl
// Private    2 ROWS KEYS scores and 8 ROWS O_TILES output elements per invocation, in registers
// Requires   HEAD_DIM, all strides and offsets multiples of 4.
//
// Masking    row i sees the keys j < key_end(i), common/masking.wgsl; query tiles that see none of
//            the keys are never visited. A key that no row sees gets dK = dV = 0.
// Error      f32 throughout; each sum is taken in the order of the rows.
// Source     Dao 2023, arXiv:2307.08691, Algorithm 2; [A2:n] is its line n.
//
// @use storage
// @use common/params.wgsl
// @use common/grid.wgsl
// @use common/wide.wgsl
// @use common/dkdv_wide.wgsl

@group(0) @binding(5) var<storage, read> LSE: array<f32>;
@group(0) @binding(7) var<storage, read> delta: array<f32>;

const_assert BC == OWN && BR == WALK;

fn row_lse(at: u32) -> f32 { return LSE[at] * LOG2_E; }
fn row_delta(at: u32) -> f32 { return delta[at]; }

@compute @workgroup_size(TX * TY)
fn fa2_dkdv_wide(@builtin(workgroup_id) workgroup: vec3<u32>,
                 @builtin(local_invocation_index) lane: u32) {
  let item = key_item_of(workgroup, (params.Tk + BC - 1u) / BC);
  if (!item.exists) { return; }  // the whole workgroup
  dkdv_tile(item, lane);
}
