// fa2_dkdv.wgsl: FlashAttention-2 backward, dK and dV of one tile of BC keys per workgroup.
//
//   P  = exp(scale * Q K^T - LSE)      recomputed a tile at a time, never stored
//   dV = P^T dO                        (B, Tk, Hkv, HEAD_DIM), by strides
//   dS = P o (dO V^T - delta)
//   dK = scale * dS^T Q                (B, Tk, Hkv, HEAD_DIM), by strides
//
// The sums run over the query rows of every head of the group that shares the key head, all inside
// the workgroup and always in the same order: no atomics, and the same bits at every run.
//
// Grid       B * Hkv * ceil(Tk / BC) workgroups of TX * TY invocations, folded; see common/grid.wgsl.
//            Owned rows are keys, walked rows are query rows; see common/backward.wgsl.
// Constants  HEAD_DIM, TX, TY, BR = 4 TX, BC = 4 TY, D_CHUNK, R_CHUNK, D_TILES: u32; CAUSAL: bool
// Workgroup  A and X of common/backward.wgsl
// Private    32 scores and 32 D_TILES output elements per invocation, in registers
// Requires   nothing beyond core WebGPU and its default limits.
//
// Masking    row i sees the keys j < key_end(i), common/masking.wgsl; query tiles that see none of
//            the keys are never visited. A key that no row sees gets dK = dV = 0.
// Error      f32 throughout; each sum is taken in the order of the rows.
// Source     Dao 2023, arXiv:2307.08691, Algorithm 2; [A2:n] is its line n. The paper leaves
//            `scale` out, and adds to dQ in the same loop, which needs atomics: see fa2_dq.wgsl.
//
// @use storage
// @use common/params.wgsl
// @use common/grid.wgsl
// @use common/masking.wgsl
// @use common/backward.wgsl

@group(0) @binding(5) var<storage, read> LSE: array<f32>;
@group(0) @binding(7) var<storage, read> delta: array<f32>;

const_assert BC == 4u * TY && BR == 4u * TX;

fn own_element(gradient: bool, at: u32, j: u32, d: u32) -> f32 {
  return key_element(gradient, at, j, d);
}

fn walked_element(gradient: bool, at: u32, i: u32, d: u32) -> f32 {
  return query_element(gradient, at, i, d);
}

// P of four keys for query row i; rows past the end see nothing.
fn weigh(s: vec4<f32>, j: vec4<u32>, i: u32, head: u32) -> vec4<f32> {
  let L = LSE[head + min(i, params.Tq - 1u)];
  return probability(s, vec4<f32>(L), j < vec4<u32>(key_end(i)));  // [A2:11]
}

// dS of four keys for query row i.
fn slope(p: vec4<f32>, dp: vec4<f32>, i: u32, head: u32) -> vec4<f32> {
  return p * (dp - delta[head + min(i, params.Tq - 1u)]);  // [A2:14]
}

fn store_column(dk: vec4<f32>, dv: vec4<f32>, d: u32, j: u32, dk_at: u32, dv_at: u32) {
  for (var r = 0u; r < 4u; r++) {
    if (j + r < params.Tk && d < HEAD_DIM) {
      store_dk(dk_at + (j + r) * params.dk_row + d, dk[r] * params.scale);
      store_dv(dv_at + (j + r) * params.dv_row + d, dv[r]);
    }
  }
}

fn store_tile(dk: mat4x4<f32>, dv: mat4x4<f32>, d: u32, j: u32, dk_at: u32, dv_at: u32) {
  store_column(dk[0], dv[0], d, j, dk_at, dv_at);
  store_column(dk[1], dv[1], d + TX, j, dk_at, dv_at);
  store_column(dk[2], dv[2], d + 2u * TX, j, dk_at, dv_at);
  store_column(dk[3], dv[3], d + 3u * TX, j, dk_at, dv_at);
}

@compute @workgroup_size(TX * TY)
fn fa2_dkdv(@builtin(workgroup_id) workgroup: vec3<u32>,
            @builtin(local_invocation_index) lane: u32) {
  let item = key_item_of(workgroup);
  if (item.exists) { process(item, lane % TX, lane / TX); }  // uniform: barriers follow
}

fn process(item: Item, tx: u32, ty: u32) {
  let k_at = params.k_offset + item.b * params.k_batch + item.h * params.k_head;
  let v_at = params.v_offset + item.b * params.v_batch + item.h * params.v_head;
  let j0 = item.tile * BC;
  let j = j0 + 4u * ty;
  let keys = vec4<u32>(j, j + 1u, j + 2u, j + 3u);
  let first = first_row(j0);  // rows before it see no key of the tile
  var dK_j = Sums();  // [A2:7]
  var dV_j = Sums();

  for (var g = 0u; g < params.group; g++) {
    let h = item.h * params.group + g;
    let q_at = params.q_offset + item.b * params.q_batch + h * params.q_head;
    let do_at = params.do_offset + item.b * params.do_batch + h * params.do_head;
    let head = (item.b * params.H + h) * params.Tq;
    // @trace trace_head(item.b, h);
    for (var i0 = first; i0 < params.Tq; i0 += BR) {  // the same bounds for the whole workgroup
      let i = i0 + tx;
      let S = products(false, k_at, j, q_at, i0, tx, ty);  // [A2:10]
      let P = mat4x4<f32>(weigh(S[0], keys, i, head),
                          weigh(S[1], keys, i + TX, head),
                          weigh(S[2], keys, i + 2u * TX, head),
                          weigh(S[3], keys, i + 3u * TX, head));
      let dP = products(true, v_at, j, do_at, i0, tx, ty);  // [A2:13]
      let dS = mat4x4<f32>(slope(P[0], dP[0], i, head),
                           slope(P[1], dP[1], i + TX, head),
                           slope(P[2], dP[2], i + 2u * TX, head),
                           slope(P[3], dP[3], i + 3u * TX, head));
      // @trace let rows = vec4<u32>(i, i + TX, i + 2u * TX, i + 3u * TX);
      // @trace for (var n = 0u; n < 4u && ty == 0u; n++) {
      // @trace   let at = head + min(rows[n], params.Tq - 1u);
      // @trace   trace_pair(TRACE_DKDV + TRACE_LSE, rows[n], j, LSE[at]);
      // @trace   trace_pair(TRACE_DKDV + TRACE_DELTA, rows[n], j, delta[at]);
      // @trace }
      // @trace trace_pairs_by_key(TRACE_DKDV + TRACE_WEIGHT, i, j, TX, P);
      // @trace trace_pairs_by_key(TRACE_DKDV + TRACE_DP, i, j, TX, dP);
      // @trace trace_pairs_by_key(TRACE_DKDV + TRACE_DS, i, j, TX, dS);
      accumulate(&dV_j, P, true, do_at, i0, tx, ty);   // [A2:12]
      accumulate(&dK_j, dS, false, q_at, i0, tx, ty);  // [A2:16]
    }
  }

  let dk_at = params.dk_offset + item.b * params.dk_batch + item.h * params.dk_head;
  let dv_at = params.dv_offset + item.b * params.dv_batch + item.h * params.dv_head;
  store_tile(dK_j.t0, dV_j.t0, tx, j, dk_at, dv_at);  // [A2:18]
  if (D_TILES > 1u) { store_tile(dK_j.t1, dV_j.t1, tx + 4u * TX, j, dk_at, dv_at); }
  if (D_TILES > 2u) { store_tile(dK_j.t2, dV_j.t2, tx + 8u * TX, j, dk_at, dv_at); }
  if (D_TILES > 3u) { store_tile(dK_j.t3, dV_j.t3, tx + 12u * TX, j, dk_at, dv_at); }
}
