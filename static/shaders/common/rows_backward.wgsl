// common/rows_backward.wgsl: what fa2_dq_rows and fa2_dkdv_rows add to common/rows.wgsl.
// Constants  ROWS: u32
// @use common/params.wgsl

@group(0) @binding(5) var<storage, read> LSE: array<f32>;
@group(0) @binding(7) var<storage, read> delta: array<f32>;

fn log_sums(at: vec4<u32>) -> vec4<f32> {
  return vec4<f32>(LSE[at.x], LSE[at.y], LSE[at.z], LSE[at.w]);
}

fn deltas(at: vec4<u32>) -> vec4<f32> {
  return vec4<f32>(delta[at.x], delta[at.y], delta[at.z], delta[at.w]);
}

// A gradient is a plain sum: nothing is rescaled on the way.
fn all_kept() -> array<vec4<f32>, ROWS> {
  var ones: array<vec4<f32>, ROWS>;
  for (var r = 0u; r < ROWS; r++) { // @unroll
    ones[r] = vec4<f32>(1.0);
  }
  return ones;
}

// P = exp(S - LSE) where the key is seen. A masked score never reaches exp: against the LSE of a
// row without keys it would give infinity, and infinity times 0 is no 0.
fn probability(s: vec4<f32>, L: vec4<f32>, seen: vec4<bool>) -> vec4<f32> {
  let exponent = select(vec4<f32>(), s * params.scale - L, seen);
  return select(vec4<f32>(), exp(exponent), seen);
}
