// common/backward_wide.wgsl: what dq_wide.wgsl and dkdv_wide.wgsl have in common.
// @use common/params.wgsl
// @use common/wide.wgsl

// LSE log2(e) and delta of each query row of all heads, by fa2_row_terms: in one buffer, since eight
// are what every device binds.
@group(0) @binding(16) var<storage, read> row_terms: array<vec2<f32>>;

fn row_lse(at: u32) -> f32 { return row_terms[at].x; }
fn row_delta(at: u32) -> f32 { return row_terms[at].y; }

fn row_vector(tensor: u32, at: u32, row: u32, d: u32) -> vec4<f32> {
  let i = min(row, params.Tq - 1u);
  let j = min(row, params.Tk - 1u);
  if (tensor == Q_ROWS) { return in_head(load_q(at + i * params.q_row + d), d); }
  if (tensor == DO_ROWS) { return in_head(load_do(at + i * params.do_row + d), d); }
  if (tensor == V_ROWS) { return in_head(load_v(at + j * params.v_row + d), d); }
  return in_head(load_k(at + j * params.k_row + d), d);
}

// P = exp(S - LSE) where the key is seen. A masked score never reaches exp2: against the LSE of a
// row without keys it would give infinity, and infinity times 0 is no 0.
fn probability(s: f32, L_log2: f32, seen: bool) -> f32 {
  let exponent = select(0.0, fma(s, params.scale * LOG2_E, -L_log2), seen);
  return select(0.0, exp2(exponent), seen);
}
