// train/embed.wgsl: X = wte[token] + wpe[position], the stream at its beginning.
//
//   x_nc = wte[tokens_n, c] + wpe[n mod T, c]       (rows = B T, columns = C), T = params.depth
//
// Grid       ceil(rows * columns / LANES) workgroups of LANES invocations, folded
// Constants  LANES: u32
//
// @use train/element.wgsl

@group(0) @binding(1) var<storage, read> tokens: array<u32>;
@group(0) @binding(2) var<storage, read> wte: array<f32>;
@group(0) @binding(3) var<storage, read> wpe: array<f32>;
@group(0) @binding(4) var<storage, read_write> X: array<f32>;

@compute @workgroup_size(LANES)
fn embed(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let at = element_of(workgroup, lane);
  if (!element_exists(at)) { return; }
  let n = at / params.columns;
  let c = at % params.columns;
  let position = n % params.depth;
  X[at] = wte[tokens[n] * params.columns + c] + wpe[position * params.columns + c];
}
