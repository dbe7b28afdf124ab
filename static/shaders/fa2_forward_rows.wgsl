// fa2_forward_rows.wgsl: FlashAttention-2 forward for SwiftShader, Chromium's adapter on a CPU.
//
//   O   = softmax(scale * Q K^T) V             (B, Tq, H, HEAD_DIM), by strides
//   LSE = log sum_j exp(scale * q_i . k_j)     (B, H, Tq)  natural log, scale included
//
// Grid       B * H * ceil(Tq / BR) workgroups of LANES invocations, folded; see common/grid.wgsl.
//            Owned rows are query rows, walked rows are keys; see common/rows.wgsl.
// Constants  HEAD_DIM, LANES, ROWS, WALKS, BR = 4 LANES ROWS, BC = 4 WALKS: u32; CAUSAL: bool
// Workgroup  nothing, so neither barriers nor zeroes to fill in
// Requires   HEAD_DIM, strides and offsets divisible by 4.
//
// Masking    row i sees the keys j < key_end(i), common/masking.wgsl; key tiles that no row of the
//            workgroup sees are never visited. A row without keys gets O = 0, LSE = LSE_EMPTY.
// Error      f32 throughout; each row is rescaled once a key tile.
// Source     Dao 2023, arXiv:2307.08691, Algorithm 1; [A1:n] is its line n. The paper leaves
//            `scale` out; here S means scale * Q K^T.
//
// @use storage
// @use common/params.wgsl
// @use common/grid.wgsl
// @use common/masking.wgsl
// @use common/outer.wgsl
// @use common/rows.wgsl

@group(0) @binding(5) var<storage, read_write> LSE: array<f32>;

const_assert BR == 4u * LANES * ROWS && BC == 4u * WALKS;

fn load_own(values: bool, at: u32) -> vec4<f32> { return load_q(at); }

fn load_walked(values: bool, at: u32) -> vec4<f32> {
  if (values) { return load_v(at); }
  return load_k(at);
}

fn mask(s: vec4<f32>, j: u32, ends: vec4<u32>) -> vec4<f32> {
  return select(vec4<f32>(SCORE_FLOOR), s, vec4<u32>(j) < ends);
}

// exp(s - m), and 0 for a masked score, which never reaches exp: in a row that sees no key of the
// tile it would equal the maximum and get the weight 1.
fn weigh(s: vec4<f32>, m: vec4<f32>) -> vec4<f32> {
  let seen = s > vec4<f32>(SCORE_FLOOR);
  return select(vec4<f32>(), exp(select(vec4<f32>(), s - m, seen)), seen);
}

@compute @workgroup_size(LANES)
fn fa2_forward_rows(@builtin(workgroup_id) workgroup: vec3<u32>,
                    @builtin(local_invocation_index) lane: u32) {
  let item = item_of(workgroup, (params.Tq + BR - 1u) / BR);
  if (!item.exists) { return; }
  let kv_head = item.h / params.group;
  let q_at = params.q_offset + item.b * params.q_batch + item.h * params.q_head;
  let k_at = params.k_offset + item.b * params.k_batch + kv_head * params.k_head;
  let v_at = params.v_offset + item.b * params.v_batch + kv_head * params.v_head;
  let i0 = item.tile * BR;
  let i = i0 + 4u * ROWS * lane;
  // @trace trace_head(item.b, item.h);
  let first_end = key_end(i0);  // every row of the workgroup sees at least the keys below this one
  let last_end = key_end(min(i0 + BR, params.Tq) - 1u);  // and none sees this one or a later one
  var q_rows: OwnedRows;
  var ends: OwnedRows;
  var m_i: array<vec4<f32>, ROWS>;
  for (var r = 0u; r < ROWS; r++) { // @unroll
    q_rows[r] = rows_from(q_at, i + 4u * r, params.Tq, params.q_row);
    ends[r] = key_end4(i + 4u * r);
    m_i[r] = vec4<f32>(SCORE_FLOOR);  // [A1:5]
  }
  var l_i: array<vec4<f32>, ROWS>;
  var O_i: Sums;
  var S: Tile;

  for (var j0 = 0u; j0 < last_end; j0 += BC) {
    var k_rows: WalkedRows;
    var v_rows: WalkedRows;
    for (var n = 0u; n < WALKS; n++) { // @unroll
      k_rows[n] = walk_from(lane, k_at, j0 + 4u * n, params.Tk, params.k_row);
      v_rows[n] = walk_from(lane, v_at, j0 + 4u * n, params.Tk, params.v_row);
    }
    multiply(&S, false, q_rows, k_rows);  // [A1:8]
    var alpha: array<vec4<f32>, ROWS>;
    for (var r = 0u; r < ROWS; r++) { // @unroll
      var m_new = m_i[r];
      for (var n = 0u; n < WALKS; n++) { // @unroll
        var s = S[r][n] * params.scale;
        if (j0 + BC > first_end) {  // only tiles on the mask's edge
          let j = j0 + 4u * n;
          s = mat4x4<f32>(mask(s[0], j, ends[r]), mask(s[1], j + 1u, ends[r]),
                          mask(s[2], j + 2u, ends[r]), mask(s[3], j + 3u, ends[r]));
        }
        S[r][n] = s;
        // @trace trace_tile(TRACE_S, j0 / BC, i + 4u * r, j0 + 4u * n, 1u, s);
        m_new = max(m_new, max(max(s[0], s[1]), max(s[2], s[3])));
      }
      alpha[r] = exp(m_i[r] - m_new);  // rescales what was summed against the old maximum
      m_i[r] = m_new;                  // [A1:9]
      // @trace trace_rows(TRACE_M, j0 / BC, i + 4u * r, 0u, m_new);
      // @trace trace_rows(TRACE_ALPHA, j0 / BC, i + 4u * r, 0u, alpha[r]);
      l_i[r] *= alpha[r];
      for (var n = 0u; n < WALKS; n++) { // @unroll
        let s = S[r][n];
        let P = mat4x4<f32>(weigh(s[0], m_new), weigh(s[1], m_new),
                            weigh(s[2], m_new), weigh(s[3], m_new));
        l_i[r] += P[0] + P[1] + P[2] + P[3];
        S[r][n] = P;
        // @trace trace_tile(TRACE_P, j0 / BC, i + 4u * r, j0 + 4u * n, 1u, P);
      }
      // @trace trace_rows(TRACE_L, j0 / BC, i + 4u * r, 0u, l_i[r]);
    }
    accumulate(&O_i, alpha, &S, true, v_rows);  // [A1:10]
    // @trace for (var c = 0u; c < CHUNKS; c++) {
    // @trace   for (var r = 0u; r < ROWS; r++) {
    // @trace     trace_tile(TRACE_O, j0 / BC, i + 4u * r, 4u * c, 1u, O_i[c][r]);
    // @trace   }
    // @trace }
  }

  let o_at = params.o_offset + item.b * params.o_batch + item.h * params.o_head;
  let lse_at = (item.b * params.H + item.h) * params.Tq;
  for (var r = 0u; r < ROWS; r++) { // @unroll
    // The largest score contributes exp(0) = 1, so l = 0 means a row without keys; there O is 0 / 1.
    let row_sees = l_i[r] > vec4<f32>();
    let l = select(vec4<f32>(1.0), l_i[r], row_sees);
    let L = select(vec4<f32>(LSE_EMPTY), m_i[r] + log(l), row_sees);  // [A1:13]
    let weight = 1.0 / l;
    for (var e = 0u; e < 4u; e++) { // @unroll
      let row = i + 4u * r + e;
      if (row < params.Tq) { LSE[lse_at + row] = L[e]; }
    }
    for (var c = 0u; c < CHUNKS; c++) {
      let o = transpose(scale_rows(O_i[c][r], weight));  // [A1:12]
      for (var e = 0u; e < 4u; e++) { // @unroll
        let row = i + 4u * r + e;
        if (row < params.Tq) { store_o(o_at + row * params.o_row + 4u * c, o[e]); }
      }
    }
  }
}
