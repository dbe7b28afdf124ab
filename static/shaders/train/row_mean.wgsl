// train/row_mean.wgsl: the mean of each row, X (rows, columns) -> Y (rows).
//
// Grid       ceil(rows / ROWS) workgroups of ROWS * LANES invocations, folded
// Constants  ROWS, LANES: u32
// Workgroup  4 ROWS LANES bytes
//
// @use train/row.wgsl

@group(0) @binding(1) var<storage, read> X: array<f32>;
@group(0) @binding(2) var<storage, read_write> Y: array<f32>;

@compute @workgroup_size(ROWS * LANES)
fn row_mean(@builtin(workgroup_id) workgroup: vec3<u32>,
            @builtin(local_invocation_index) index: u32) {
  let place = row_place(workgroup, index);
  let end = select(0u, params.columns, place.exists);
  var part = 0.0;
  for (var j = place.lane; j < end; j += LANES) { part += X[place.row * params.columns + j]; }
  let sum = row_sum(part, place);
  if (place.exists && place.lane == 0u) { Y[place.row] = sum / f32(params.columns); }
}
