// attn_writeback.wgsl: the attention matrix itself, for callers that still want it.
//
//   attn_ij = softmax_j(scale * q_i . k_j)     (B, H, Tq, Tk)
//
// Costs the scores twice more and O(B H Tq Tk) memory; runs only when attn is asked for. It takes its
// own maxima and sums: against the LSE of a forward, whose scores are rounded in another way, a row
// whose largest score is 4000 would not even add up to 1 within 0.0005.
//
// Grid       B * H * ceil(Tq / BR) workgroups of TX * TY invocations, folded; see common/grid.wgsl.
//            Invocation (tx, ty) owns rows 4 ty .. 4 ty + 3 and, of every key tile, the keys
//            tx + TX n (n < 4).
// Constants  HEAD_DIM, TX, TY, BR = 4 TY, BC = 4 TX: u32; CAUSAL: bool
// Workgroup  row_part: 16 TX TY bytes
// Private    16 scores per invocation, in registers
// Requires   nothing beyond core WebGPU and its default limits.
//
// Masking    row i sees the keys j < key_end(i), common/masking.wgsl; the others, and every key of
//            a row that sees none, are written as 0. Every element is written.
// Error      f32 throughout; Q carries the scale.
// Source     Milakov and Gimelshein 2018, arXiv:1805.02867, Algorithm 3: the running maximum and sum.
//
// @use storage
// @use common/params.wgsl
// @use common/grid.wgsl
// @use common/masking.wgsl
// @use common/scores.wgsl

@group(0) @binding(11) var<storage, read_write> attn: array<f32>;

var<workgroup> row_part: array<vec4<f32>, TY * TX>;  // [ty][tx] maxima, then sums

const_assert BR == 4u * TY && BC == 4u * TX;

// exp(s - m), and 0 for what is not seen, which never reaches exp.
fn weigh(s: vec4<f32>, m: vec4<f32>, seen: vec4<bool>) -> vec4<f32> {
  return select(vec4<f32>(), exp(select(vec4<f32>(), s - m, seen)), seen);
}

// To every invocation of a row what all of them have.
fn share(value: vec4<f32>, tx: u32, ty: u32) {
  workgroupBarrier();  // nobody reads what it held any more
  row_part[ty * TX + tx] = value;
  workgroupBarrier();  // all parts are there
}

@compute @workgroup_size(TX * TY)
fn attn_writeback(@builtin(workgroup_id) workgroup: vec3<u32>,
                  @builtin(local_invocation_index) lane: u32) {
  let item = item_of(workgroup, (params.Tq + BR - 1u) / BR);
  if (!item.exists) { return; }  // the whole workgroup alike: barriers follow
  let tx = lane % TX;
  let ty = lane / TX;
  let i0 = item.tile * BR;
  let i = i0 + 4u * ty;
  let ends = key_end4(i);
  let last_end = key_end(min(i0 + BR, params.Tq) - 1u);  // no row of the tile sees this key or a later one
  let q_at = params.q_offset + item.b * params.q_batch + item.h * params.q_head;
  let k_at = params.k_offset + item.b * params.k_batch + item.h / params.group * params.k_head;
  let rows = rows_at(q_at, params.q_row, vec4<u32>(i, i + 1u, i + 2u, i + 3u), params.Tq);
  let attn_at = (item.b * params.H + item.h) * params.Tq;

  var m_i = vec4<f32>(SCORE_FLOOR);
  var l_i = vec4<f32>();
  // One loop for both sweeps, so that the same instructions give the scores of both: rounded in
  // another way they would differ from their own maximum.
  for (var sweep = 0u; sweep < 2u; sweep++) {
    for (var j0 = 0u; j0 < params.Tk; j0 += BC) {
      if (sweep == 0u && j0 >= last_end) { break; }
      let j = j0 + tx + TX * vec4<u32>(0u, 1u, 2u, 3u);
      var S = mat4x4<f32>();  // of tiles that nobody sees: zeros
      if (j0 < last_end) {
        // The scale goes into Q: of scale * s - m a compiler may make one instruction, and then s is
        // rounded in another way than m was.
        S = scores_of(rows, rows_at(k_at, params.k_row, j, params.Tk), params.scale);
      }
      for (var n = 0u; n < 4u; n++) { // @unroll
        let seen = vec4<u32>(j[n]) < ends;
        if (sweep == 0u) {
          let m_new = max(m_i, select(m_i, S[n], seen));
          l_i = l_i * exp(m_i - m_new) + weigh(S[n], m_new, seen);
          m_i = m_new;
        } else {
          let p = weigh(S[n], m_i, seen) / l_i;
          for (var r = 0u; r < 4u && j[n] < params.Tk && i + r < params.Tq; r++) {
            attn[(attn_at + i + r) * params.Tk + j[n]] = p[r];
          }
        }
      }
    }
    if (sweep == 0u) {
      share(m_i, tx, ty);
      var m_row = m_i;
      for (var t = 0u; t < TX; t++) { m_row = max(m_row, row_part[ty * TX + t]); }
      share(l_i * exp(m_i - m_row), tx, ty);
      m_i = m_row;
      l_i = vec4<f32>();
      for (var t = 0u; t < TX; t++) { l_i += row_part[ty * TX + t]; }
      l_i = select(vec4<f32>(1.0), l_i, l_i > vec4<f32>());  // a row without keys: 0 / 1
    }
  }
}
