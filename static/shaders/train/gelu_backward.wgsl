// train/gelu_backward.wgsl: dX = dY GELU'(X), all (rows, columns).
//
//   dx = dy ((1 + t)/2 + x/2 (1 - t^2) sqrt(2/pi) (1 + 3 * 0.044715 x^2))
//   t  = tanh(sqrt(2/pi) (x + 0.044715 x^3))
//
// Grid       ceil(rows * columns / LANES) workgroups of LANES invocations, folded
// Constants  LANES: u32
//
// @use train/element.wgsl
// @use train/gelu_slope.wgsl

@group(0) @binding(1) var<storage, read> X: array<f32>;
@group(0) @binding(2) var<storage, read> dY: array<f32>;
@group(0) @binding(3) var<storage, read_write> dX: array<f32>;

@compute @workgroup_size(LANES)
fn gelu_backward(@builtin(workgroup_id) workgroup: vec3<u32>,
                 @builtin(local_invocation_index) lane: u32) {
  let at = element_of(workgroup, lane);
  if (!element_exists(at)) { return; }
  let x = X[at];
  let t = gelu_tanh(x);
  let slope = GELU_SCALE * (1.0 + 3.0 * GELU_CUBIC * x * x);
  dX[at] = dY[at] * (0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * slope);
}
