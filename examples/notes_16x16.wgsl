// FlashAttention-2's loop order at its plainest: a workgroup owns 16 query rows of one head, an
// invocation one of them, and all walk over the keys in blocks of 16 that they load together.
// Nothing grows with the sequence: a row keeps its maximum, its sum and its row of O.

struct Params {
  B: u32,
  H: u32,
  T: u32,
  D: u32,
  scale: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> q: array<f32>;   // all of them [B, T, H·D]
@group(0) @binding(2) var<storage, read> k: array<f32>;
@group(0) @binding(3) var<storage, read> v: array<f32>;
@group(0) @binding(4) var<storage, read_write> ctx: array<f32>;
@group(0) @binding(5) var<storage, read_write> lse: array<f32>;  // [B, H, T]

const BR = 16u;
const BC = 16u;
const MAX_HD = 64u;
const MASKED = -1e30;  // not −inf: exp(−inf + inf) is no number

var<workgroup> Q_tile: array<f32, BR * MAX_HD>;
var<workgroup> K_tile: array<f32, BC * MAX_HD>;
var<workgroup> V_tile: array<f32, BC * MAX_HD>;

@compute @workgroup_size(BR)
fn attention(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let D = params.D;
  let width = params.H * D;
  let b = group.y / params.H;
  let h = group.y % params.H;
  let first = b * params.T * width + h * D;  // of the head in q, k, v and ctx
  let i = group.x * BR + lane;

  for (var d = 0u; d < D; d++) {
    Q_tile[lane * MAX_HD + d] = select(0.0, q[first + min(i, params.T - 1u) * width + d], i < params.T);
  }
  var O_i: array<f32, MAX_HD>;
  var m_i = MASKED;
  var l_i = 0.0;

  // Causal: the last row of this workgroup sees no key behind its own.
  let keys = min(params.T, group.x * BR + BR);
  for (var start = 0u; start < keys; start += BC) {
    workgroupBarrier();  // the block before this one has been read
    let own = start + lane;
    for (var d = 0u; d < D; d++) {
      let at = first + min(own, params.T - 1u) * width + d;
      K_tile[lane * MAX_HD + d] = k[at];
      V_tile[lane * MAX_HD + d] = v[at];
    }
    workgroupBarrier();

    var S: array<f32, BC>;
    var m_new = m_i;
    for (var jj = 0u; jj < BC; jj++) {
      S[jj] = MASKED;
      if (start + jj <= i && start + jj < params.T) {
        var sum = 0.0;
        for (var d = 0u; d < D; d++) {
          sum += Q_tile[lane * MAX_HD + d] * K_tile[jj * MAX_HD + d];
        }
        S[jj] = sum * params.scale;
        m_new = max(m_new, S[jj]);
      }
    }
    let alpha = exp(m_i - m_new);
    l_i *= alpha;
    for (var d = 0u; d < D; d++) { O_i[d] *= alpha; }
    for (var jj = 0u; jj < BC; jj++) {
      if (S[jj] > MASKED) {
        let p = exp(S[jj] - m_new);
        l_i += p;
        for (var d = 0u; d < D; d++) { O_i[d] += p * V_tile[jj * MAX_HD + d]; }
      }
    }
    m_i = m_new;
  }

  if (i < params.T) {
    for (var d = 0u; d < D; d++) { ctx[first + i * width + d] = O_i[d] / l_i; }
    lse[group.y * params.T + i] = m_i + log(l_i);
  }
}
