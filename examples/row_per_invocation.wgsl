// The least that computes attention: an invocation owns a query row and walks over its keys alone.
// No shared memory, no barrier, nothing to get wrong but the mathematics. Head size, masking and
// the shape of a workgroup are override constants; the sizes come as two vectors.

struct Sizes {
  rows: vec4<u32>,      // B, H, Tq, Tk
  group: u32,           // query heads that share a key head
  causal_offset: i32,   // row i sees the keys j ≤ i + causal_offset
  sm_scale: f32,
}

@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(1) var<storage, read> query: array<f32>;
@group(0) @binding(2) var<storage, read> key: array<f32>;
@group(0) @binding(3) var<storage, read> value: array<f32>;
@group(0) @binding(4) var<storage, read_write> result: array<f32>;

override HEAD_DIM: u32;
override IS_CAUSAL: bool = true;
override ROWS: u32 = 64;

const MAX_HEAD_DIM = 128u;
const NO_SCORE = -3e38;

@compute @workgroup_size(ROWS)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let H = sizes.rows.y;
  let Tq = sizes.rows.z;
  let Tk = sizes.rows.w;
  let i = workgroup.x * ROWS + lane;
  let h = workgroup.y;
  let b = workgroup.z;
  if (i >= Tq) { return; }

  let row = ((b * Tq + i) * H + h) * HEAD_DIM;
  let Hkv = H / sizes.group;
  let last = select(i32(Tk) - 1, min(i32(i) + sizes.causal_offset, i32(Tk) - 1), IS_CAUSAL);

  var m_i = NO_SCORE;
  var l_i = 0.0;
  var O_i: array<f32, MAX_HEAD_DIM>;
  for (var j = 0; j <= last; j++) {
    let at = ((b * Tk + u32(j)) * Hkv + h / sizes.group) * HEAD_DIM;
    var s = 0.0;
    for (var d = 0u; d < HEAD_DIM; d++) { s += query[row + d] * key[at + d]; }
    s *= sizes.sm_scale;
    let m_new = max(m_i, s);
    let alpha = exp(m_i - m_new);
    let p = exp(s - m_new);
    l_i = l_i * alpha + p;
    for (var d = 0u; d < HEAD_DIM; d++) { O_i[d] = O_i[d] * alpha + p * value[at + d]; }
    m_i = m_new;
  }
  // A row that sees no key is zero.
  for (var d = 0u; d < HEAD_DIM; d++) { result[row + d] = select(0.0, O_i[d] / l_i, l_i > 0.0); }
}
