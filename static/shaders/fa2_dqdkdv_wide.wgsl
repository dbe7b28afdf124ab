// fa2_dqdkdv_wide.wgsl: FlashAttention-2 backward, dQ, dK and dV in one grid, for real GPUs.
//
//   P  = exp(scale * Q K^T - LSE)      recomputed a tile at a time, never stored
//   dS = P o (dO V^T - delta)
//   dQ = scale * dS K                  (B, Tq, H, HEAD_DIM), by strides
//   dV = P^T dO                        (B, Tk, Hkv, HEAD_DIM), by strides
//   dK = scale * dS^T Q                (B, Tk, Hkv, HEAD_DIM), by strides
//
// In one grid, since the workgroups for query rows fill a GPU while the last ones for keys end: two grids
// take up to a third longer where rows are few, and are no faster where they are many.
//
// Grid       B * Hkv * ceil(Tk / BC) workgroups for keys, then B * H * ceil(Tq / BR) for query rows,
//            of TX * TY invocations, folded; see common/grid.wgsl.
// Constants  HEAD_DIM, TX, TY, ROWS, KEYS, O_TILES, CHUNK, V_CHUNK, BR = BC = TY ROWS: u32;
//            CAUSAL: bool
// Workgroup  A and X of common/wide.wgsl
// Private    2 ROWS KEYS scores and 8 ROWS O_TILES output elements per invocation, in registers
// Requires   HEAD_DIM, all strides and offsets multiples of 4.
//
// Masking    row i sees the keys j < key_end(i), common/masking.wgsl; tiles that have no pair in
//            common are never visited. A row without keys gets dQ = 0, a key that no row sees
//            dK = dV = 0.
// Error      f32 throughout; each sum is taken in the order of the keys, or of the rows.
// Source     Dao 2023, arXiv:2307.08691, Algorithm 2, dQ with its two loops exchanged: it
//            needs no atomics then.
//
// @use storage
// @use common/params.wgsl
// @use common/grid.wgsl
// @use common/wide.wgsl
// @use common/dq_wide.wgsl
// @use common/dkdv_wide.wgsl

const_assert BR == OWN && BC == OWN;

@compute @workgroup_size(TX * TY)
fn fa2_dqdkdv_wide(@builtin(workgroup_id) workgroup: vec3<u32>,
                   @builtin(local_invocation_index) lane: u32) {
  let id = number_of(workgroup);
  if (id >= params.end_workgroup) { return; }  // the whole workgroup
  let key_items = params.B * (params.H / params.group) * ((params.Tk + BC - 1u) / BC);
  if (id < key_items) {  // the longest first
    dkdv_tile(key_item(id), lane);
  } else {
    dq_tile(query_item(id - key_items, (params.Tq + BR - 1u) / BR), lane);
  }
}
