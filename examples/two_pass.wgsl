// Attention as the textbook has it: one pass writes all scores, the next one turns each row of them
// into weights and adds up V. It costs a matrix [B, H, Tq, Tk] between the passes, which is what
// FlashAttention avoids, and it is the easiest to look into: `attn` can be read afterwards.

@group(0) @binding(0) var<uniform> shape: Shape;
@group(0) @binding(1) var<storage, read> q_buf: array<f32>;
@group(0) @binding(2) var<storage, read> k_buf: array<f32>;
@group(0) @binding(3) var<storage, read> v_buf: array<f32>;
@group(0) @binding(4) var<storage, read_write> scores: array<f32>;
@group(0) @binding(5) var<storage, read_write> o_buf: array<f32>;
@group(0) @binding(6) var<storage, read_write> L: array<f32>;
@group(0) @binding(7) var<storage, read_write> attn: array<f32>;

// Strides, so that any layout will do: element (b, i, h, d) lies at b·batch + i·row + h·head + d.
struct Tensor { offset: u32, batch: u32, row: u32, head: u32 }
struct Shape {
  Tq: u32,
  Tk: u32,
  H: u32,
  Hkv: u32,
  D: u32,
  causal: u32,
  causal_offset: i32,
  scale: f32,
  q: Tensor,
  k: Tensor,
  v: Tensor,
  o: Tensor,
}

const SIDE = 8u;      // the first pass works in squares of scores
const LANES = 64u;    // the second gives a row to a workgroup
const MASKED = -1e30;

fn at(t: Tensor, b: u32, i: u32, h: u32) -> u32 {
  return t.offset + b * t.batch + i * t.row + h * t.head;
}

@compute @workgroup_size(SIDE, SIDE)
fn score(@builtin(global_invocation_id) id: vec3<u32>) {
  let j = id.x;
  let i = id.y;
  let b = id.z / shape.H;
  let h = id.z % shape.H;
  if (i >= shape.Tq || j >= shape.Tk) { return; }
  let q_at = at(shape.q, b, i, h);
  let k_at = at(shape.k, b, j, h / (shape.H / shape.Hkv));
  var s = 0.0;
  for (var d = 0u; d < shape.D; d++) { s += q_buf[q_at + d] * k_buf[k_at + d]; }
  let hidden = shape.causal == 1u && i32(j) > i32(i) + shape.causal_offset;
  scores[(id.z * shape.Tq + i) * shape.Tk + j] = select(s * shape.scale, MASKED, hidden);
}

var<workgroup> shared_values: array<f32, LANES>;

// Halves the number of partial results until one is left, the same in every invocation.
fn reduced(lane: u32, own: f32, maximum: bool) -> f32 {
  workgroupBarrier();
  shared_values[lane] = own;
  for (var n = LANES / 2u; n > 0u; n /= 2u) {
    workgroupBarrier();
    if (lane < n) {
      let a = shared_values[lane];
      let b = shared_values[lane + n];
      shared_values[lane] = select(a + b, max(a, b), maximum);
    }
  }
  return workgroupUniformLoad(&shared_values[0]);
}

@compute @workgroup_size(LANES)
fn softmax_v(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let i = group.x;
  let h = group.y;
  let b = group.z;
  let row = ((b * shape.H + h) * shape.Tq + i) * shape.Tk;

  var m = MASKED;
  for (var j = lane; j < shape.Tk; j += LANES) { m = max(m, scores[row + j]); }
  m = reduced(lane, m, true);
  var sum = 0.0;
  for (var j = lane; j < shape.Tk; j += LANES) {
    let s = scores[row + j];
    let p = select(0.0, exp(s - m), s > MASKED);
    scores[row + j] = p;
    sum += p;
  }
  let l = reduced(lane, sum, false);
  let inverse = select(0.0, 1.0 / l, l > 0.0);  // no key at all: a row of zeros
  for (var j = lane; j < shape.Tk; j += LANES) { attn[row + j] = scores[row + j] * inverse; }
  storageBarrier();

  let v_head = h / (shape.H / shape.Hkv);
  let o_at = at(shape.o, b, i, h);
  for (var d = lane; d < shape.D; d += LANES) {
    var o = 0.0;
    for (var j = 0u; j < shape.Tk; j++) {
      o += scores[row + j] * v_buf[at(shape.v, b, j, v_head) + d];
    }
    o_buf[o_at + d] = o * inverse;
  }
  if (lane == 0u) { L[(b * shape.H + h) * shape.Tq + i] = select(MASKED, m + log(l), l > 0.0); }
}
