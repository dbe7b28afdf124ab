// train/adamw.wgsl: one step of AdamW for all weights of a group, (rows = 1, columns = how many).
//
//   m += (1 - beta1) (g - m)                v += (1 - beta2) (g^2 - v)
//   w -= rate (m m_correction / (sqrt(v v_correction) + epsilon) + decay w)
//
// Elements below params.decaying, the matrices, decay; gains, shifts and biases lie behind them.
//
// Grid       ceil(columns / LANES) workgroups of LANES invocations, folded
// Constants  LANES: u32
// Source     Loshchilov and Hutter 2017, arXiv:1711.05101, Algorithm 2.
//
// @use train/element.wgsl

// What changes from step to step; static/js/train/optimizer.js packs the same members.
struct Update {
  rate: f32,
  decay: f32,
  beta1_rest: f32,    // 1 - beta1
  beta2_rest: f32,    // 1 - beta2
  epsilon: f32,
  m_correction: f32,  // 1 / (1 - beta1^t)
  v_correction: f32,  // 1 / (1 - beta2^t)
}

@group(0) @binding(1) var<storage, read> update: Update;
@group(0) @binding(2) var<storage, read> G: array<f32>;
@group(0) @binding(3) var<storage, read_write> W: array<f32>;
@group(0) @binding(4) var<storage, read_write> M: array<f32>;
@group(0) @binding(5) var<storage, read_write> V: array<f32>;

@compute @workgroup_size(LANES)
fn adamw(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let at = element_of(workgroup, lane);
  if (!element_exists(at)) { return; }
  let g = G[at];
  let m = M[at] + update.beta1_rest * (g - M[at]);
  let v = V[at] + update.beta2_rest * (g * g - V[at]);
  M[at] = m;
  V[at] = v;
  var change = m * update.m_correction / (sqrt(v * update.v_correction) + update.epsilon);
  if (at < params.decaying) { change += update.decay * W[at]; }
  W[at] -= update.rate * change;
}
