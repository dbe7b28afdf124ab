// fa2_dkdv_rows.wgsl: FlashAttention-2 backward for SwiftShader, Chromium's adapter on a CPU, dK and dV.
//
//   P  = exp(scale * Q K^T - LSE)      recomputed a tile at a time, never stored
//   dV = P^T dO                        (B, Tk, Hkv, HEAD_DIM), by strides
//   dS = P o (dO V^T - delta)
//   dK = scale * dS^T Q                (B, Tk, Hkv, HEAD_DIM), by strides
//
// The sums run over the query rows of every head of the group that shares the key head, all inside
// the invocation and always in the same order: no atomics, and the same bits at every run.
//
// Grid       B * Hkv * ceil(Tk / BC) workgroups of LANES invocations, folded; see common/grid.wgsl.
//            Owned rows are keys, walked rows are query rows; see common/rows.wgsl.
// Constants  HEAD_DIM, LANES, ROWS, WALKS, BR = 4 WALKS, BC = 4 LANES ROWS: u32; CAUSAL: bool
// Workgroup  nothing, so neither barriers nor zeroes to fill in
// Requires   HEAD_DIM, strides and offsets divisible by 4.
//
// Masking    row i sees the keys j < key_end(i), common/masking.wgsl; query rows before the first
//            that sees a key of the workgroup are never visited. A key that no row sees gets 0.
// Error      f32 throughout; each sum is taken in the order of the rows.
// Source     Dao 2023, arXiv:2307.08691, Algorithm 2; [A2:n] is its line n. See fa2_dkdv.wgsl.
//
// @use storage
// @use common/params.wgsl
// @use common/grid.wgsl
// @use common/masking.wgsl
// @use common/rows.wgsl
// @use common/rows_backward.wgsl

const_assert BC == 4u * LANES * ROWS && BR == 4u * WALKS;

fn load_own(values: bool, at: u32) -> vec4<f32> {
  if (values) { return load_v(at); }
  return load_k(at);
}

fn load_walked(values: bool, at: u32) -> vec4<f32> {
  if (values) { return load_do(at); }
  return load_q(at);
}

@compute @workgroup_size(LANES)
fn fa2_dkdv_rows(@builtin(workgroup_id) workgroup: vec3<u32>,
                 @builtin(local_invocation_index) lane: u32) {
  let item = key_item_of(workgroup);
  if (!item.exists) { return; }
  let k_at = params.k_offset + item.b * params.k_batch + item.h * params.k_head;
  let v_at = params.v_offset + item.b * params.v_batch + item.h * params.v_head;
  let j0 = item.tile * BC;
  let j = j0 + 4u * ROWS * lane;
  var k_rows: OwnedRows;
  var v_rows: OwnedRows;
  for (var r = 0u; r < ROWS; r++) { // @unroll
    k_rows[r] = rows_from(k_at, j + 4u * r, params.Tk, params.k_row);
    v_rows[r] = rows_from(v_at, j + 4u * r, params.Tk, params.v_row);
  }
  let first = first_row(j0);  // rows before it see no key of the workgroup
  var dK_j: Sums;  // [A2:7]
  var dV_j: Sums;
  var P: Tile;
  var dS: Tile;

  for (var g = 0u; g < params.group; g++) {
    let h = item.h * params.group + g;
    let q_at = params.q_offset + item.b * params.q_batch + h * params.q_head;
    let do_at = params.do_offset + item.b * params.do_batch + h * params.do_head;
    let head = (item.b * params.H + h) * params.Tq;
    // @trace trace_head(item.b, h);
    for (var i0 = first; i0 < params.Tq; i0 += BR) {
      var q_rows: WalkedRows;
      var do_rows: WalkedRows;
      for (var n = 0u; n < WALKS; n++) { // @unroll
        q_rows[n] = walk_from(lane, q_at, i0 + 4u * n, params.Tq, params.q_row);
        do_rows[n] = walk_from(lane, do_at, i0 + 4u * n, params.Tq, params.do_row);
      }
      multiply(&P, false, k_rows, q_rows);   // [A2:10]
      multiply(&dS, true, v_rows, do_rows);  // [A2:13]
      for (var n = 0u; n < WALKS; n++) { // @unroll
        let i = i0 + 4u * n;
        let ends = key_end4(i);  // rows past the end see nothing
        let at = rows_from(head, i, params.Tq, 1u);
        let L = log_sums(at);
        let D_i = deltas(at);
        for (var r = 0u; r < ROWS; r++) { // @unroll
          let keys = j + 4u * r + vec4<u32>(0u, 1u, 2u, 3u);
          let s = P[r][n];
          let p = mat4x4<f32>(probability(s[0], vec4<f32>(L.x), keys < vec4<u32>(ends.x)),
                              probability(s[1], vec4<f32>(L.y), keys < vec4<u32>(ends.y)),
                              probability(s[2], vec4<f32>(L.z), keys < vec4<u32>(ends.z)),
                              probability(s[3], vec4<f32>(L.w), keys < vec4<u32>(ends.w)));
          let dp = dS[r][n];
          P[r][n] = p;  // [A2:11]
          dS[r][n] = mat4x4<f32>(p[0] * (dp[0] - D_i.x), p[1] * (dp[1] - D_i.y),
                                 p[2] * (dp[2] - D_i.z), p[3] * (dp[3] - D_i.w));  // [A2:14]
          // @trace for (var e = 0u; e < 4u && r == 0u; e++) {
          // @trace   trace_pair(TRACE_DKDV + TRACE_LSE, i + e, keys.x, L[e]);
          // @trace   trace_pair(TRACE_DKDV + TRACE_DELTA, i + e, keys.x, D_i[e]);
          // @trace }
          // @trace trace_pairs_by_key(TRACE_DKDV + TRACE_WEIGHT, i, keys.x, 1u, p);
          // @trace trace_pairs_by_key(TRACE_DKDV + TRACE_DP, i, keys.x, 1u, dp);
          // @trace trace_pairs_by_key(TRACE_DKDV + TRACE_DS, i, keys.x, 1u, dS[r][n]);
        }
      }
      accumulate(&dV_j, all_kept(), &P, true, do_rows);   // [A2:12]
      accumulate(&dK_j, all_kept(), &dS, false, q_rows);  // [A2:16]
    }
  }

  let dk_at = params.dk_offset + item.b * params.dk_batch + item.h * params.dk_head;
  let dv_at = params.dv_offset + item.b * params.dv_batch + item.h * params.dv_head;
  for (var r = 0u; r < ROWS; r++) { // @unroll
    for (var c = 0u; c < CHUNKS; c++) {
      let dk = transpose(dK_j[c][r] * params.scale);
      let dv = transpose(dV_j[c][r]);
      for (var e = 0u; e < 4u; e++) { // @unroll
        let key = j + 4u * r + e;
        if (key < params.Tk) {
          store_dk(dk_at + key * params.dk_row + 4u * c, dk[e]);
          store_dv(dv_at + key * params.dv_row + 4u * c, dv[e]);
        }
      }
    }
  }
}
