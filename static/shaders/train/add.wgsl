// train/add.wgsl: the residual connection, Y = A + B, all (rows, columns).
//
// Grid       ceil(rows * columns / LANES) workgroups of LANES invocations, folded
// Constants  LANES: u32
//
// @use train/element.wgsl

@group(0) @binding(1) var<storage, read> A: array<f32>;
@group(0) @binding(2) var<storage, read> B: array<f32>;
@group(0) @binding(3) var<storage, read_write> Y: array<f32>;

@compute @workgroup_size(LANES)
fn add(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let at = element_of(workgroup, lane);
  if (element_exists(at)) { Y[at] = A[at] + B[at]; }
}
