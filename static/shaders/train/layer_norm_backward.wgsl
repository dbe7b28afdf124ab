// train/layer_norm_backward.wgsl: the gradient of a layer norm's input, dX = or dX +=.
//
//   dx_nc = reciprocal_n (g_nc - mean_c(g) - xhat_nc mean_c(g xhat))       (rows, columns = C)
//   g = dy gamma,   xhat = (x - mean_n) reciprocal_n
//
// Grid       ceil(rows / ROWS) workgroups of ROWS * LANES invocations, folded
// Constants  ROWS, LANES: u32; ACCUMULATE: bool
// Workgroup  4 ROWS LANES bytes
//
// @use train/row.wgsl

@group(0) @binding(1) var<storage, read> X: array<f32>;
@group(0) @binding(2) var<storage, read> stats: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read> gamma: array<f32>;
@group(0) @binding(4) var<storage, read> dY: array<f32>;
@group(0) @binding(5) var<storage, read_write> dX: array<f32>;

@compute @workgroup_size(ROWS * LANES)
fn layer_norm_backward(@builtin(workgroup_id) workgroup: vec3<u32>,
                       @builtin(local_invocation_index) index: u32) {
  let place = row_place(workgroup, index);
  let end = select(0u, params.columns, place.exists);
  let at = place.row * params.columns;
  let count = f32(params.columns);
  let mean = stats[place.row].x;
  let reciprocal = stats[place.row].y;
  var part = vec2<f32>();
  for (var c = place.lane; c < end; c += LANES) {
    let g = dY[at + c] * gamma[c];
    part += vec2<f32>(g, g * (X[at + c] - mean) * reciprocal);
  }
  let g_mean = row_sum(part.x, place) / count;
  let along = row_sum(part.y, place) / count;
  for (var c = place.lane; c < end; c += LANES) {
    let g = dY[at + c] * gamma[c];
    let x_hat = (X[at + c] - mean) * reciprocal;
    let dx = reciprocal * (g - g_mean - x_hat * along);
    if (ACCUMULATE) { dX[at + c] += dx; } else { dX[at + c] = dx; }
  }
}
