// bench/fma.wgsl: the f32 arithmetic of an adapter at its most, Y = sum of 32 accumulators.
//
// The accumulators do not depend on each other and stay in registers: nothing but the rate of
// fused multiply-adds bounds it.
//
// Grid       any number of workgroups of 256 invocations
// Work       4 * 8 * 4 * 2 = 256 floating-point operations a round and invocation
//
// @use bench/params.wgsl

@group(0) @binding(1) var<storage, read_write> Y: array<f32>;

@compute @workgroup_size(256)
fn fma_peak(@builtin(local_invocation_index) lane: u32) {
  let f = vec4<f32>(params.factor);
  let a = vec4<f32>(params.addend);
  let start = f32(lane);
  var x0 = vec4<f32>(start);
  var x1 = vec4<f32>(start + 1.0);
  var x2 = vec4<f32>(start + 2.0);
  var x3 = vec4<f32>(start + 3.0);
  var x4 = vec4<f32>(start + 4.0);
  var x5 = vec4<f32>(start + 5.0);
  var x6 = vec4<f32>(start + 6.0);
  var x7 = vec4<f32>(start + 7.0);
  for (var n = 0u; n < params.rounds; n++) {
    x0 = fma(x0, f, a); x1 = fma(x1, f, a); x2 = fma(x2, f, a); x3 = fma(x3, f, a);
    x4 = fma(x4, f, a); x5 = fma(x5, f, a); x6 = fma(x6, f, a); x7 = fma(x7, f, a);
    x0 = fma(x0, f, a); x1 = fma(x1, f, a); x2 = fma(x2, f, a); x3 = fma(x3, f, a);
    x4 = fma(x4, f, a); x5 = fma(x5, f, a); x6 = fma(x6, f, a); x7 = fma(x7, f, a);
    x0 = fma(x0, f, a); x1 = fma(x1, f, a); x2 = fma(x2, f, a); x3 = fma(x3, f, a);
    x4 = fma(x4, f, a); x5 = fma(x5, f, a); x6 = fma(x6, f, a); x7 = fma(x7, f, a);
    x0 = fma(x0, f, a); x1 = fma(x1, f, a); x2 = fma(x2, f, a); x3 = fma(x3, f, a);
    x4 = fma(x4, f, a); x5 = fma(x5, f, a); x6 = fma(x6, f, a); x7 = fma(x7, f, a);
  }
  // Every workgroup writes the same: nobody reads it, but it has to be there.
  Y[lane] = dot(x0 + x1 + x2 + x3 + x4 + x5 + x6 + x7, vec4<f32>(1.0));
}
