// fa2_dkdv_matrix.wgsl: dK and dV of one tile of BC keys per workgroup, f16 on the matrix unit.
//
//   P  = exp(scale * Q K^T - LSE)      recomputed a tile at a time, never stored
//   dV = P^T dO                        (B, Tk, Hkv, HEAD_DIM) f16, by strides
//   dS = P o (dO V^T - delta)
//   dK = scale * dS^T Q                (B, Tk, Hkv, HEAD_DIM) f16, by strides
//
// The sums run over the query rows of every head that shares the key head, in a fixed order.
//
// Grid       B * Hkv * ceil(Tk / BC) workgroups of 32 SUBGROUPS invocations, folded; common/grid.wgsl.
//            Owned rows are keys, walked rows are query rows; see common/matrix_backward.wgsl.
// Constants  HEAD_DIM, SUBGROUPS, BC, BR, those of common/matrix_backward.wgsl: u32; CAUSAL: bool
// Workgroup  Q_tile, dO_tile, row_part, P_tile and the arrays of common/matrix_backward.wgsl
// Private    K, V, dK and dV as HEAD_DIM / 16 matrices each, 16 scores at a time
// Requires   what common/matrix.wgsl does.
//
// Masking    row i sees the keys j < key_end(i), common/masking.wgsl; query tiles that see none of
//            the keys are never visited. A key that no row sees gets dK = dV = 0.
// Error      products of f16 summed in f32; P and dS are rounded to f16: common/matrix_backward.wgsl.
// Source     Dao 2023, arXiv:2307.08691, Algorithm 2; [A2:n] is its line n; see fa2_dkdv.wgsl.
//
// @use common/params.wgsl
// @use common/grid.wgsl
// @use common/masking.wgsl
// @use common/matrix.wgsl
// @use common/matrix_backward.wgsl

diagnostic(off, chromium.subgroup_matrix_uniformity);

// Two slots each: the next tile is written while this one is still in use.
var<workgroup> Q_tile: array<vec4<u32>, 2u * SLOT>;
var<workgroup> dO_tile: array<vec4<u32>, 2u * SLOT>;
var<workgroup> row_part: array<vec2<f32>, 2u * BR>;     // row_values() of the tile
var<workgroup> P_tile: array<vec4<u32>, BC * P_PITCH>;  // [key][query row]
const_assert BR <= THREADS;  // an invocation a row fetches LSE and delta

@compute @workgroup_size(THREADS)
fn fa2_dkdv_matrix(@builtin(workgroup_id) workgroup: vec3<u32>,
                   @builtin(local_invocation_index) index: u32) {
  let item = key_item_of(workgroup);
  if (!item.exists) { return; }  // the whole workgroup alike: barriers follow
  let h0 = item.h * params.group;
  let q_at = (params.q_offset + item.b * params.q_batch + h0 * params.q_head) / 8u;
  let do_at = (params.do_offset + item.b * params.do_batch + h0 * params.do_head) / 8u;
  let rows_at = (item.b * params.H + h0) * params.Tq;
  let q_row = params.q_row / 8u;
  let q_head = params.q_head / 8u;
  let do_row = params.do_row / 8u;
  let do_head = params.do_head / 8u;
  let subgroup = index >> 5u;
  let row = index & 15u;
  let side = (index >> 4u) & 1u;
  let j0 = item.tile * BC;
  let j = j0 + 16u * subgroup + row;
  let first = first_row(j0);              // rows before it see no key of the tile
  let all_see = first_row(j0 + BC - 1u);  // rows from here on see them all
  let lane_first = first_row(j);          // rows before it do not see this lane's key
  let last = params.Tq - 1u;  // what would lie past the end is this row again, without weight
  let S_at = subgroup * (16u * S_PITCH);
  let P_at = subgroup * (16u * P_PITCH);
  let S_lane = S_at + row * S_PITCH + side * (2u * WALKED_TILES);
  let P_lane = P_at + row * P_PITCH + side * WALKED_TILES;
  let O_lane = S_at + row * S_PITCH + side * 2u;
  let scale_log2 = params.scale * LOG2_E;

  var K_j: array<Right, D_TILES>;  // K^T
  var V_j: array<Right, D_TILES>;  // V^T
  let j_read = min(j, params.Tk - 1u);
  let k_at = (params.k_offset + item.b * params.k_batch + item.h * params.k_head
      + j_read * params.k_row) / 8u + side;
  let v_at = (params.v_offset + item.b * params.v_batch + item.h * params.v_head
      + j_read * params.v_row) / 8u + side;
  for (var t = 0u; t < D_TILES; t++) { // @unroll
    P_tile[P_at + row * P_PITCH + side] = K[k_at + 2u * t];
    dS_tile[P_at + row * P_PITCH + side] = V[v_at + 2u * t];
    workgroupBarrier();  // 16 columns of K and V are there
    K_j[t] = subgroupMatrixLoad<Right, col_major>(&P_tile, P_at, P_PITCH);
    V_j[t] = subgroupMatrixLoad<Right, col_major>(&dS_tile, P_at, P_PITCH);
    workgroupBarrier();  // and have been read
  }
  var dK_j: array<Sum, D_TILES>;  // [A2:7]
  var dV_j: array<Sum, D_TILES>;

  // The next tile waits in registers while this one is used.
  var Q_next: array<vec4<u32>, LOADS>;
  var dO_next: array<vec4<u32>, LOADS>;
  var row_next: vec2<f32>;
  var ahead = tile_after(vec2<u32>(0u, first), first);
  for (var n = 0u; n < LOADS; n++) { // @unroll
    let unit = index + n * THREADS;
    let i = min(first + unit / ROW_UNITS, last);
    let i_next = min(ahead.y + unit / ROW_UNITS, last);
    let column = unit % ROW_UNITS;
    if (unit < TILE_UNITS) {
      Q_tile[unit / ROW_UNITS * ROW_PITCH + column] = Q[q_at + i * q_row + column];
      dO_tile[unit / ROW_UNITS * ROW_PITCH + column] = dO[do_at + i * do_row + column];
      Q_next[n] = Q[q_at + ahead.x * q_head + i_next * q_row + column];
      dO_next[n] = dO[do_at + ahead.x * do_head + i_next * do_row + column];
    }
  }
  if (index < BR) {
    let at = rows_at + min(first + index, last);
    row_part[index] = row_values(first + index, vec2<f32>(LSE_given[at], delta_given[at]));
    let next = rows_at + ahead.x * params.Tq + min(ahead.y + index, last);
    row_next = vec2<f32>(LSE_given[next], delta_given[next]);
  }
  workgroupBarrier();  // the first tile is there
  let tiles = params.group * ((params.Tq - first + BR - 1u) / BR);
  var now = vec2<u32>(0u, first);
  for (var tile = 0u; tile < tiles; tile++) {  // the same bounds for the whole workgroup
    let slot = tile & 1u;
    let tile_at = slot * SLOT;
    for (var c = 0u; c < WALKED_TILES; c++) { // @unroll
      // Stored by columns: [key][query row], and without bank conflicts.
      var S = Sum();
      var dP = Sum();
      for (var t = 0u; t < D_TILES; t++) { // @unroll
        let at = tile_at + 16u * c * ROW_PITCH + 2u * t;
        let Q_i = subgroupMatrixLoad<Left, row_major>(&Q_tile, at, ROW_PITCH);
        let dO_i = subgroupMatrixLoad<Left, row_major>(&dO_tile, at, ROW_PITCH);
        S = subgroupMatrixMultiplyAccumulate(Q_i, K_j[t], S);     // [A2:10]
        dP = subgroupMatrixMultiplyAccumulate(dO_i, V_j[t], dP);  // [A2:13]
      }
      subgroupMatrixStore<col_major>(&S_tile, S_at + 4u * c, S, S_PITCH);
      subgroupMatrixStore<col_major>(&dP_tile, S_at + 4u * c, dP, S_PITCH);
    }
    workgroupBarrier();  // S and dP are there; the other slot has been read
    let fetched = ahead.y;
    ahead = tile_after(ahead, first);
    for (var n = 0u; n < LOADS; n++) { // @unroll
      let unit = index + n * THREADS;
      let at = SLOT - tile_at + unit / ROW_UNITS * ROW_PITCH + unit % ROW_UNITS;
      let i = min(ahead.y + unit / ROW_UNITS, last);
      // Without this condition, even where it always holds, the loads end up where they stall: 30 %.
      if (unit < TILE_UNITS) {
        Q_tile[at] = Q_next[n];
        dO_tile[at] = dO_next[n];
        Q_next[n] = Q[q_at + ahead.x * q_head + i * q_row + unit % ROW_UNITS];
        dO_next[n] = dO[do_at + ahead.x * do_head + i * do_row + unit % ROW_UNITS];
      }
    }
    if (index < BR) {
      row_part[(slot ^ 1u) * BR + index] = row_values(fetched + index, row_next);
      let next = rows_at + ahead.x * params.Tq + min(ahead.y + index, last);
      row_next = vec2<f32>(LSE_given[next], delta_given[next]);
    }

    for (var n = 0u; n < WALKED_TILES; n++) { // @unroll
      var P: array<vec4<f32>, 2>;
      var dS: array<vec4<f32>, 2>;
      for (var k = 0u; k < 2u; k++) { // @unroll
        let i = side * (8u * WALKED_TILES) + 8u * n + 4u * k;  // in the tile
        let r0 = row_part[slot * BR + i];
        let r1 = row_part[slot * BR + i + 1u];
        let r2 = row_part[slot * BR + i + 2u];
        let r3 = row_part[slot * BR + i + 3u];
        let L = vec4<f32>(r0.x, r1.x, r2.x, r3.x);
        P[k] = exp2(S_tile[S_lane + 2u * n + k] * scale_log2 - L);  // [A2:11]
        if (now.y < all_see) {  // only tiles on the mask's edge
          let rows = vec4<u32>(now.y + i) + vec4<u32>(0u, 1u, 2u, 3u);
          P[k] = select(vec4<f32>(), P[k], rows >= vec4<u32>(lane_first));
        }
        let D = vec4<f32>(r0.y, r1.y, r2.y, r3.y);
        dS[k] = P[k] * (dP_tile[S_lane + 2u * n + k] - D);  // [A2:14]
      }
      P_tile[P_lane + n] = pack(P[0], P[1]);
      dS_tile[P_lane + n] = pack(dS[0], dS[1]);
    }
    workgroupBarrier();  // P, dS and the next tile are there

    for (var c = 0u; c < WALKED_TILES; c++) { // @unroll
      let P = subgroupMatrixLoad<Left, row_major>(&P_tile, P_at + 2u * c, P_PITCH);
      let dS = subgroupMatrixLoad<Left, row_major>(&dS_tile, P_at + 2u * c, P_PITCH);
      for (var t = 0u; t < D_TILES; t++) { // @unroll
        let at = tile_at + 16u * c * ROW_PITCH + 2u * t;
        let dO_i = subgroupMatrixLoad<Right, row_major>(&dO_tile, at, ROW_PITCH);
        let Q_i = subgroupMatrixLoad<Right, row_major>(&Q_tile, at, ROW_PITCH);
        dV_j[t] = subgroupMatrixMultiplyAccumulate(P, dO_i, dV_j[t]);  // [A2:12]
        dK_j[t] = subgroupMatrixMultiplyAccumulate(dS, Q_i, dK_j[t]);  // [A2:16]
      }
    }
    now = tile_after(now, first);
  }

  let dk_at = (params.dk_offset + item.b * params.dk_batch + item.h * params.dk_head
      + j * params.dk_row) / 8u + side;
  let dv_at = (params.dv_offset + item.b * params.dv_batch + item.h * params.dv_head
      + j * params.dv_row) / 8u + side;
  for (var t = 0u; t < D_TILES; t++) { // @unroll
    subgroupMatrixStore<row_major>(&S_tile, S_at, dK_j[t], S_PITCH);
    subgroupMatrixStore<row_major>(&dP_tile, S_at, dV_j[t], S_PITCH);
    workgroupBarrier();  // 16 columns of dK and dV are there
    if (j < params.Tk) {  // [A2:18]
      dK[dk_at + 2u * t] = pack(S_tile[O_lane] * params.scale, S_tile[O_lane + 1u] * params.scale);
      dV[dv_at + 2u * t] = pack(dP_tile[O_lane], dP_tile[O_lane + 1u]);
    }
    workgroupBarrier();  // and have been read
  }
}
