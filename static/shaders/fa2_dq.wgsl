// fa2_dq.wgsl: FlashAttention-2 backward, dQ of one tile of BR query rows per workgroup.
//
//   P  = exp(scale * Q K^T - LSE)      recomputed a tile at a time, never stored
//   dS = P o (dO V^T - delta)
//   dQ = scale * dS K                  (B, Tq, H, HEAD_DIM), by strides
//
// Grid       B * H * ceil(Tq / BR) workgroups of TX * TY invocations, folded; see common/grid.wgsl.
//            Owned rows are query rows, walked rows are keys; see common/backward.wgsl.
// Constants  HEAD_DIM, TX, TY, BR = 4 TY, BC = 4 TX, D_CHUNK, R_CHUNK, D_TILES: u32; CAUSAL: bool
// Workgroup  A and X of common/backward.wgsl
// Private    32 scores and 16 D_TILES output elements per invocation, in registers
// Requires   nothing beyond core WebGPU and its default limits.
//
// Masking    row i sees the keys j < key_end(i), common/masking.wgsl; key tiles that no row of the
//            tile sees are never visited. A row without keys gets dQ = 0.
// Error      f32 throughout; each sum is taken in the order of the keys.
// Source     Dao 2023, arXiv:2307.08691, Algorithm 2; [A2:n] is its line n. The paper leaves
//            `scale` out, and adds to dQ in the loop that makes dK and dV, which needs atomics;
//            here S and dP are computed a second time instead.
//
// @use storage
// @use common/params.wgsl
// @use common/grid.wgsl
// @use common/masking.wgsl
// @use common/backward.wgsl

@group(0) @binding(5) var<storage, read> LSE: array<f32>;
@group(0) @binding(7) var<storage, read> delta: array<f32>;

const_assert BR == 4u * TY && BC == 4u * TX;

fn own_element(gradient: bool, at: u32, i: u32, d: u32) -> f32 {
  return query_element(gradient, at, i, d);
}

fn walked_element(gradient: bool, at: u32, j: u32, d: u32) -> f32 {
  return key_element(gradient, at, j, d);
}

fn store_column(column: vec4<f32>, d: u32, i: u32, at: u32) {
  for (var r = 0u; r < 4u; r++) {
    if (i + r < params.Tq && d < HEAD_DIM) {
      store_dq(at + (i + r) * params.dq_row + d, column[r] * params.scale);
    }
  }
}

fn store_tile(tile: mat4x4<f32>, d: u32, i: u32, at: u32) {
  store_column(tile[0], d, i, at);
  store_column(tile[1], d + TX, i, at);
  store_column(tile[2], d + 2u * TX, i, at);
  store_column(tile[3], d + 3u * TX, i, at);
}

@compute @workgroup_size(TX * TY)
fn fa2_dq(@builtin(workgroup_id) workgroup: vec3<u32>,
          @builtin(local_invocation_index) lane: u32) {
  let item = item_of(workgroup, (params.Tq + BR - 1u) / BR);
  if (item.exists) { process(item, lane % TX, lane / TX); }  // uniform: barriers follow
}

fn process(item: Item, tx: u32, ty: u32) {
  let kv_head = item.h / params.group;
  let q_at = params.q_offset + item.b * params.q_batch + item.h * params.q_head;
  let do_at = params.do_offset + item.b * params.do_batch + item.h * params.do_head;
  let k_at = params.k_offset + item.b * params.k_batch + kv_head * params.k_head;
  let v_at = params.v_offset + item.b * params.v_batch + kv_head * params.v_head;
  let i0 = item.tile * BR;
  let i = i0 + 4u * ty;
  let ends = key_end4(i);
  let last_end = key_end(min(i0 + BR, params.Tq) - 1u);  // no row of the tile sees a later key
  let rows = (item.b * params.H + item.h) * params.Tq
      + min(vec4<u32>(i, i + 1u, i + 2u, i + 3u), vec4<u32>(params.Tq - 1u));
  let L = vec4<f32>(LSE[rows.x], LSE[rows.y], LSE[rows.z], LSE[rows.w]);
  let D_i = vec4<f32>(delta[rows.x], delta[rows.y], delta[rows.z], delta[rows.w]);
  var dQ_i = Sums();
  // @trace trace_head(item.b, item.h);

  for (var j0 = 0u; j0 < last_end; j0 += BC) {  // the same bounds for the whole workgroup
    let j = j0 + tx;
    let S = products(false, q_at, i, k_at, j0, tx, ty);  // [A2:10]
    let P = mat4x4<f32>(probability(S[0], L, vec4<u32>(j) < ends),
                        probability(S[1], L, vec4<u32>(j + TX) < ends),
                        probability(S[2], L, vec4<u32>(j + 2u * TX) < ends),
                        probability(S[3], L, vec4<u32>(j + 3u * TX) < ends));  // [A2:11]
    let dP = products(true, do_at, i, v_at, j0, tx, ty);  // [A2:13]
    let dS = mat4x4<f32>(P[0] * (dP[0] - D_i), P[1] * (dP[1] - D_i),
                         P[2] * (dP[2] - D_i), P[3] * (dP[3] - D_i));  // [A2:14]
    // @trace if (tx == 0u) { trace_rows(TRACE_DQ + TRACE_LSE, 0u, i, 0u, L); }
    // @trace if (tx == 0u) { trace_rows(TRACE_DQ + TRACE_DELTA, 0u, i, 0u, D_i); }
    // @trace trace_pairs(TRACE_DQ + TRACE_WEIGHT, i, j, TX, P);
    // @trace trace_pairs(TRACE_DQ + TRACE_DP, i, j, TX, dP);
    // @trace trace_pairs(TRACE_DQ + TRACE_DS, i, j, TX, dS);
    accumulate(&dQ_i, dS, false, k_at, j0, tx, ty);  // [A2:15]
  }

  let dq_at = params.dq_offset + item.b * params.dq_batch + item.h * params.dq_head;
  store_tile(dQ_i.t0, tx, i, dq_at);
  if (D_TILES > 1u) { store_tile(dQ_i.t1, tx + 4u * TX, i, dq_at); }
  if (D_TILES > 2u) { store_tile(dQ_i.t2, tx + 8u * TX, i, dq_at); }
  if (D_TILES > 3u) { store_tile(dQ_i.t3, tx + 12u * TX, i, dq_at); }
}
