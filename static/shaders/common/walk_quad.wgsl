// common/walk_quad.wgsl: plays the role `walk` of common/rows.wgsl: each of four neighbouring
// invocations reads one of the four walked rows and hands it to the others, which takes half as
// long as reading all four, and a quarter of the text to compile.
// Constants  LANES: u32
// Requires   subgroups of at least four invocations, in the order of local_invocation_index.

const_assert LANES % 4u == 0u;  // nobody would read the rows of the lanes that a quad lacks

alias Walk = u32;  // where this invocation's row of the four begins, in elements

fn walk_from(lane: u32, at: u32, first: u32, end: u32, pitch: u32) -> Walk {
  return at + min(first + lane % 4u, end - 1u) * pitch;
}

// Four channels of the four rows, a row a column.
fn walked(values: bool, rows: Walk, d: u32) -> mat4x4<f32> {
  let own = load_walked(values, rows + d);
  return mat4x4<f32>(quadBroadcast(own, 0u), quadBroadcast(own, 1u),
                     quadBroadcast(own, 2u), quadBroadcast(own, 3u));
}
