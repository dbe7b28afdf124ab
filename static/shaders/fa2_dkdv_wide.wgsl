// fa2_dkdv_wide.wgsl: FlashAttention-2 backward, dK and dV, with large register tiles for real GPUs.
//
//   P  = exp(scale * Q K^T - LSE)      recomputed a tile at a time, never stored
//   dV = P^T dO                        (B, Tk, Hkv, HEAD_DIM), by strides
//   dS = P o (dO V^T - delta)
//   dK = scale * dS^T Q                (B, Tk, Hkv, HEAD_DIM), by strides
//
// The sums run over the query rows of every head of the group that shares the key head, all inside
// the workgroup and always in the same order: no atomics, and the same bits at every run.
//
// Grid       B * Hkv * ceil(Tk / BC) workgroups of TX * TY invocations, folded; see common/grid.wgsl.
//            Owned rows are keys, walked rows are query rows; see common/wide.wgsl.
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
// @use common/masking.wgsl
// @use common/wide.wgsl
// @use common/backward_wide.wgsl

@group(0) @binding(5) var<storage, read> LSE: array<f32>;
@group(0) @binding(7) var<storage, read> delta: array<f32>;

const_assert BC == OWN && BR == WALK;

fn own_vector(gradient: bool, at: u32, j: u32, d: u32) -> vec4<f32> {
  return key_vector(gradient, at, j, d);
}

fn walked_vector(gradient: bool, at: u32, i: u32, d: u32) -> vec4<f32> {
  return query_vector(gradient, at, i, d);
}

@compute @workgroup_size(TX * TY)
fn fa2_dkdv_wide(@builtin(workgroup_id) workgroup: vec3<u32>,
                 @builtin(local_invocation_index) lane: u32) {
  let item = key_item_of(workgroup, (params.Tk + BC - 1u) / BC);
  if (!item.exists) { return; }  // the whole workgroup
  let tx = lane % TX;
  let ty = lane / TX;
  let k_at = params.k_offset + item.b * params.k_batch + item.h * params.k_head;
  let v_at = params.v_offset + item.b * params.v_batch + item.h * params.v_head;
  let j0 = item.tile * BC;
  let first = first_row(j0);  // rows before it see no key of the tile
  var dK_j = Sums();  // [A2:7]
  var dV_j = Sums();

  for (var g = 0u; g < params.group; g++) {
    let h = item.h * params.group + g;
    let q_at = params.q_offset + item.b * params.q_batch + h * params.q_head;
    let do_at = params.do_offset + item.b * params.do_batch + h * params.do_head;
    let head = (item.b * params.H + h) * params.Tq;
    // @trace trace_head(item.b, h);
    for (var i0 = first; i0 < params.Tq; i0 += BR) {  // the same bounds for the whole workgroup
      var P = Scores();
      add_products(&P, false, k_at, j0, q_at, i0, lane);  // [A2:10], S until the next loop
      let edge = j0 + BC > key_end(i0) || i0 + BR > params.Tq;
      for (var n = 0u; n < KEYS; n++) { // @unroll
        let i = i0 + tx + TX * n;
        let L_log2 = LSE[head + min(i, params.Tq - 1u)] * LOG2_E;
        let end = key_end(i);
        for (var r = 0u; r < ROWS; r++) { // @unroll
          let seen = !edge || j0 + ty + TY * r < end;
          P[r * KEYS + n] = probability(P[r * KEYS + n], L_log2, seen);  // [A2:11]
        }
      }
      accumulate(&dV_j, &P, true, do_at, i0, lane);  // [A2:12]
      var dS = Scores();
      add_products(&dS, true, v_at, j0, do_at, i0, lane);  // [A2:13], dP until the next loop
      // @trace let dP = dS;
      for (var n = 0u; n < KEYS; n++) { // @unroll
        let delta_i = delta[head + min(i0 + tx + TX * n, params.Tq - 1u)];
        for (var r = 0u; r < ROWS; r++) { // @unroll
          dS[r * KEYS + n] = P[r * KEYS + n] * (dS[r * KEYS + n] - delta_i);  // [A2:14]
        }
      }
      accumulate(&dK_j, &dS, false, q_at, i0, lane);  // [A2:16]
      // @trace for (var n = 0u; n < ROWS * KEYS; n++) {
      // @trace   let i = i0 + tx + TX * (n % KEYS);
      // @trace   let j = j0 + ty + TY * (n / KEYS);
      // @trace   let at = head + min(i, params.Tq - 1u);
      // @trace   trace_pair(TRACE_DKDV + TRACE_LSE, i, j, LSE[at]);
      // @trace   trace_pair(TRACE_DKDV + TRACE_DELTA, i, j, delta[at]);
      // @trace   trace_pair(TRACE_DKDV + TRACE_WEIGHT, i, j, P[n]);
      // @trace   trace_pair(TRACE_DKDV + TRACE_DP, i, j, dP[n]);
      // @trace   trace_pair(TRACE_DKDV + TRACE_DS, i, j, dS[n]);
      // @trace }
    }
  }

  let dk_at = params.dk_offset + item.b * params.dk_batch + item.h * params.dk_head;
  let dv_at = params.dv_offset + item.b * params.dv_batch + item.h * params.dv_head;
  for (var r = 0u; r < ROWS; r++) { // @unroll
    let j = j0 + ty + TY * r;
    for (var o = 0u; o < O_TILES; o++) { // @unroll
      let d = 4u * (tx + TX * o);
      if (j < params.Tk && d < HEAD_DIM) {  // [A2:18]
        store_dk(dk_at + j * params.dk_row + d, dK_j[r * O_TILES + o] * params.scale);
        store_dv(dv_at + j * params.dv_row + d, dV_j[r * O_TILES + o]);
      }
    }
  }
}
