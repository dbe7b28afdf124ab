// common/dkdv_wide.wgsl: dK and dV of one tile of keys, for fa2_dqdkdv_wide.
//
// The sums run over the query rows of every head of the group that shares the key head, all inside
// the workgroup and always in the same order: no atomics, and the same bits at every run.
// @use common/params.wgsl
// @use common/grid.wgsl
// @use common/masking.wgsl
// @use common/wide.wgsl
// @use common/backward_wide.wgsl

// Owned rows are keys, walked rows are query rows. [A2:n] is the paper's line n.
fn dkdv_tile(item: Item, lane: u32) {
  let tx = lane % TX;
  let ty = lane / TX;
  let k_at = params.k_offset + item.b * params.k_batch + item.h * params.k_head;
  let v_at = params.v_offset + item.b * params.v_batch + item.h * params.v_head;
  let j0 = item.tile * OWN;
  let first = first_row(j0);  // rows before it see no key of the tile
  var dK_j = Sums();  // [A2:7]
  var dV_j = Sums();

  for (var g = 0u; g < params.group; g++) {
    let h = item.h * params.group + g;
    let q_at = params.q_offset + item.b * params.q_batch + h * params.q_head;
    let do_at = params.do_offset + item.b * params.do_batch + h * params.do_head;
    let head = (item.b * params.H + h) * params.Tq;
    // @trace trace_head(item.b, h);
    for (var i0 = first; i0 < params.Tq; i0 += WALK) {  // the same bounds for the whole workgroup
      var P = Scores();
      add_products(&P, K_ROWS, k_at, j0, Q_ROWS, q_at, i0, lane);  // [A2:10], S until the next loop
      let edge = j0 + OWN > key_end(i0) || i0 + WALK > params.Tq;
      for (var n = 0u; n < KEYS; n++) { // @unroll
        let i = i0 + tx + TX * n;
        let L_log2 = row_lse(head + min(i, params.Tq - 1u));
        let end = key_end(i);
        for (var r = 0u; r < ROWS; r++) { // @unroll
          let seen = !edge || j0 + ty + TY * r < end;
          P[r * KEYS + n] = probability(P[r * KEYS + n], L_log2, seen);  // [A2:11]
        }
      }
      accumulate(&dV_j, &P, DO_ROWS, do_at, i0, lane);  // [A2:12]
      var dS = Scores();
      add_products(&dS, V_ROWS, v_at, j0, DO_ROWS, do_at, i0, lane);  // [A2:13], dP until the next loop
      // @trace let dP = dS;
      for (var n = 0u; n < KEYS; n++) { // @unroll
        let delta_i = row_delta(head + min(i0 + tx + TX * n, params.Tq - 1u));
        for (var r = 0u; r < ROWS; r++) { // @unroll
          dS[r * KEYS + n] = P[r * KEYS + n] * (dS[r * KEYS + n] - delta_i);  // [A2:14]
        }
      }
      accumulate(&dK_j, &dS, Q_ROWS, q_at, i0, lane);  // [A2:16]
      // @trace for (var n = 0u; n < ROWS * KEYS; n++) {
      // @trace   let i = i0 + tx + TX * (n % KEYS);
      // @trace   let j = j0 + ty + TY * (n / KEYS);
      // @trace   let at = head + min(i, params.Tq - 1u);
      // @trace   trace_pair(TRACE_DKDV + TRACE_LSE, i, j, row_lse(at) * LN_2);
      // @trace   trace_pair(TRACE_DKDV + TRACE_DELTA, i, j, row_delta(at));
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
