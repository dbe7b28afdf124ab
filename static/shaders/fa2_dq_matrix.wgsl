// fa2_dq_matrix.wgsl: dQ of one tile of BR query rows per workgroup, f16 on the matrix unit.
//
//   P  = exp(scale * Q K^T - LSE)      recomputed a tile at a time, never stored
//   dS = P o (dO V^T - delta)
//   dQ = scale * dS K                  (B, Tq, H, HEAD_DIM) f16, by strides
//
// Grid       B * H * ceil(Tq / BR) workgroups of SUBGROUPS * 32 invocations, folded; common/grid.wgsl.
//            Owned rows are query rows, walked rows are keys; see common/matrix_backward.wgsl.
// Constants  HEAD_DIM, SUBGROUPS, BC, BR, those of common/matrix_backward.wgsl: u32; CAUSAL: bool
// Workgroup  K_tile, V_tile and the arrays of common/matrix_backward.wgsl
// Private    Q, dO and dQ as HEAD_DIM / 16 matrices each, BC scores
// Requires   what common/matrix.wgsl does.
//
// Masking    row i sees the keys j < key_end(i), common/masking.wgsl; key tiles that no row of the
//            tile sees are never visited. A row without keys gets dQ = 0.
// Error      products of f16 summed in f32; dS is rounded to f16: common/matrix_backward.wgsl.
// Source     Dao 2023, arXiv:2307.08691, Algorithm 2; [A2:n] is its line n. The paper leaves
//            `scale` out, and adds to dQ in the loop that makes dK and dV, which needs atomics;
//            here S and dP are computed a second time instead.
//
// @use common/params.wgsl
// @use common/grid.wgsl
// @use common/masking.wgsl
// @use common/matrix.wgsl
// @use common/matrix_backward.wgsl

diagnostic(off, chromium.subgroup_matrix_uniformity);

// Two slots of K: the next tile is written while this one is still in use.
var<workgroup> K_tile: array<vec4<u32>, 2u * SLOT>;
var<workgroup> V_tile: array<vec4<u32>, SLOT>;

@compute @workgroup_size(THREADS)
fn fa2_dq_matrix(@builtin(workgroup_id) workgroup: vec3<u32>,
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
  let i_read = min(i, params.Tq - 1u);
  let end = key_end(i);
  let first_end = key_end(i0);  // every row of the tile sees at least the keys below this one
  let last_end = key_end(min(i0 + BR, params.Tq) - 1u);  // and none sees this one or a later one
  let last = params.Tk - 1u;  // what would lie past the end is this key again: seen by no row there
  let S_at = subgroup * (16u * S_PITCH);
  let P_at = subgroup * (16u * P_PITCH);
  let S_lane = S_at + row * S_PITCH + side * (2u * WALKED_TILES);
  let P_lane = P_at + row * P_PITCH + side * WALKED_TILES;
  let O_lane = S_at + row * S_PITCH + side * 2u;
  let scale_log2 = params.scale * LOG2_E;
  let row_at = (item.b * params.H + item.h) * params.Tq + i_read;
  let L_D = row_values(i, vec2<f32>(LSE_given[row_at], delta_given[row_at]));

  var Q_i: array<Right, D_TILES>;   // Q^T
  var dO_i: array<Right, D_TILES>;  // dO^T
  let q_at = (params.q_offset + item.b * params.q_batch + item.h * params.q_head
      + i_read * params.q_row) / 8u + side;
  let do_at = (params.do_offset + item.b * params.do_batch + item.h * params.do_head
      + i_read * params.do_row) / 8u + side;
  for (var t = 0u; t < D_TILES; t++) { // @unroll
    dS_tile[P_at + row * P_PITCH + side] = Q[q_at + 2u * t];
    workgroupBarrier();  // 16 columns of Q are there
    Q_i[t] = subgroupMatrixLoad<Right, col_major>(&dS_tile, P_at, P_PITCH);
    workgroupBarrier();  // and have been read
    dS_tile[P_at + row * P_PITCH + side] = dO[do_at + 2u * t];
    workgroupBarrier();  // the same for dO
    dO_i[t] = subgroupMatrixLoad<Right, col_major>(&dS_tile, P_at, P_PITCH);
    workgroupBarrier();
  }
  var dQ_i: array<Sum, D_TILES>;

  var K_next: array<vec4<u32>, LOADS>;  // the next tiles wait in registers while this one is used
  var V_next: array<vec4<u32>, LOADS>;
  for (var n = 0u; n < LOADS; n++) { // @unroll
    let unit = index + n * THREADS;
    let key = unit / ROW_UNITS;
    let column = unit % ROW_UNITS;
    if (unit < TILE_UNITS) {
      K_tile[key * ROW_PITCH + column] = K[k_at + min(key, last) * k_row + column];
      V_tile[key * ROW_PITCH + column] = V[v_at + min(key, last) * v_row + column];
      K_next[n] = K[k_at + min(key + BC, last) * k_row + column];
      V_next[n] = V[v_at + min(key + BC, last) * v_row + column];
    }
  }
  workgroupBarrier();  // the first tiles are there

  var K_slot = 0u;
  for (var j0 = 0u; j0 < last_end; j0 += BC) {  // the same bounds for the whole workgroup
    for (var c = 0u; c < WALKED_TILES; c++) { // @unroll
      // S^T and dP^T, stored by columns: [query row][key], and without bank conflicts.
      var S = Sum();
      var dP = Sum();
      for (var t = 0u; t < D_TILES; t++) { // @unroll
        let at = 16u * c * ROW_PITCH + 2u * t;
        let K_j = subgroupMatrixLoad<Left, row_major>(&K_tile, K_slot + at, ROW_PITCH);
        let V_j = subgroupMatrixLoad<Left, row_major>(&V_tile, at, ROW_PITCH);
        S = subgroupMatrixMultiplyAccumulate(K_j, Q_i[t], S);     // [A2:10]
        dP = subgroupMatrixMultiplyAccumulate(V_j, dO_i[t], dP);  // [A2:13]
      }
      subgroupMatrixStore<col_major>(&S_tile, S_at + 4u * c, S, S_PITCH);
      subgroupMatrixStore<col_major>(&dP_tile, S_at + 4u * c, dP, S_PITCH);
    }
    workgroupBarrier();  // S and dP are there; V and the other slot of K have been read

    for (var n = 0u; n < LOADS; n++) { // @unroll
      let unit = index + n * THREADS;
      let key = unit / ROW_UNITS;
      let column = unit % ROW_UNITS;
      if (unit < TILE_UNITS) {
        K_tile[SLOT - K_slot + key * ROW_PITCH + column] = K_next[n];
        V_tile[key * ROW_PITCH + column] = V_next[n];
        K_next[n] = K[k_at + min(j0 + 2u * BC + key, last) * k_row + column];
        V_next[n] = V[v_at + min(j0 + 2u * BC + key, last) * v_row + column];
      }
    }

    var P: array<vec4<f32>, 2u * WALKED_TILES>;
    for (var n = 0u; n < 2u * WALKED_TILES; n++) { // @unroll
      P[n] = exp2(S_tile[S_lane + n] * scale_log2 - L_D.x);  // [A2:11]
    }
    if (j0 + BC > first_end) {  // only tiles on the mask's edge
      for (var n = 0u; n < 2u * WALKED_TILES; n++) { // @unroll
        let j = vec4<u32>(j0 + side * (BC / 2u) + 4u * n) + vec4<u32>(0u, 1u, 2u, 3u);
        P[n] = select(vec4<f32>(), P[n], j < vec4<u32>(end));
      }
    }
    for (var n = 0u; n < WALKED_TILES; n++) { // @unroll
      let low = P[2u * n] * (dP_tile[S_lane + 2u * n] - L_D.y);  // [A2:14]
      let high = P[2u * n + 1u] * (dP_tile[S_lane + 2u * n + 1u] - L_D.y);
      dS_tile[P_lane + n] = pack(low, high);
    }
    workgroupBarrier();  // dS and the next tiles are there

    for (var c = 0u; c < WALKED_TILES; c++) { // @unroll
      let dS = subgroupMatrixLoad<Left, row_major>(&dS_tile, P_at + 2u * c, P_PITCH);
      for (var t = 0u; t < D_TILES; t++) { // @unroll
        let at = K_slot + 16u * c * ROW_PITCH + 2u * t;
        let K_j = subgroupMatrixLoad<Right, row_major>(&K_tile, at, ROW_PITCH);
        dQ_i[t] = subgroupMatrixMultiplyAccumulate(dS, K_j, dQ_i[t]);  // [A2:15]
      }
    }
    K_slot = SLOT - K_slot;
  }

  let dq_at = (params.dq_offset + item.b * params.dq_batch + item.h * params.dq_head
      + i * params.dq_row) / 8u + side;
  for (var t = 0u; t < D_TILES; t++) { // @unroll
    subgroupMatrixStore<row_major>(&S_tile, S_at, dQ_i[t], S_PITCH);
    workgroupBarrier();  // 16 columns of dQ are there
    let unit = pack(S_tile[O_lane] * params.scale, S_tile[O_lane + 1u] * params.scale);
    if (i < params.Tq) { dQ[dq_at + 2u * t] = unit; }
    workgroupBarrier();  // and have been read
  }
}
