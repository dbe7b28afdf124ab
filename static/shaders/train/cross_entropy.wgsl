// train/cross_entropy.wgsl: the loss of each position and the gradient of the mean loss.
//
//   loss_n     = log sum_j exp(logit_nj) - logit_n,target       natural log; X are the logits
//   dlogits_nj = (softmax(logits_n)_j - [j = target_n]) / rows
//
// The largest logit of a row is subtracted first: the exponentials stay at or below 1, and the sum
// at or above it, so both exp and log are finite for any finite logits.
//
// Grid       ceil(rows / ROWS) workgroups of ROWS * LANES invocations, folded
// Constants  ROWS, LANES: u32
// Workgroup  4 ROWS LANES bytes
//
// @use train/row.wgsl

@group(0) @binding(1) var<storage, read> X: array<f32>;
@group(0) @binding(2) var<storage, read> targets: array<u32>;
@group(0) @binding(3) var<storage, read_write> loss: array<f32>;
@group(0) @binding(4) var<storage, read_write> dlogits: array<f32>;

@compute @workgroup_size(ROWS * LANES)
fn cross_entropy(@builtin(workgroup_id) workgroup: vec3<u32>,
                 @builtin(local_invocation_index) index: u32) {
  let place = row_place(workgroup, index);
  let end = select(0u, params.columns, place.exists);
  let at = place.row * params.columns;
  var most = X[at];
  for (var j = place.lane; j < end; j += LANES) { most = max(most, X[at + j]); }
  most = row_max(most, place);
  var part = 0.0;
  for (var j = place.lane; j < end; j += LANES) { part += exp(X[at + j] - most); }
  let sum = row_sum(part, place);
  for (var j = place.lane; j < end; j += LANES) {
    let softmax = exp(X[at + j] - most) / sum;
    dlogits[at + j] = (softmax - select(0.0, 1.0, j == targets[place.row])) / f32(params.rows);
  }
  if (place.exists && place.lane == 0u) {
    loss[place.row] = log(sum) - (X[at + targets[place.row]] - most);
  }
}
