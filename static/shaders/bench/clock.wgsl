// bench/clock.wgsl: a clock made of arithmetic. x = x * factor + addend, each after the one before.
//
// Each step waits for the last one, so the time of a round is a fixed number of cycles, however
// many units the adapter has: the time of the kernel tells the clock rate.
//
// Grid       1 workgroup of 32 invocations, a chain each
// Work       16 steps a round
//
// SINK is bound, and never written: the kernel that is timed after this one writes the same
// buffer, so the two cannot overlap.
//
// @use bench/params.wgsl

@group(0) @binding(1) var<storage, read_write> SINK: array<f32>;

@compute @workgroup_size(32)
fn clock_chain(@builtin(local_invocation_index) lane: u32) {
  let f = params.factor;
  let a = params.addend;
  var x = f32(lane);
  for (var n = 0u; n < params.rounds; n++) {
    x = fma(x, f, a); x = fma(x, f, a); x = fma(x, f, a); x = fma(x, f, a);
    x = fma(x, f, a); x = fma(x, f, a); x = fma(x, f, a); x = fma(x, f, a);
    x = fma(x, f, a); x = fma(x, f, a); x = fma(x, f, a); x = fma(x, f, a);
    x = fma(x, f, a); x = fma(x, f, a); x = fma(x, f, a); x = fma(x, f, a);
  }
  if (x == params.never) { SINK[0] = x; }  // the loop has to be computed to know
}
