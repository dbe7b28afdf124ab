// The gradients of attention, an invocation a row: one pass computes dq for every query row, the
// other dk and dv for every key row. Each recomputes the weights from q, k and the log-sum-exp that a
// forward has left, as FlashAttention's backward does: P = exp(S − L), dS = P (dO·V − Δ), Δ = dO·O.

struct Params {
  B: u32,
  H: u32,
  Hkv: u32,
  Tq: u32,
  Tk: u32,
  causal: u32,
  causal_offset: i32,
  scale: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> Q: array<f32>;
@group(0) @binding(2) var<storage, read> K: array<f32>;
@group(0) @binding(3) var<storage, read> V: array<f32>;
@group(0) @binding(4) var<storage, read> O: array<f32>;
@group(0) @binding(5) var<storage, read> LSE: array<f32>;
@group(0) @binding(6) var<storage, read> dO: array<f32>;
@group(0) @binding(7) var<storage, read_write> dQ: array<f32>;
// The other pass has no dQ, so these may have its number.
@group(0) @binding(7) var<storage, read_write> dK: array<f32>;
@group(0) @binding(8) var<storage, read_write> dV: array<f32>;

// HEAD_DIM is not declared here: the manifest's reader adds it, as it is when ours are composed.
const ROWS = 32u;

fn query_row(b: u32, i: u32, h: u32) -> u32 { return ((b * params.Tq + i) * params.H + h) * HEAD_DIM; }
fn key_row(b: u32, j: u32, h: u32) -> u32 {
  return ((b * params.Tk + j) * params.Hkv + h / (params.H / params.Hkv)) * HEAD_DIM;
}

struct Pair { p: f32, ds: f32 }

// The weight of key j for query i, and the gradient of its score.
fn pair(b: u32, h: u32, i: u32, j: u32) -> Pair {
  if (params.causal == 1u && i32(j) > i32(i) + params.causal_offset) { return Pair(0.0, 0.0); }
  let q = query_row(b, i, h);
  let k = key_row(b, j, h);
  var s = 0.0;
  var dp = 0.0;
  var delta = 0.0;
  for (var d = 0u; d < HEAD_DIM; d++) {
    s += Q[q + d] * K[k + d];
    dp += dO[q + d] * V[k + d];
    delta += dO[q + d] * O[q + d];
  }
  let p = exp(s * params.scale - LSE[(b * params.H + h) * params.Tq + i]);
  return Pair(p, p * (dp - delta));
}

@compute @workgroup_size(ROWS)
fn gradient_of_queries(@builtin(global_invocation_id) id: vec3<u32>) {
  let i = id.x;
  if (i >= params.Tq) { return; }
  var row: array<f32, HEAD_DIM>;
  for (var j = 0u; j < params.Tk; j++) {
    let ds = pair(id.z, id.y, i, j).ds;
    let k = key_row(id.z, j, id.y);
    for (var d = 0u; d < HEAD_DIM; d++) { row[d] += ds * K[k + d]; }
  }
  let q = query_row(id.z, i, id.y);
  for (var d = 0u; d < HEAD_DIM; d++) { dQ[q + d] = row[d] * params.scale; }
}

@compute @workgroup_size(ROWS)
fn gradients_of_keys(@builtin(global_invocation_id) id: vec3<u32>) {
  let j = id.x;
  if (j >= params.Tk) { return; }
  let group = params.H / params.Hkv;
  var k_row: array<f32, HEAD_DIM>;
  var v_row: array<f32, HEAD_DIM>;
  for (var h = id.y * group; h < id.y * group + group; h++) {
    for (var i = 0u; i < params.Tq; i++) {
      let both = pair(id.z, h, i, j);
      let q = query_row(id.z, i, h);
      for (var d = 0u; d < HEAD_DIM; d++) {
        k_row[d] += both.ds * Q[q + d];
        v_row[d] += both.p * dO[q + d];
      }
    }
  }
  let k = key_row(id.z, j, id.y * group);
  for (var d = 0u; d < HEAD_DIM; d++) {
    dK[k + d] = k_row[d] * params.scale;
    dV[k + d] = v_row[d];
  }
}
