// bench/copy.wgsl: the memory of an adapter at its most, Y = factor * X.
//
// Grid       any number of workgroups of 256 invocations; each round moves as many elements
// Work       32 bytes a round and invocation: 16 read, 16 written
//
// @use bench/params.wgsl

@group(0) @binding(1) var<storage, read> X: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> Y: array<vec4<f32>>;

@compute @workgroup_size(256)
fn copy_peak(
  @builtin(global_invocation_id) id: vec3<u32>,
  @builtin(num_workgroups) grid: vec3<u32>,
) {
  let f = params.factor;
  let stride = grid.x * 256u;
  for (var n = 0u; n < params.rounds; n++) {
    let at = n * stride + id.x;
    Y[at] = f * X[at];
  }
}
