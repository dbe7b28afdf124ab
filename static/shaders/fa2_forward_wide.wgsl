// fa2_forward_wide.wgsl: FlashAttention-2 forward with large register tiles, for real GPUs.
//
//   O   = softmax(scale * Q K^T) V             (B, Tq, H, HEAD_DIM), by strides
//   LSE = log sum_j exp(scale * q_i . k_j)     (B, H, Tq)  natural log, scale included
//
// Grid       B * H * ceil(Tq / BR) workgroups of TX * TY invocations, folded; see common/grid.wgsl.
//            Invocation (tx, ty) owns the query rows ty + TY r (r < ROWS) of the tile, the keys
//            tx + TX n (n < KEYS) of a key tile, and the channels 4 (tx + TX o) .. + 3 (o < O_TILES).
// Constants  HEAD_DIM, TX, TY, ROWS, KEYS, O_TILES, CHUNK, V_CHUNK, BR = TY ROWS, BC = TX KEYS: u32;
//            CAUSAL: bool
// Workgroup  16 (A_SIZE + X_SIZE) bytes: A and X of common/wide.wgsl
// Private    ROWS KEYS scores and 4 ROWS O_TILES output elements per invocation, in registers
// Requires   HEAD_DIM, all strides and offsets multiples of 4.
//
// Masking    row i sees the keys j < key_end(i), common/masking.wgsl; key tiles that no row of the
//            tile sees are never visited. A row without keys gets O = 0, LSE = LSE_EMPTY.
// Error      f32 throughout; Q carries scale * log2(e), so that exp2 serves for exp.
// Source     Dao 2023, arXiv:2307.08691, Algorithm 1; [A1:n] is its line n.
//
// @use storage
// @use reduce
// @use common/params.wgsl
// @use common/grid.wgsl
// @use common/masking.wgsl
// @use common/wide.wgsl

@group(0) @binding(5) var<storage, read_write> LSE: array<f32>;

const_assert BR == OWN && BC == WALK;

// exp2 gives 0 for anything below; a masked score becomes this, never -1e38.
const EXPONENT_FLOOR = -200.0;

// Q carries the factor of the scores.
fn row_vector(tensor: u32, at: u32, row: u32, d: u32) -> vec4<f32> {
  if (tensor == Q_ROWS) {
    let i = min(row, params.Tq - 1u);
    return in_head(load_q(at + i * params.q_row + d), d) * (params.scale * LOG2_E);
  }
  let j = min(row, params.Tk - 1u);
  if (tensor == V_ROWS) { return in_head(load_v(at + j * params.v_row + d), d); }
  return in_head(load_k(at + j * params.k_row + d), d);
}

@compute @workgroup_size(TX * TY)
fn fa2_forward_wide(@builtin(workgroup_id) workgroup: vec3<u32>,
                    @builtin(local_invocation_index) lane: u32) {
  let item = item_of(workgroup, (params.Tq + BR - 1u) / BR);
  if (!item.exists) { return; }  // the whole workgroup
  let tx = lane % TX;
  let ty = lane / TX;
  let kv_head = item.h / params.group;
  let q_at = params.q_offset + item.b * params.q_batch + item.h * params.q_head;
  let k_at = params.k_offset + item.b * params.k_batch + kv_head * params.k_head;
  let v_at = params.v_offset + item.b * params.v_batch + kv_head * params.v_head;
  let i0 = item.tile * BR;
  // @trace trace_head(item.b, item.h);
  let first_end = key_end(i0);  // every row of the tile sees at least the keys below this one
  let last_end = key_end(min(i0 + BR, params.Tq) - 1u);  // and none sees this one or a later one

  var m_i = RowValues();
  var l_i = RowValues();  // of this invocation's own keys; summed over tx at the end
  var O_i = Sums();
  for (var r = 0u; r < ROWS; r++) { // @unroll
    m_i[r] = SCORE_FLOOR;  // [A1:5]
  }

  for (var j0 = 0u; j0 < last_end; j0 += BC) {  // the same bounds for the whole workgroup
    var S = Scores();  // [A1:8]
    add_products(&S, Q_ROWS, q_at, i0, K_ROWS, k_at, j0, lane);
    if (j0 + BC > first_end) {  // only tiles on the mask's edge
      for (var r = 0u; r < ROWS; r++) { // @unroll
        let end = key_end(i0 + ty + TY * r);
        for (var n = 0u; n < KEYS; n++) { // @unroll
          S[r * KEYS + n] = select(SCORE_FLOOR, S[r * KEYS + n], j0 + tx + TX * n < end);
        }
      }
    }

    var m_new: RowValues = m_i;
    // @trace for (var n = 0u; n < ROWS * KEYS; n++) {
    // @trace   trace_value(TRACE_S, j0 / BC, i0 + ty + TY * (n / KEYS), j0 + tx + TX * (n % KEYS), S[n] * LN_2);
    // @trace }
    // @trace var alphas: array<f32, ROWS>;
    for (var r = 0u; r < ROWS; r++) { // @unroll
      for (var n = 0u; n < KEYS; n++) { // @unroll
        m_new[r] = max(m_new[r], S[r * KEYS + n]);
      }
    }
    max_over_rows(&m_new, tx, ty);
    for (var r = 0u; r < ROWS; r++) { // @unroll
      let alpha = exp2(max(m_i[r] - m_new[r], EXPONENT_FLOOR));  // rescales the sums so far
      m_i[r] = m_new[r];  // [A1:9]
      // @trace alphas[r] = alpha;
      // Half the floor: where a row has seen no key yet, its masked scores must not get the weight 1.
      let shift = max(m_new[r], 0.5 * SCORE_FLOOR);
      for (var n = 0u; n < KEYS; n++) { // @unroll
        S[r * KEYS + n] = exp2(max(S[r * KEYS + n] - shift, EXPONENT_FLOOR));
      }
      var sum = 0.0;
      for (var n = 0u; n < KEYS / 2u; n++) { // @unroll
        sum += S[r * KEYS + 2u * n] + S[r * KEYS + 2u * n + 1u];
      }
      l_i[r] = fma(l_i[r], alpha, sum);
      for (var o = 0u; o < O_TILES; o++) { // @unroll
        O_i[r * O_TILES + o] *= alpha;  // [A1:10], with the sums of the next line
      }
    }
    accumulate(&O_i, &S, V_ROWS, v_at, j0, lane);
    // @trace for (var n = 0u; n < ROWS * KEYS; n++) {
    // @trace   trace_value(TRACE_P, j0 / BC, i0 + ty + TY * (n / KEYS), j0 + tx + TX * (n % KEYS), S[n]);
    // @trace }
    // @trace for (var r = 0u; r < ROWS; r++) {
    // @trace   let row = i0 + ty + TY * r;
    // @trace   if (tx == 0u) { trace_value(TRACE_M, j0 / BC, row, 0u, m_i[r] * LN_2); }
    // @trace   if (tx == 0u) { trace_value(TRACE_ALPHA, j0 / BC, row, 0u, alphas[r]); }
    // @trace   trace_value(TRACE_L, j0 / BC, row, tx, l_i[r]);
    // @trace   for (var n = 0u; n < 4u * O_TILES; n++) {
    // @trace     let d = 4u * (tx + TX * (n / 4u)) + n % 4u;
    // @trace     trace_value(TRACE_O, j0 / BC, row, d, O_i[r * O_TILES + n / 4u][n % 4u]);
    // @trace   }
    // @trace }
  }

  let o_at = params.o_offset + item.b * params.o_batch + item.h * params.o_head;
  sum_over_rows(&l_i, tx, ty);
  for (var r = 0u; r < ROWS; r++) { // @unroll
    let i = i0 + ty + TY * r;
    if (i < params.Tq) {
      // The largest score contributes exp2(0) = 1, so l = 0 means a row without keys; there O is 0 / 1.
      let row_sees = l_i[r] > 0.0;
      let l = select(1.0, l_i[r], row_sees);
      for (var o = 0u; o < O_TILES; o++) { // @unroll
        let d = 4u * (tx + TX * o);
        if (d < HEAD_DIM) {
          store_o(o_at + i * params.o_row + d, O_i[r * O_TILES + o] / l);  // [A1:12]
        }
      }
      if (tx == 0u) {
        let L = select(LSE_EMPTY, (m_i[r] + log2(l)) * LN_2, row_sees);  // [A1:13]
        LSE[(item.b * params.H + item.h) * params.Tq + i] = L;
      }
    }
  }
}
