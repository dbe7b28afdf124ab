// common/walk_plain.wgsl: plays the role `walk` of common/rows.wgsl: every invocation reads all
// four walked rows itself.
// Requires   nothing beyond core WebGPU.

alias Walk = vec4<u32>;  // where four walked rows begin, in elements

fn walk_from(lane: u32, at: u32, first: u32, end: u32, pitch: u32) -> Walk {
  return rows_from(at, first, end, pitch);
}

// Four channels of the four rows, a row a column.
fn walked(values: bool, rows: Walk, d: u32) -> mat4x4<f32> {
  let at = rows + d;
  return mat4x4<f32>(load_walked(values, at.x), load_walked(values, at.y),
                     load_walked(values, at.z), load_walked(values, at.w));
}
