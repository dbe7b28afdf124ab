// train/params.wgsl: sizes of a training kernel's matrices and grid. static/js/train/params.js
// packs the same members in the same order, and the composer compares the two.

struct Params {
  rows: u32,        // of the output; its element (i, j) lies at i * columns + j
  columns: u32,
  depth: u32,       // terms of a sum; the context T in embed.wgsl
  decaying: u32,    // AdamW: the elements below this one shrink
  workgroups: u32,  // of the whole grid
  grid_width: u32,  // workgroups in x; longer grids are folded into y
}

@group(0) @binding(0) var<uniform> params: Params;

// The number of a workgroup. Not below params.workgroups in the last row of a folded grid: such a
// workgroup has nothing to do, and returns as a whole.
fn number_of(workgroup: vec3<u32>) -> u32 {
  return workgroup.x + workgroup.y * params.grid_width;
}
