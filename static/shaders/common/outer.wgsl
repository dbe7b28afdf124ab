// common/outer.wgsl: 4 x 4 tiles held in registers. A tile is a matrix whose column n belongs to
// one key or channel and whose component r belongs to query row r of the four.
// Named matrices with constant column numbers stay in registers; arrays indexed by loops do not.

// a b^T: the step that both products of attention are made of.
fn outer(a: vec4<f32>, b: vec4<f32>) -> mat4x4<f32> {
  return mat4x4<f32>(a * b.x, a * b.y, a * b.z, a * b.w);
}

// Multiplies row r by factor[r].
fn scale_rows(tile: mat4x4<f32>, factor: vec4<f32>) -> mat4x4<f32> {
  return mat4x4<f32>(tile[0] * factor, tile[1] * factor, tile[2] * factor, tile[3] * factor);
}
