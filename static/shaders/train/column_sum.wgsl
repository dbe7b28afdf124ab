// train/column_sum.wgsl: the gradient of a bias, Y_c = sum_n X_nc, X (rows, columns).
//
// Grid       ceil(columns / COLUMNS) workgroups of COLUMNS * LANES invocations, folded
// Constants  COLUMNS, LANES: u32
// Workgroup  4 COLUMNS LANES bytes
//
// @use train/column.wgsl

@group(0) @binding(1) var<storage, read> X: array<f32>;
@group(0) @binding(2) var<storage, read_write> Y: array<f32>;

@compute @workgroup_size(COLUMNS * LANES)
fn column_sum(@builtin(workgroup_id) workgroup: vec3<u32>,
              @builtin(local_invocation_index) index: u32) {
  let place = place_of(workgroup, index);
  var part = 0.0;
  if (place.exists) {
    for (var n = place.lane; n < params.rows; n += LANES) {
      part += X[n * params.columns + place.column];
    }
  }
  let sum = column_sum_of(part, place);
  if (place.exists && place.lane == 0u) { Y[place.column] = sum; }
}
