// common/reduce_workgroup.wgsl: plays the role `reduce` through workgroup memory, for devices whose
// subgroups are absent, or too small to hold all invocations of a row.

// [group of four rows][ty][tx], in A, when the products are done. One invocation writes a vector:
// two that write components of one vector may undo each other's.
const GROUPS = (ROWS + 3u) / 4u;
const_assert GROUPS * TY * TX <= A_SIZE;

fn share(v: ptr<function, RowValues>, tx: u32, ty: u32) {
  workgroupBarrier();  // nobody reads A any more
  for (var g = 0u; g < (ROWS + 3u) / 4u; g++) { // @unroll
    A[(g * TY + ty) * TX + tx] = vec4<f32>((*v)[4u * g], (*v)[min(4u * g + 1u, ROWS - 1u)],
                                          (*v)[min(4u * g + 2u, ROWS - 1u)],
                                          (*v)[min(4u * g + 3u, ROWS - 1u)]);
  }
  workgroupBarrier();  // all parts are there
}

fn give(v: ptr<function, RowValues>, g: u32, all: vec4<f32>) {
  for (var r = 0u; r < ROWS; r++) { // @unroll
    if (r / 4u == g) { (*v)[r] = all[r % 4u]; }
  }
}

fn max_over_rows(v: ptr<function, RowValues>, tx: u32, ty: u32) {
  share(v, tx, ty);
  for (var g = 0u; g < (ROWS + 3u) / 4u; g++) { // @unroll
    var all = A[(g * TY + ty) * TX];
    for (var t = 1u; t < TX; t++) { all = max(all, A[(g * TY + ty) * TX + t]); }
    give(v, g, all);
  }
}

fn sum_over_rows(v: ptr<function, RowValues>, tx: u32, ty: u32) {
  share(v, tx, ty);
  for (var g = 0u; g < (ROWS + 3u) / 4u; g++) { // @unroll
    var all = vec4<f32>();
    for (var t = 0u; t < TX; t++) { all += A[(g * TY + ty) * TX + t]; }
    give(v, g, all);
  }
}
