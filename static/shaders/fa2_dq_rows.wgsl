// fa2_dq_rows.wgsl: FlashAttention-2 backward for SwiftShader, Chromium's adapter on a CPU, dQ.
//
//   P  = exp(scale * Q K^T - LSE)      recomputed a tile at a time, never stored
//   dS = P o (dO V^T - delta)
//   dQ = scale * dS K                  (B, Tq, H, HEAD_DIM), by strides
//
// Grid       B * H * ceil(Tq / BR) workgroups of LANES invocations, folded; see common/grid.wgsl.
//            Owned rows are query rows, walked rows are keys; see common/rows.wgsl.
// Constants  HEAD_DIM, LANES, ROWS, WALKS, BR = 4 LANES ROWS, BC = 4 WALKS: u32; CAUSAL: bool
// Workgroup  nothing, so neither barriers nor zeroes to fill in
// Requires   HEAD_DIM, strides and offsets divisible by 4.
//
// Masking    row i sees the keys j < key_end(i), common/masking.wgsl; key tiles that no row of the
//            workgroup sees are never visited. A row without keys gets dQ = 0.
// Error      f32 throughout; each sum is taken in the order of the keys.
// Source     Dao 2023, arXiv:2307.08691, Algorithm 2; [A2:n] is its line n. See fa2_dq.wgsl.
//
// @use storage
// @use common/params.wgsl
// @use common/grid.wgsl
// @use common/masking.wgsl
// @use common/rows.wgsl
// @use common/rows_backward.wgsl

const_assert BR == 4u * LANES * ROWS && BC == 4u * WALKS;

fn load_own(values: bool, at: u32) -> vec4<f32> {
  if (values) { return load_do(at); }
  return load_q(at);
}

fn load_walked(values: bool, at: u32) -> vec4<f32> {
  if (values) { return load_v(at); }
  return load_k(at);
}

@compute @workgroup_size(LANES)
fn fa2_dq_rows(@builtin(workgroup_id) workgroup: vec3<u32>,
               @builtin(local_invocation_index) lane: u32) {
  let item = item_of(workgroup, (params.Tq + BR - 1u) / BR);
  if (!item.exists) { return; }
  let kv_head = item.h / params.group;
  let q_at = params.q_offset + item.b * params.q_batch + item.h * params.q_head;
  let do_at = params.do_offset + item.b * params.do_batch + item.h * params.do_head;
  let k_at = params.k_offset + item.b * params.k_batch + kv_head * params.k_head;
  let v_at = params.v_offset + item.b * params.v_batch + kv_head * params.v_head;
  let i0 = item.tile * BR;
  let i = i0 + 4u * ROWS * lane;
  // @trace trace_head(item.b, item.h);
  let last_end = key_end(min(i0 + BR, params.Tq) - 1u);  // no row of the workgroup sees a later key
  var q_rows: OwnedRows;
  var do_rows: OwnedRows;
  var ends: OwnedRows;
  var L: array<vec4<f32>, ROWS>;
  var D_i: array<vec4<f32>, ROWS>;
  for (var r = 0u; r < ROWS; r++) { // @unroll
    q_rows[r] = rows_from(q_at, i + 4u * r, params.Tq, params.q_row);
    do_rows[r] = rows_from(do_at, i + 4u * r, params.Tq, params.do_row);
    ends[r] = key_end4(i + 4u * r);
    let at = rows_from((item.b * params.H + item.h) * params.Tq, i + 4u * r, params.Tq, 1u);
    L[r] = log_sums(at);
    D_i[r] = deltas(at);
  }
  var dQ_i: Sums;
  var P: Tile;
  var dS: Tile;

  for (var j0 = 0u; j0 < last_end; j0 += BC) {
    var k_rows: WalkedRows;
    var v_rows: WalkedRows;
    for (var n = 0u; n < WALKS; n++) { // @unroll
      k_rows[n] = walk_from(lane, k_at, j0 + 4u * n, params.Tk, params.k_row);
      v_rows[n] = walk_from(lane, v_at, j0 + 4u * n, params.Tk, params.v_row);
    }
    multiply(&P, false, q_rows, k_rows);   // [A2:10]
    multiply(&dS, true, do_rows, v_rows);  // [A2:13]
    for (var r = 0u; r < ROWS; r++) { // @unroll
      for (var n = 0u; n < WALKS; n++) { // @unroll
        let j = j0 + 4u * n;
        let s = P[r][n];
        let dp = dS[r][n];
        // @trace trace_rows(TRACE_DQ + TRACE_LSE, 0u, i + 4u * r, 0u, L[r]);
        // @trace trace_rows(TRACE_DQ + TRACE_DELTA, 0u, i + 4u * r, 0u, D_i[r]);
        // @trace let weights = mat4x4<f32>(
        // @trace     probability(s[0], L[r], ends[r] > vec4<u32>(j)),
        // @trace     probability(s[1], L[r], ends[r] > vec4<u32>(j + 1u)),
        // @trace     probability(s[2], L[r], ends[r] > vec4<u32>(j + 2u)),
        // @trace     probability(s[3], L[r], ends[r] > vec4<u32>(j + 3u)));
        // @trace trace_pairs(TRACE_DQ + TRACE_WEIGHT, i + 4u * r, j, 1u, weights);
        // @trace trace_pairs(TRACE_DQ + TRACE_DP, i + 4u * r, j, 1u, dp);
        dS[r][n] = mat4x4<f32>(
            probability(s[0], L[r], vec4<u32>(j) < ends[r]) * (dp[0] - D_i[r]),
            probability(s[1], L[r], vec4<u32>(j + 1u) < ends[r]) * (dp[1] - D_i[r]),
            probability(s[2], L[r], vec4<u32>(j + 2u) < ends[r]) * (dp[2] - D_i[r]),
            probability(s[3], L[r], vec4<u32>(j + 3u) < ends[r]) * (dp[3] - D_i[r]));  // [A2:14]
        // @trace trace_pairs(TRACE_DQ + TRACE_DS, i + 4u * r, j, 1u, dS[r][n]);
      }
    }
    accumulate(&dQ_i, all_kept(), &dS, false, k_rows);  // [A2:15]
  }

  let dq_at = params.dq_offset + item.b * params.dq_batch + item.h * params.dq_head;
  for (var r = 0u; r < ROWS; r++) { // @unroll
    for (var c = 0u; c < CHUNKS; c++) {
      let dq = transpose(dQ_i[c][r] * params.scale);
      for (var e = 0u; e < 4u; e++) { // @unroll
        let row = i + 4u * r + e;
        if (row < params.Tq) { store_dq(dq_at + row * params.dq_row + 4u * c, dq[e]); }
      }
    }
  }
}
