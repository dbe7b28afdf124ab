// train/element.wgsl: the grid of kernels that work on each element alone.
// Constants  LANES: u32, invocations of a workgroup
// @use train/params.wgsl

// The element of an invocation; there are rows * columns, and the last workgroup is rarely full.
fn element_of(workgroup: vec3<u32>, lane: u32) -> u32 {
  return number_of(workgroup) * LANES + lane;
}

fn element_exists(at: u32) -> bool {
  return at < params.rows * params.columns;
}
