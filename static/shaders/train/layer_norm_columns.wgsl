// train/layer_norm_columns.wgsl: the gradients of a layer norm's gain and shift.
//
//   dgamma_c = sum_n dy_nc xhat_nc        xhat = (x - mean_n) reciprocal_n
//   dbeta_c  = sum_n dy_nc                X, dY (rows, columns = C)
//
// Grid       ceil(columns / COLUMNS) workgroups of COLUMNS * LANES invocations, folded
// Constants  COLUMNS, LANES: u32
// Workgroup  4 COLUMNS LANES bytes
//
// @use train/column.wgsl

@group(0) @binding(1) var<storage, read> X: array<f32>;
@group(0) @binding(2) var<storage, read> stats: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read> dY: array<f32>;
@group(0) @binding(4) var<storage, read_write> dgamma: array<f32>;
@group(0) @binding(5) var<storage, read_write> dbeta: array<f32>;

@compute @workgroup_size(COLUMNS * LANES)
fn layer_norm_columns(@builtin(workgroup_id) workgroup: vec3<u32>,
                      @builtin(local_invocation_index) index: u32) {
  let place = place_of(workgroup, index);
  var gain = 0.0;
  var shift = 0.0;
  if (place.exists) {
    for (var n = place.lane; n < params.rows; n += LANES) {
      let at = n * params.columns + place.column;
      gain += dY[at] * (X[at] - stats[n].x) * stats[n].y;
      shift += dY[at];
    }
  }
  gain = column_sum_of(gain, place);
  shift = column_sum_of(shift, place);
  if (place.exists && place.lane == 0u) {
    dgamma[place.column] = gain;
    dbeta[place.column] = shift;
  }
}
