// attn_recompute.wgsl: the attention matrix again, for the baseline backward, from the forward's LSE.
//
//   attn_ij = exp(scale * q_i . k_j - LSE_i)   (B, H, Tq, Tk)
//
// Not what a caller is given, see attn_writeback.wgsl: of a row with large scores LSE has few digits
// left behind the point.
//
// Grid       B * H * ceil(Tq / BR) * ceil(Tk / BC) workgroups of TX * TY invocations, folded.
//            Invocation (tx, ty) owns rows 4 ty .. 4 ty + 3 and the keys tx + TX n (n < 4).
// Constants  HEAD_DIM, TX, TY, BR = 4 TY, BC = 4 TX: u32; CAUSAL: bool
// Workgroup  nothing
// Private    16 scores per invocation, in registers
// Requires   nothing beyond core WebGPU and its default limits.
//
// Masking    row i sees the keys j < key_end(i), common/masking.wgsl; the others, and every key of
//            a row that sees none, are written as 0. Every element is written.
// Error      f32 throughout; adds the rounding of LSE, |LSE| 2^-24 relative.
// Source     Dao 2023, arXiv:2307.08691, Algorithm 2, line 11.
//
// @use storage
// @use common/params.wgsl
// @use common/grid.wgsl
// @use common/masking.wgsl
// @use common/scores.wgsl

@group(0) @binding(5) var<storage, read> LSE: array<f32>;
@group(0) @binding(11) var<storage, read_write> attn: array<f32>;

const_assert BR == 4u * TY && BC == 4u * TX;

fn store_key(s: vec4<f32>, j: u32, i: u32, bh: u32, ends: vec4<u32>) {
  if (j >= params.Tk) { return; }
  for (var r = 0u; r < 4u && i + r < params.Tq; r++) {
    let at = bh * params.Tq + i + r;
    var p = 0.0;
    if (j < ends[r]) { p = exp(s[r] - LSE[at]); }  // a masked score never reaches exp
    attn[at * params.Tk + j] = p;
  }
}

@compute @workgroup_size(TX * TY)
fn attn_recompute(@builtin(workgroup_id) workgroup: vec3<u32>,
                  @builtin(local_invocation_index) lane: u32) {
  let key_tiles = (params.Tk + BC - 1u) / BC;
  let item = item_of(workgroup, key_tiles * ((params.Tq + BR - 1u) / BR));
  if (!item.exists) { return; }
  let i = item.tile / key_tiles * BR + 4u * (lane / TX);
  let j = item.tile % key_tiles * BC + lane % TX;
  let ends = key_end4(i);
  let q_at = params.q_offset + item.b * params.q_batch + item.h * params.q_head;
  let k_at = params.k_offset + item.b * params.k_batch + item.h / params.group * params.k_head;
  let rows = rows_at(q_at, params.q_row, vec4<u32>(i, i + 1u, i + 2u, i + 3u), params.Tq);
  let keys = vec4<u32>(j, j + TX, j + 2u * TX, j + 3u * TX);
  let S = scores_of(rows, rows_at(k_at, params.k_row, keys, params.Tk), 1.0) * params.scale;
  let bh = item.b * params.H + item.h;
  store_key(S[0], j, i, bh, ends);
  store_key(S[1], j + TX, i, bh, ends);
  store_key(S[2], j + 2u * TX, i, bh, ends);
  store_key(S[3], j + 3u * TX, i, bh, ends);
}
