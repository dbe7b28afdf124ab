// attn_fused_sv.wgsl: the baseline, softmax and P V in one pass, one invocation per query row.
//
//   O   = softmax(scale * Q K^T) V             (B, Tq, H, HEAD_DIM), by strides
//   LSE = log sum_j exp(scale * q_i . k_j)     (B, H, Tq)  natural log, scale included
//
// Grid       B * H * ceil(Tq / BR) workgroups of BR invocations, folded; see common/grid.wgsl.
//            Invocation r owns query row tile * BR + r.
// Constants  HEAD_DIM, BR, BC: u32; CAUSAL: bool
// Workgroup  nothing; every invocation reads K and V for itself
// Private    BC scores per invocation. The kernel this one descends from held a whole row of 1024,
//            and was wrong beyond; a block at a time, rescaled when the maximum grows, has no such end.
// Requires   nothing beyond core WebGPU and its default limits.
//
// Masking    row i sees the keys j < key_end(i), common/masking.wgsl. A row without keys gets
//            O = 0, LSE = LSE_EMPTY.
// Error      f32 throughout; the sum of each block is rounded once into O.
// Source     the forward notes this project grew from; Milakov and Gimelshein 2018,
//            arXiv:1805.02867, for the running maximum.
//
// @use common/params.wgsl
// @use common/grid.wgsl
// @use common/masking.wgsl

@group(0) @binding(1) var<storage, read> Q: array<f32>;
@group(0) @binding(2) var<storage, read> K: array<f32>;
@group(0) @binding(3) var<storage, read> V: array<f32>;
@group(0) @binding(4) var<storage, read_write> O: array<f32>;
@group(0) @binding(5) var<storage, read_write> LSE: array<f32>;

@compute @workgroup_size(BR)
fn attn_fused_sv(@builtin(workgroup_id) workgroup: vec3<u32>,
                 @builtin(local_invocation_index) r: u32) {
  let item = item_of(workgroup, (params.Tq + BR - 1u) / BR);
  let i = item.tile * BR + r;
  if (!item.exists || i >= params.Tq) { return; }  // no barrier follows
  let kv_head = item.h / params.group;
  let q_at = params.q_offset + item.b * params.q_batch + item.h * params.q_head + i * params.q_row;
  let k_at = params.k_offset + item.b * params.k_batch + kv_head * params.k_head;
  let v_at = params.v_offset + item.b * params.v_batch + kv_head * params.v_head;
  let o_at = params.o_offset + item.b * params.o_batch + item.h * params.o_head + i * params.o_row;
  let lse_at = (item.b * params.H + item.h) * params.Tq + i;

  var m_i = SCORE_FLOOR;
  var l_i = 0.0;
  var s: array<f32, BC>;
  // O itself holds the running sum, so that private memory does not grow with HEAD_DIM.
  for (var d = 0u; d < HEAD_DIM; d++) { O[o_at + d] = 0.0; }

  let end = key_end(i);
  for (var j0 = 0u; j0 < end; j0 += BC) {
    let count = min(BC, end - j0);  // only visible keys: no masked score exists
    var m_new = m_i;
    for (var c = 0u; c < count; c++) {
      let at = k_at + (j0 + c) * params.k_row;
      var dot = 0.0;
      for (var d = 0u; d < HEAD_DIM; d++) { dot += Q[q_at + d] * K[at + d]; }
      s[c] = dot * params.scale;
      m_new = max(m_new, s[c]);
    }
    let alpha = exp(m_i - m_new);  // rescales what was summed against the old maximum
    m_i = m_new;
    l_i *= alpha;
    for (var c = 0u; c < count; c++) {
      s[c] = exp(s[c] - m_i);
      l_i += s[c];
    }
    for (var d = 0u; d < HEAD_DIM; d++) {
      var sum = 0.0;
      for (var c = 0u; c < count; c++) { sum += s[c] * V[v_at + (j0 + c) * params.v_row + d]; }
      O[o_at + d] = O[o_at + d] * alpha + sum;
    }
  }

  if (end == 0u) {
    LSE[lse_at] = LSE_EMPTY;
  } else {
    LSE[lse_at] = m_i + log(l_i);
    for (var d = 0u; d < HEAD_DIM; d++) { O[o_at + d] /= l_i; }
  }
}
