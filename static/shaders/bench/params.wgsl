// bench/params.wgsl: the uniform of the kernels that measure an adapter.
//
// The factors come from outside, so that no compiler can compute a round ahead of time.

struct Params {
  rounds: u32,  // of the loop
  factor: f32,
  addend: f32,
  never: f32,   // a value that no result has
}

@group(0) @binding(0) var<uniform> params: Params;
