// fa2_forward_matrix.wgsl: FlashAttention-2 forward in f16 on the matrix unit, f32 sums.
//
//   O   = softmax(scale * Q K^T) V             (B, Tq, H, HEAD_DIM) f16, by strides
//   LSE = log sum_j exp(scale * q_i . k_j)     (B, H, Tq) f32, natural log, scale included
//
// Grid       B * H * ceil(Tq / BR) workgroups of SUBGROUPS * 32 invocations, folded; common/grid.wgsl.
//            A subgroup owns 16 query rows; lanes r and r + 16 share row r and halve its keys.
// Constants  HEAD_DIM, SUBGROUPS, BR = 16 SUBGROUPS, BC, D_TILES = HEAD_DIM / 16,
//            KEY_TILES = BC / 16, LOADS: u32; CAUSAL: bool
// Workgroup  K_tile, V_tile: 16 BC ROW_PITCH bytes each; S_tile: 16 BR S_PITCH;
//            P_tile: 16 BR P_PITCH; outgrown: 4
// Private    Q and O as HEAD_DIM / 16 matrices each, BC / 2 scores
// Requires   what common/matrix.wgsl does.
//
// Masking    row i sees the keys j < key_end(i), common/masking.wgsl; key tiles that no row of the
//            tile sees are never visited. A row without keys gets O = 0, LSE = LSE_EMPTY.
// Error      products of f16 summed in f32; P and O are rounded to f16. P is taken against a
//            reference m_i that may lag behind the row's maximum: P < 2^GROWTH has room in f16.
// Source     Dao 2023, arXiv:2307.08691, Algorithm 1; [A1:n] is its line n. The rescaling of line 10
//            goes through workgroup memory, so it waits until a row has outgrown its reference.
//
// @use common/params.wgsl
// @use common/grid.wgsl
// @use common/masking.wgsl
// @use common/matrix.wgsl

diagnostic(off, chromium.subgroup_matrix_uniformity);

@group(0) @binding(5) var<storage, read_write> LSE: array<f32>;

const S_PITCH = BC / 4u + 1u;  // in vec4<f32>; 4 mod 16 floats is what makes the store fast
const P_PITCH = BC / 8u + 1u;  // in units
const TILE_UNITS = BC * ROW_UNITS;
const GROWTH = 15.0;
const NO_MAXIMUM = -1.0e30;    // far above SCORE_FLOOR: the weight of a masked score is 0 against it

var<workgroup> K_tile: array<vec4<u32>, BC * ROW_PITCH>;
var<workgroup> V_tile: array<vec4<u32>, BC * ROW_PITCH>;
var<workgroup> S_tile: array<vec4<f32>, BR * S_PITCH>;  // [row][key]; also what rescales and stores O
var<workgroup> P_tile: array<vec4<u32>, BR * P_PITCH>;  // [row][key]; at the start parts of Q
var<workgroup> outgrown: array<atomic<u32>, 1>;         // some row needs a new reference

const_assert BR == 16u * SUBGROUPS && BC == 16u * KEY_TILES && LOADS * THREADS >= TILE_UNITS;

@compute @workgroup_size(THREADS)
fn fa2_forward_matrix(@builtin(workgroup_id) workgroup: vec3<u32>,
                      @builtin(local_invocation_index) index: u32) {
  let item = item_of(workgroup, (params.Tq + BR - 1u) / BR);
  if (!item.exists) { return; }  // the whole workgroup alike: barriers follow
  let kv_head = item.h / params.group;
  let k_at = (params.k_offset + item.b * params.k_batch + kv_head * params.k_head) / 8u;
  let v_at = (params.v_offset + item.b * params.v_batch + kv_head * params.v_head) / 8u;
  let k_row = params.k_row / 8u;
  let v_row = params.v_row / 8u;
  let subgroup = index >> 5u;
  let row = index & 15u;
  let side = (index >> 4u) & 1u;
  let i0 = item.tile * BR;
  let i = i0 + 16u * subgroup + row;
  let end = key_end(i);
  let first_end = key_end(i0);  // every row of the tile sees at least the keys below this one
  let last_end = key_end(min(i0 + BR, params.Tq) - 1u);  // and none sees this one or a later one
  let last = params.Tk - 1u;  // what would lie past the end is this key again: seen by no row there
  let S_at = subgroup * (16u * S_PITCH);
  let P_at = subgroup * (16u * P_PITCH);
  let S_lane = S_at + row * S_PITCH + side * (2u * KEY_TILES);
  let P_lane = P_at + row * P_PITCH + side * KEY_TILES;
  let O_lane = S_at + row * S_PITCH + side * 2u;
  let scale_log2 = params.scale * LOG2_E;  // exp(scale s) = exp2(scale_log2 s)

  var Q_i: array<Right, D_TILES>;  // Q^T
  let q_at = (params.q_offset + item.b * params.q_batch + item.h * params.q_head
      + min(i, params.Tq - 1u) * params.q_row) / 8u + side;
  for (var t = 0u; t < D_TILES; t++) { // @unroll
    P_tile[P_at + row * P_PITCH + side] = Q[q_at + 2u * t];
    workgroupBarrier();  // 16 columns of Q are there
    Q_i[t] = subgroupMatrixLoad<Right, col_major>(&P_tile, P_at, P_PITCH);
    workgroupBarrier();  // and have been read
  }
  var O_i: array<Sum, D_TILES>;
  var m_i = NO_MAXIMUM;  // the reference, times log2(e)
  var l_i = 0.0;         // of this lane's own keys; the two halves are summed at the end

  var K_next: array<vec4<u32>, LOADS>;  // the next tiles wait in registers while this one is used
  var V_next: array<vec4<u32>, LOADS>;
  for (var n = 0u; n < LOADS; n++) { // @unroll
    let unit = index + n * THREADS;
    let key = unit / ROW_UNITS;
    let column = unit % ROW_UNITS;
    if (unit < TILE_UNITS) {
      K_tile[key * ROW_PITCH + column] = K[k_at + min(key, last) * k_row + column];
      V_next[n] = V[v_at + min(key, last) * v_row + column];
      K_next[n] = K[k_at + min(key + BC, last) * k_row + column];
    }
  }
  workgroupBarrier();  // the first tile of K is there
  for (var j0 = 0u; j0 < last_end; j0 += BC) {  // the same bounds for the whole workgroup
    for (var c = 0u; c < KEY_TILES; c++) { // @unroll
      // S^T = K Q^T, stored by columns: the rows of S, and without bank conflicts.  [A1:8]
      var S_T = Sum();
      for (var t = 0u; t < D_TILES; t++) { // @unroll
        let at = 16u * c * ROW_PITCH + 2u * t;
        let K_j = subgroupMatrixLoad<Left, row_major>(&K_tile, at, ROW_PITCH);
        S_T = subgroupMatrixMultiplyAccumulate(K_j, Q_i[t], S_T);
      }
      subgroupMatrixStore<col_major>(&S_tile, S_at + 4u * c, S_T, S_PITCH);
    }
    workgroupBarrier();  // S is there; K and the previous V have been read
    for (var n = 0u; n < LOADS; n++) { // @unroll
      let unit = index + n * THREADS;
      let key = unit / ROW_UNITS;
      let column = unit % ROW_UNITS;
      if (unit < TILE_UNITS) {
        V_tile[key * ROW_PITCH + column] = V_next[n];
        K_tile[key * ROW_PITCH + column] = K_next[n];
        V_next[n] = V[v_at + min(j0 + BC + key, last) * v_row + column];
        K_next[n] = K[k_at + min(j0 + 2u * BC + key, last) * k_row + column];
      }
    }

    var S: array<vec4<f32>, 2u * KEY_TILES>;
    for (var n = 0u; n < 2u * KEY_TILES; n++) { // @unroll
      S[n] = S_tile[S_lane + n] * scale_log2;
    }
    if (j0 + BC > first_end) {  // only tiles on the mask's edge
      for (var n = 0u; n < 2u * KEY_TILES; n++) { // @unroll
        let j = vec4<u32>(j0 + side * (BC / 2u) + 4u * n) + vec4<u32>(0u, 1u, 2u, 3u);
        S[n] = select(vec4<f32>(SCORE_FLOOR), S[n], j < vec4<u32>(end));
      }
    }
    var top = S[0];
    for (var n = 0u; n < 2u * KEY_TILES; n++) { // @unroll
      top = max(top, S[n]);
    }
    let largest = max(max(top.x, top.y), max(top.z, top.w));
    if (largest > m_i + GROWTH) { atomicStore(&outgrown[0], 1u); }
    var sum = vec4<f32>();
    for (var n = 0u; n < KEY_TILES; n++) { // @unroll
      let low = exp2(S[2u * n] - m_i);
      let high = exp2(S[2u * n + 1u] - m_i);
      sum += low + high;
      P_tile[P_lane + n] = pack(low, high);
    }

    // Its barriers also end the writing of P, V and the next K.
    if (workgroupUniformLoad(&outgrown[0]) != 0u) {  // the first tile, and rarely a later one
      let m_row = max(largest, subgroupShuffleXor(largest, 16u));
      let m_new = max(m_i, m_row);  // [A1:9]
      let alpha = exp2(m_i - m_new);
      m_i = m_new;
      l_i *= alpha;
      if (j0 > 0u) {  // [A1:10], what was summed before
        for (var t = 0u; t < D_TILES; t++) { // @unroll
          subgroupMatrixStore<row_major>(&S_tile, S_at, O_i[t], S_PITCH);
          workgroupBarrier();  // 16 columns of O are there
          S_tile[O_lane] *= alpha;
          S_tile[O_lane + 1u] *= alpha;
          workgroupBarrier();  // and are scaled
          O_i[t] = subgroupMatrixLoad<Sum, row_major>(&S_tile, S_at, S_PITCH);
          workgroupBarrier();  // and have been read
        }
      }
      sum = vec4<f32>();
      for (var n = 0u; n < KEY_TILES; n++) { // @unroll
        let low = exp2(S[2u * n] - m_i);
        let high = exp2(S[2u * n + 1u] - m_i);
        sum += low + high;
        P_tile[P_lane + n] = pack(low, high);
      }
      if (index == 0u) { atomicStore(&outgrown[0], 0u); }
      workgroupBarrier();  // P is there again
    }
    l_i += sum.x + sum.y + sum.z + sum.w;
    for (var c = 0u; c < KEY_TILES; c++) { // @unroll
      let P = subgroupMatrixLoad<Left, row_major>(&P_tile, P_at + 2u * c, P_PITCH);  // [A1:10]
      for (var t = 0u; t < D_TILES; t++) { // @unroll
        let at = 16u * c * ROW_PITCH + 2u * t;
        let V_j = subgroupMatrixLoad<Right, row_major>(&V_tile, at, ROW_PITCH);
        O_i[t] = subgroupMatrixMultiplyAccumulate(P, V_j, O_i[t]);
      }
    }
  }

  let l = l_i + subgroupShuffleXor(l_i, 16u);
  let weight = select(0.0, 1.0 / l, l > 0.0);  // l = 0 only in a row without keys
  let o_at = (params.o_offset + item.b * params.o_batch + item.h * params.o_head
      + i * params.o_row) / 8u + side;
  for (var t = 0u; t < D_TILES; t++) { // @unroll
    subgroupMatrixStore<row_major>(&S_tile, S_at, O_i[t], S_PITCH);
    workgroupBarrier();  // 16 columns of O are there
    let unit = pack(S_tile[O_lane] * weight, S_tile[O_lane + 1u] * weight);  // [A1:12]
    if (i < params.Tq) { O[o_at + 2u * t] = unit; }
    workgroupBarrier();  // and have been read
  }
  if (side == 0u && i < params.Tq) {
    let L = select(LSE_EMPTY, (m_i + log2(l)) * LN_2, l > 0.0);  // [A1:13]
    LSE[(item.b * params.H + item.h) * params.Tq + i] = L;
  }
}
