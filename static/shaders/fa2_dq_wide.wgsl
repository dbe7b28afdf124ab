// fa2_dq_wide.wgsl: FlashAttention-2 backward, dQ, with large register tiles for real GPUs.
//
//   delta = rowsum(dO o O)             (B, H, Tq), for fa2_dkdv_wide, which runs next
//   P  = exp(scale * Q K^T - LSE)      recomputed a tile at a time, never stored
//   dS = P o (dO V^T - delta)
//   dQ = scale * dS K                  (B, Tq, H, HEAD_DIM), by strides
//
// Grid       B * H * ceil(Tq / BR) workgroups of TX * TY invocations, folded; see common/grid.wgsl.
//            Owned rows are query rows, walked rows are keys; see common/wide.wgsl.
// Constants  HEAD_DIM, TX, TY, ROWS, KEYS, O_TILES, CHUNK, V_CHUNK, BR = TY ROWS, BC = TX KEYS: u32;
//            CAUSAL: bool
// Workgroup  A and X of common/wide.wgsl
// Private    2 ROWS KEYS scores and 4 ROWS O_TILES output elements per invocation, in registers
// Requires   HEAD_DIM, all strides and offsets multiples of 4.
//
// Masking    row i sees the keys j < key_end(i), common/masking.wgsl; key tiles that no row of the
//            tile sees are never visited. A row without keys has O = 0, so delta = 0, and gets dQ = 0.
// Error      f32 throughout; each sum is taken in the order of the keys.
// Source     Dao 2023, arXiv:2307.08691, Algorithm 2, with its two loops exchanged: dQ needs no
//            atomics then; [A2:n] is its line n.
//
// @use storage
// @use reduce
// @use common/params.wgsl
// @use common/grid.wgsl
// @use common/masking.wgsl
// @use common/wide.wgsl
// @use common/backward_wide.wgsl

@group(0) @binding(5) var<storage, read> LSE: array<f32>;
@group(0) @binding(7) var<storage, read_write> delta: array<f32>;

const_assert BR == OWN && BC == WALK;

fn own_vector(gradient: bool, at: u32, i: u32, d: u32) -> vec4<f32> {
  return query_vector(gradient, at, i, d);
}

fn walked_vector(gradient: bool, at: u32, j: u32, d: u32) -> vec4<f32> {
  return key_vector(gradient, at, j, d);
}

@compute @workgroup_size(TX * TY)
fn fa2_dq_wide(@builtin(workgroup_id) workgroup: vec3<u32>,
               @builtin(local_invocation_index) lane: u32) {
  let item = item_of(workgroup, (params.Tq + BR - 1u) / BR);
  if (!item.exists) { return; }  // the whole workgroup
  let tx = lane % TX;
  let ty = lane / TX;
  let kv_head = item.h / params.group;
  let q_at = params.q_offset + item.b * params.q_batch + item.h * params.q_head;
  let o_at = params.o_offset + item.b * params.o_batch + item.h * params.o_head;
  let do_at = params.do_offset + item.b * params.do_batch + item.h * params.do_head;
  let k_at = params.k_offset + item.b * params.k_batch + kv_head * params.k_head;
  let v_at = params.v_offset + item.b * params.v_batch + kv_head * params.v_head;
  let head = (item.b * params.H + item.h) * params.Tq;
  let i0 = item.tile * BR;
  // @trace trace_head(item.b, item.h);
  let first_end = key_end(i0);  // every row of the tile sees at least the keys below this one
  let last_end = key_end(min(i0 + BR, params.Tq) - 1u);  // and none sees this one or a later one

  var L_log2 = RowValues();
  var delta_i = RowValues();
  for (var r = 0u; r < ROWS; r++) { // @unroll
    let i = min(i0 + ty + TY * r, params.Tq - 1u);  // rows past the end are never stored
    L_log2[r] = LSE[head + i] * LOG2_E;
    for (var o = 0u; o < O_TILES; o++) { // @unroll
      let d = 4u * (tx + TX * o);
      let o_vector = in_head(load_o(o_at + i * params.o_row + d), d);
      delta_i[r] += dot(query_vector(true, do_at, i, d), o_vector);  // [A2:4], own channels
    }
  }
  sum_over_rows(&delta_i, tx, ty);
  for (var r = 0u; r < ROWS; r++) { // @unroll
    let i = i0 + ty + TY * r;
    if (tx == 0u && i < params.Tq) { delta[head + i] = delta_i[r]; }
  }

  var dQ_i = Sums();
  for (var j0 = 0u; j0 < last_end; j0 += BC) {  // the same bounds for the whole workgroup
    var dS = Scores();
    add_products(&dS, true, do_at, i0, v_at, j0, lane);  // [A2:13], dP until the last loop
    var P = Scores();
    add_products(&P, false, q_at, i0, k_at, j0, lane);  // [A2:10], S until the next loop
    let edge = j0 + BC > first_end;
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
    accumulate(&dQ_i, &dS, false, k_at, j0, lane);  // [A2:15]
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
