// common/scores.wgsl: scores of 4 x 4 rows and keys straight from storage, for the kernels that write
// attn.
// @use common/params.wgsl
// @use common/outer.wgsl

// Where four rows of Q, or of K, begin. Past the end they are the last one, and not stored.
fn rows_at(at: u32, pitch: u32, rows: vec4<u32>, count: u32) -> vec4<u32> {
  return at + pitch * min(rows, vec4<u32>(count - 1u));
}

// factor Q K^T: column n of the matrix belongs to the key at keys[n].
fn scores_of(rows: vec4<u32>, keys: vec4<u32>, factor: f32) -> mat4x4<f32> {
  var S = mat4x4<f32>();
  for (var d = 0u; d < HEAD_DIM; d++) {
    let q = vec4<f32>(q_element(rows.x + d), q_element(rows.y + d), q_element(rows.z + d),
                      q_element(rows.w + d));
    let k = vec4<f32>(k_element(keys.x + d), k_element(keys.y + d), k_element(keys.z + d),
                      k_element(keys.w + d));
    S += outer(q * factor, k);
  }
  return S;
}
