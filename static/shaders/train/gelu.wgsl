// train/gelu.wgsl: Y = GELU(X) in the form with tanh, all (rows, columns).
//
//   y = x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
//
// Grid       ceil(rows * columns / LANES) workgroups of LANES invocations, folded
// Constants  LANES: u32
// Source     Hendrycks and Gimpel 2016, arXiv:1606.08415, section 2.
//
// @use train/element.wgsl
// @use train/gelu_slope.wgsl

@group(0) @binding(1) var<storage, read> X: array<f32>;
@group(0) @binding(2) var<storage, read_write> Y: array<f32>;

@compute @workgroup_size(LANES)
fn gelu(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let at = element_of(workgroup, lane);
  if (!element_exists(at)) { return; }
  let x = X[at];
  Y[at] = 0.5 * x * (1.0 + gelu_tanh(x));
}
