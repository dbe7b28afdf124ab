// train/layer_norm.wgsl: every row with mean 0 and variance 1, then a gain and a shift a channel.
//
//   y_nc = gamma_c (x_nc - mean_n) / sqrt(variance_n + 1e-5) + beta_c     (rows, columns = C)
//   stats_n = (mean_n, 1 / sqrt(variance_n + 1e-5))                       for the backward
//
// The variance is the mean of (x - mean)^2: x^2 - mean^2 would cancel where the mean is large.
//
// Grid       ceil(rows / ROWS) workgroups of ROWS * LANES invocations, folded
// Constants  ROWS, LANES: u32
// Workgroup  4 ROWS LANES bytes
// Source     Ba, Kiros and Hinton 2016, arXiv:1607.06450.
//
// @use train/row.wgsl

@group(0) @binding(1) var<storage, read> X: array<f32>;
@group(0) @binding(2) var<storage, read> gamma: array<f32>;
@group(0) @binding(3) var<storage, read> beta: array<f32>;
@group(0) @binding(4) var<storage, read_write> Y: array<f32>;
@group(0) @binding(5) var<storage, read_write> stats: array<vec2<f32>>;

const EPSILON = 1e-5;

@compute @workgroup_size(ROWS * LANES)
fn layer_norm(@builtin(workgroup_id) workgroup: vec3<u32>,
              @builtin(local_invocation_index) index: u32) {
  let place = row_place(workgroup, index);
  let end = select(0u, params.columns, place.exists);
  let at = place.row * params.columns;
  let count = f32(params.columns);
  var part = 0.0;
  for (var c = place.lane; c < end; c += LANES) { part += X[at + c]; }
  let mean = row_sum(part, place) / count;
  part = 0.0;
  for (var c = place.lane; c < end; c += LANES) {
    let centred = X[at + c] - mean;
    part += centred * centred;
  }
  let reciprocal = 1.0 / sqrt(row_sum(part, place) / count + EPSILON);
  for (var c = place.lane; c < end; c += LANES) {
    Y[at + c] = (X[at + c] - mean) * reciprocal * gamma[c] + beta[c];
  }
  if (place.exists && place.lane == 0u) { stats[place.row] = vec2<f32>(mean, reciprocal); }
}
