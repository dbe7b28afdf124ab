// Attention as split keys make it: a workgroup owns a query row, its lanes share the keys among
// them (lane t takes t, t + LANES, …), and the partial sums are merged at the end.
const LANES = 128u;
const WIDEST_HEAD = 16u;

struct Sizes { seqlen: u32, n_heads: u32, head_dim: u32, sm_scale: f32 }
@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(1) var<storage, read> q: array<f32>;
@group(0) @binding(2) var<storage, read> k: array<f32>;
@group(0) @binding(3) var<storage, read> v: array<f32>;
@group(0) @binding(4) var<storage, read_write> o: array<f32>;

var<workgroup> largest: array<f32, LANES>;
var<workgroup> weight: array<f32, LANES>;

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let row = ((id.z * sizes.seqlen + id.x) * sizes.n_heads + id.y) * sizes.head_dim;
  var sum: array<f32, WIDEST_HEAD>;
  var m = -3e38;
  var l = 0.0;
  for (var j = lane; j <= id.x; j += LANES) {
    let at = ((id.z * sizes.seqlen + j) * sizes.n_heads + id.y) * sizes.head_dim;
    var score = 0.0;
    for (var d = 0u; d < sizes.head_dim; d++) { score += q[row + d] * k[at + d]; }
    score *= sizes.sm_scale;
    let higher = max(m, score);
    let alpha = exp(m - higher);
    let p = exp(score - higher);
    l = l * alpha + p;
    for (var d = 0u; d < sizes.head_dim; d++) { sum[d] = sum[d] * alpha + p * v[at + d]; }
    m = higher;
  }
  largest[lane] = m;
  workgroupBarrier();
  var top = m;
  for (var n = 0u; n < LANES; n++) { top = max(top, largest[n]); }
  weight[lane] = l * exp(m - top);
  workgroupBarrier();
  var total = 0.0;
  for (var n = 0u; n < LANES; n++) { total += weight[n]; }
  let own = exp(m - top) / total;
  for (var d = 0u; d < sizes.head_dim; d++) {
    workgroupBarrier();
    largest[lane] = sum[d] * own;
    workgroupBarrier();
    if (lane == 0u) {
      var merged = 0.0;
      for (var n = 0u; n < LANES; n++) { merged += largest[n]; }
      o[row + d] = merged;
    }
  }
}
