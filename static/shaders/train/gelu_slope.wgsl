// train/gelu_slope.wgsl: the tanh inside GELU, shared by gelu.wgsl and gelu_backward.wgsl.

const GELU_SCALE = 0.7978845608028654;  // sqrt(2 / pi)
const GELU_CUBIC = 0.044715;

// tanh(sqrt(2/pi) (x + 0.044715 x^3)). Beyond 10 a float32 tanh is 1, and tanh(89) is NaN on some
// implementations, so the argument is clamped.
fn gelu_tanh(x: f32) -> f32 {
  return tanh(clamp(GELU_SCALE * (x + GELU_CUBIC * x * x * x), -10.0, 10.0));
}
