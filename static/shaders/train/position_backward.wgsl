// train/position_backward.wgsl: the gradient of the table of positions.
//
//   dwpe[t, c] = sum of dX[n, c] over all n with n mod rows = t     (rows = T, columns = C)
//
// Grid       ceil(rows * columns / LANES) workgroups of LANES invocations, folded
// Constants  LANES: u32
//
// @use train/element.wgsl

@group(0) @binding(1) var<storage, read> dX: array<f32>;  // (params.depth = B T, columns)
@group(0) @binding(2) var<storage, read_write> dwpe: array<f32>;

@compute @workgroup_size(LANES)
fn position_backward(@builtin(workgroup_id) workgroup: vec3<u32>,
                     @builtin(local_invocation_index) lane: u32) {
  let at = element_of(workgroup, lane);
  if (!element_exists(at)) { return; }
  let c = at % params.columns;
  var sum = 0.0;
  for (var n = at / params.columns; n < params.depth; n += params.rows) {
    sum += dX[n * params.columns + c];
  }
  dwpe[at] = sum;
}
