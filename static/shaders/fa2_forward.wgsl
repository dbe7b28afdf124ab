// fa2_forward.wgsl: FlashAttention-2 forward, one tile of BR query rows per workgroup.
//
//   O   = softmax(scale * Q K^T) V             (B, Tq, H, HEAD_DIM), by strides
//   LSE = log sum_j exp(scale * q_i . k_j)     (B, H, Tq)  natural log, scale included
//
// Grid       B * H * ceil(Tq / BR) workgroups of TX * TY invocations, folded; see common/grid.wgsl.
//            Invocation (tx, ty) owns query rows 4 ty .. 4 ty + 3 of the tile,
//            the keys tx + TX n (n < 4) of a key tile, and the channels tx + TX n (n < 4 O_TILES) of O.
// Constants  HEAD_DIM, TX, TY, BR = 4 TY, BC = 4 TX, D_CHUNK, V_CHUNK, O_TILES: u32; CAUSAL: bool
// Workgroup  16 TY A_PITCH + 4 X_SIZE + 16 TX TY bytes: A, X and row_part below
// Private    16 scores and 16 O_TILES output elements per invocation, in registers
// Requires   nothing beyond core WebGPU and its default limits.
//
// Masking    row i sees the keys j < key_end(i), common/masking.wgsl; key tiles that no row of the
//            tile sees are never visited. A row without keys gets O = 0, LSE = LSE_EMPTY.
// Error      f32 throughout; each row is rescaled once a key tile.
// Source     Dao 2023, arXiv:2307.08691, Algorithm 1; [A1:n] is its line n. The paper leaves
//            `scale` out; here S means scale * Q K^T.
//
// @use storage
// @use common/params.wgsl
// @use common/grid.wgsl
// @use common/masking.wgsl
// @use common/outer.wgsl

@group(0) @binding(5) var<storage, read_write> LSE: array<f32>;

// One column more than needed keeps the rows of a tile in different memory banks.
const A_PITCH = max(D_CHUNK, BC) + 1u;
const K_PITCH = BC + 1u;
const V_PITCH = 4u * TX * O_TILES;
const X_SIZE = max(D_CHUNK * K_PITCH, V_CHUNK * V_PITCH);

// Both buffers serve twice a key tile, which is what keeps them under 16 KB.
var<workgroup> A: array<vec4<f32>, TY * A_PITCH>;  // [ty][d] of Q, then [ty][key] of P; four rows each
var<workgroup> X: array<f32, X_SIZE>;              // [d][key] of K, then [key][channel] of V
var<workgroup> row_part: array<vec4<f32>, TY * TX>;  // [ty][tx] maxima, at the end sums

const_assert BR == 4u * TY && BC == 4u * TX && HEAD_DIM <= V_PITCH && O_TILES <= 4u;
const_assert BC % V_CHUNK == 0u;

fn load_q(at: u32, i: u32, d: u32) -> f32 {
  // A read past a row's end would meet the next head: plausible numbers, so it must be a zero.
  return select(0.0, q_element(at + i * params.q_row + d), i < params.Tq && d < HEAD_DIM);
}

// Four floats of X, TX apart: neighbouring invocations read neighbouring addresses.
fn load_x(at: u32) -> vec4<f32> {
  return vec4<f32>(X[at], X[at + TX], X[at + 2u * TX], X[at + 3u * TX]);
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

fn store_column(column: vec4<f32>, d: u32, i: u32, at: u32) {
  for (var r = 0u; r < 4u; r++) {
    if (i + r < params.Tq && d < HEAD_DIM) { store_o(at + (i + r) * params.o_row + d, column[r]); }
  }
}

fn store_tile(tile: mat4x4<f32>, d: u32, i: u32, at: u32) {
  store_column(tile[0], d, i, at);
  store_column(tile[1], d + TX, i, at);
  store_column(tile[2], d + 2u * TX, i, at);
  store_column(tile[3], d + 3u * TX, i, at);
}

@compute @workgroup_size(TX * TY)
fn fa2_forward(@builtin(workgroup_id) workgroup: vec3<u32>,
               @builtin(local_invocation_index) lane: u32) {
  let item = item_of(workgroup, (params.Tq + BR - 1u) / BR);
  if (item.exists) { process(item, lane % TX, lane / TX); }  // uniform: barriers follow
}

fn process(item: Item, tx: u32, ty: u32) {
  let kv_head = item.h / params.group;
  let q_at = params.q_offset + item.b * params.q_batch + item.h * params.q_head;
  let k_at = params.k_offset + item.b * params.k_batch + kv_head * params.k_head;
  let v_at = params.v_offset + item.b * params.v_batch + kv_head * params.v_head;
  let i0 = item.tile * BR;
  let i = i0 + 4u * ty;
  // @trace trace_head(item.b, item.h);
  let ends = key_end4(i);
  let first_end = key_end(i0);  // every row of the tile sees at least the keys below this one
  let last_end = key_end(min(i0 + BR, params.Tq) - 1u);  // and none sees this one or a later one

  var m_i = vec4<f32>(SCORE_FLOOR);  // [A1:5]
  var l_i = vec4<f32>();             // of this invocation's own keys; summed over tx at the end
  var O_0 = mat4x4<f32>();
  var O_1 = mat4x4<f32>();
  var O_2 = mat4x4<f32>();
  var O_3 = mat4x4<f32>();

  for (var j0 = 0u; j0 < last_end; j0 += BC) {  // the same bounds for the whole workgroup
    var S = mat4x4<f32>();  // [A1:8]
    for (var d0 = 0u; d0 < HEAD_DIM; d0 += D_CHUNK) {
      workgroupBarrier();  // nobody reads the previous chunk, P or V any more
      for (var d = tx; d < D_CHUNK; d += TX) {
        let q_d = d0 + d;
        A[ty * A_PITCH + d] = vec4<f32>(load_q(q_at, i, q_d), load_q(q_at, i + 1u, q_d),
                                        load_q(q_at, i + 2u, q_d), load_q(q_at, i + 3u, q_d));
        for (var c = ty; c < BC; c += TY) {
          let exists = j0 + c < params.Tk && q_d < HEAD_DIM;
          X[d * K_PITCH + c] = select(0.0, k_element(k_at + (j0 + c) * params.k_row + q_d), exists);
        }
      }
      workgroupBarrier();  // the chunk of Q and K is complete
      for (var d = 0u; d < D_CHUNK; d++) {
        S += outer(A[ty * A_PITCH + d], load_x(d * K_PITCH + tx));
      }
    }
    S = S * params.scale;
    if (j0 + BC > first_end) {  // only tiles on the mask's edge
      let j = j0 + tx;
      S = mat4x4<f32>(mask(S[0], j, ends), mask(S[1], j + TX, ends),
                      mask(S[2], j + 2u * TX, ends), mask(S[3], j + 3u * TX, ends));
    }
    // @trace trace_tile(TRACE_S, j0 / BC, i, j0 + tx, TX, S);

    row_part[ty * TX + tx] = max(max(S[0], S[1]), max(S[2], S[3]));
    workgroupBarrier();  // all maxima are there, and Q and K have been read
    var m_new = m_i;
    for (var t = 0u; t < TX; t++) { m_new = max(m_new, row_part[ty * TX + t]); }
    let alpha = exp(m_i - m_new);  // rescales what was summed against the old maximum
    m_i = m_new;                   // [A1:9]
    let P = mat4x4<f32>(weigh(S[0], m_i), weigh(S[1], m_i), weigh(S[2], m_i), weigh(S[3], m_i));
    l_i = l_i * alpha + P[0] + P[1] + P[2] + P[3];
    // @trace if (tx == 0u) { trace_rows(TRACE_M, j0 / BC, i, 0u, m_i); }
    // @trace if (tx == 0u) { trace_rows(TRACE_ALPHA, j0 / BC, i, 0u, alpha); }
    // @trace trace_tile(TRACE_P, j0 / BC, i, j0 + tx, TX, P);
    // @trace trace_rows(TRACE_L, j0 / BC, i, tx, l_i);
    let p_at = ty * A_PITCH + tx;
    A[p_at] = P[0];
    A[p_at + TX] = P[1];
    A[p_at + 2u * TX] = P[2];
    A[p_at + 3u * TX] = P[3];

    O_0 = scale_rows(O_0, alpha);  // [A1:10], with the sums below
    if (O_TILES > 1u) { O_1 = scale_rows(O_1, alpha); }
    if (O_TILES > 2u) { O_2 = scale_rows(O_2, alpha); }
    if (O_TILES > 3u) { O_3 = scale_rows(O_3, alpha); }
    for (var c0 = 0u; c0 < BC; c0 += V_CHUNK) {
      if (c0 > 0u) { workgroupBarrier(); }  // the previous chunk of V has been read
      for (var c = c0 + ty; c < c0 + V_CHUNK; c += TY) {
        let at = (c - c0) * V_PITCH;
        for (var d = tx; d < HEAD_DIM; d += TX) {
          // Beyond Tk the weight is 0, but 0 times whatever lies there need not be 0.
          X[at + d] = select(0.0, v_element(v_at + (j0 + c) * params.v_row + d), j0 + c < params.Tk);
        }
      }
      workgroupBarrier();  // P and this chunk of V are complete
      for (var c = 0u; c < V_CHUNK; c++) {
        let p = A[ty * A_PITCH + c0 + c];
        let at = c * V_PITCH + tx;
        O_0 += outer(p, load_x(at));
        if (O_TILES > 1u) { O_1 += outer(p, load_x(at + 4u * TX)); }
        if (O_TILES > 2u) { O_2 += outer(p, load_x(at + 8u * TX)); }
        if (O_TILES > 3u) { O_3 += outer(p, load_x(at + 12u * TX)); }
      }
    }
    // @trace trace_tile(TRACE_O, j0 / BC, i, tx, TX, O_0);
    // @trace if (O_TILES > 1u) { trace_tile(TRACE_O, j0 / BC, i, tx + 4u * TX, TX, O_1); }
    // @trace if (O_TILES > 2u) { trace_tile(TRACE_O, j0 / BC, i, tx + 8u * TX, TX, O_2); }
    // @trace if (O_TILES > 3u) { trace_tile(TRACE_O, j0 / BC, i, tx + 12u * TX, TX, O_3); }
  }

  row_part[ty * TX + tx] = l_i;
  workgroupBarrier();  // all partial sums are there
  var l = vec4<f32>();
  for (var t = 0u; t < TX; t++) { l += row_part[ty * TX + t]; }
  // The largest score contributes exp(0) = 1, so l = 0 means a row without keys; there O is 0 / 1.
  let row_sees = l > vec4<f32>();
  l = select(vec4<f32>(1.0), l, row_sees);
  let weight = 1.0 / l;
  let o_at = params.o_offset + item.b * params.o_batch + item.h * params.o_head;
  store_tile(scale_rows(O_0, weight), tx, i, o_at);  // [A1:12]
  if (O_TILES > 1u) { store_tile(scale_rows(O_1, weight), tx + 4u * TX, i, o_at); }
  if (O_TILES > 2u) { store_tile(scale_rows(O_2, weight), tx + 8u * TX, i, o_at); }
  if (O_TILES > 3u) { store_tile(scale_rows(O_3, weight), tx + 12u * TX, i, o_at); }
  if (tx == 0u) {
    for (var r = 0u; r < 4u; r++) {
      if (i + r < params.Tq) {
        let L = select(LSE_EMPTY, m_i[r] + log(l[r]), row_sees[r]);  // [A1:13]
        LSE[(item.b * params.H + item.h) * params.Tq + i + r] = L;
      }
    }
  }
}
