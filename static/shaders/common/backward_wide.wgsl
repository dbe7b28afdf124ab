// common/backward_wide.wgsl: what fa2_dkdv_wide and fa2_dq_wide have in common beside common/wide.wgsl.
// @use common/params.wgsl

// Four channels of Q, or of dO. S needs Q and K, dP needs dO and V: `gradient` tells the two apart,
// a constant at every call.
fn query_vector(gradient: bool, at: u32, i: u32, d: u32) -> vec4<f32> {
  let row = min(i, params.Tq - 1u);
  if (gradient) { return in_head(load_do(at + row * params.do_row + d), d); }
  return in_head(load_q(at + row * params.q_row + d), d);
}

fn key_vector(gradient: bool, at: u32, j: u32, d: u32) -> vec4<f32> {
  let row = min(j, params.Tk - 1u);
  if (gradient) { return in_head(load_v(at + row * params.v_row + d), d); }
  return in_head(load_k(at + row * params.k_row + d), d);
}

// P = exp(S - LSE) where the key is seen. A masked score never reaches exp2: against the LSE of a
// row without keys it would give infinity, and infinity times 0 is no 0.
fn probability(s: f32, L_log2: f32, seen: bool) -> f32 {
  let exponent = select(0.0, fma(s, params.scale * LOG2_E, -L_log2), seen);
  return select(0.0, exp2(exponent), seen);
}
