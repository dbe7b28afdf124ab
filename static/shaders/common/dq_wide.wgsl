// common/dq_wide.wgsl: dQ of one tile of query rows, for fa2_dqdkdv_wide.
// @use common/params.wgsl
// @use common/grid.wgsl
// @use common/masking.wgsl
// @use common/wide.wgsl
// @use common/backward_wide.wgsl

// Owned rows are query rows, walked rows are keys. [A2:n] is the paper's line n.
fn dq_tile(item: Item, lane: u32) {
  let tx = lane % TX;
  let ty = lane / TX;
  let kv_head = item.h / params.group;
  let q_at = params.q_offset + item.b * params.q_batch + item.h * params.q_head;
  let do_at = params.do_offset + item.b * params.do_batch + item.h * params.do_head;
  let k_at = params.k_offset + item.b * params.k_batch + kv_head * params.k_head;
  let v_at = params.v_offset + item.b * params.v_batch + kv_head * params.v_head;
  let head = (item.b * params.H + item.h) * params.Tq;
  let i0 = item.tile * OWN;
  // @trace trace_head(item.b, item.h);
  let first_end = key_end(i0);  // every row of the tile sees at least the keys below this one
  let last_end = key_end(min(i0 + OWN, params.Tq) - 1u);  // and none sees this one or a later one

  var delta_i = RowValues();
  var L_log2 = RowValues();
  for (var r = 0u; r < ROWS; r++) { // @unroll
    let at = head + min(i0 + ty + TY * r, params.Tq - 1u);  // rows past the end are never stored
    delta_i[r] = row_delta(at);
    L_log2[r] = row_lse(at);
  }

  var dQ_i = Sums();
  for (var j0 = 0u; j0 < last_end; j0 += WALK) {  // the same bounds for the whole workgroup
    var dS = Scores();
    add_products(&dS, DO_ROWS, do_at, i0, V_ROWS, v_at, j0, lane);  // [A2:13], dP until the last loop
    var P = Scores();
    add_products(&P, Q_ROWS, q_at, i0, K_ROWS, k_at, j0, lane);  // [A2:10], S until the next loop
    let edge = j0 + WALK > first_end;
    // @trace let dP = dS;
    // @trace var weights = Scores();
    for (var r = 0u; r < ROWS; r++) { // @unroll
      let end = key_end(i0 + ty + TY * r);
      for (var n = 0u; n < KEYS; n++) { // @unroll
        let seen = !edge || j0 + tx + TX * n < end;
        let p = probability(P[r * KEYS + n], L_log2[r], seen);  // [A2:11]
        // @trace weights[r * KEYS + n] = p;
        dS[r * KEYS + n] = p * (dS[r * KEYS + n] - delta_i[r]);  // [A2:14]
      }
    }
    accumulate(&dQ_i, &dS, K_ROWS, k_at, j0, lane);  // [A2:15]
    // @trace for (var n = 0u; n < ROWS * KEYS; n++) {
    // @trace   let i = i0 + ty + TY * (n / KEYS);
    // @trace   let j = j0 + tx + TX * (n % KEYS);
    // @trace   trace_pair(TRACE_DQ + TRACE_LSE, i, j, L_log2[n / KEYS] * LN_2);
    // @trace   trace_pair(TRACE_DQ + TRACE_DELTA, i, j, delta_i[n / KEYS]);
    // @trace   trace_pair(TRACE_DQ + TRACE_WEIGHT, i, j, weights[n]);
    // @trace   trace_pair(TRACE_DQ + TRACE_DP, i, j, dP[n]);
    // @trace   trace_pair(TRACE_DQ + TRACE_DS, i, j, dS[n]);
    // @trace }
  }

  let dq_at = params.dq_offset + item.b * params.dq_batch + item.h * params.dq_head;
  for (var r = 0u; r < ROWS; r++) { // @unroll
    let i = i0 + ty + TY * r;
    for (var o = 0u; o < O_TILES; o++) { // @unroll
      let d = 4u * (tx + TX * o);
      if (i < params.Tq && d < HEAD_DIM) {
        store_dq(dq_at + i * params.dq_row + d, dQ_i[r * O_TILES + o] * params.scale);
      }
    }
  }
}
