// train/product.wgsl: a matrix product, the common part of matmul.wgsl and linear.wgsl.
//
//   sum_k a_ik b_kj     (rows, columns), the sum over params.depth in ascending order
//
// The file that uses this one declares A and B, and store(at, j, sum), which puts a finished sum of
// column j to element `at` of the output. A is stored (rows, depth), or (depth, rows) with
// TRANSPOSE_A; B is stored (depth, columns), or (columns, depth) with TRANSPOSE_B.
//
// Grid       ceil(rows / 8 TY) * ceil(columns / 8 TX) workgroups of TX * TY invocations, folded.
//            Invocation (tx, ty) owns the rows 8 ty + r (r < 8) and the columns tx + TX n (n < 8)
//            of a tile.
// Constants  TX, TY: u32; TRANSPOSE_A, TRANSPOSE_B: bool
// Workgroup  nothing. Tiles staged in workgroup memory took 1.7 times as long on a software
//            adapter, and the invocations of a workgroup find each other's operands in the cache.
// Private    64 sums per invocation: a read of storage takes as long as many of their products
// Error      f32; one chain of additions a sum, so |error| <= depth 2^-24 sum |a||b|.
//
// @use train/params.wgsl
// @use common/outer.wgsl

// A read past the end of a row or column meets another number, but it only enters sums that belong
// to no element of the output.
fn load_a(i: u32, k: u32) -> f32 {
  if (TRANSPOSE_A) { return A[k * params.rows + i]; }
  return A[i * params.depth + k];
}

fn load_b(k: u32, j: u32) -> f32 {
  if (TRANSPOSE_B) { return B[j * params.depth + k]; }
  return B[k * params.columns + j];
}

fn load_rows(i: u32, k: u32) -> vec4<f32> {
  return vec4<f32>(load_a(i, k), load_a(i + 1u, k), load_a(i + 2u, k), load_a(i + 3u, k));
}

fn load_columns(k: u32, j: u32) -> vec4<f32> {
  return vec4<f32>(load_b(k, j), load_b(k, j + TX), load_b(k, j + 2u * TX), load_b(k, j + 3u * TX));
}

fn store_column(column: vec4<f32>, i: u32, j: u32) {
  if (j >= params.columns) { return; }
  for (var r = 0u; r < 4u && i + r < params.rows; r++) {
    store((i + r) * params.columns + j, j, column[r]);
  }
}

fn store_tile(tile: mat4x4<f32>, i: u32, j: u32) {
  store_column(tile[0], i, j);
  store_column(tile[1], i, j + TX);
  store_column(tile[2], i, j + 2u * TX);
  store_column(tile[3], i, j + 3u * TX);
}

fn multiply(workgroup: vec3<u32>, lane: u32) {
  let id = number_of(workgroup);
  if (id >= params.workgroups) { return; }
  let across = (params.columns + 8u * TX - 1u) / (8u * TX);
  let i = id / across * 8u * TY + 8u * (lane / TX);
  let j = id % across * 8u * TX + lane % TX;
  var upper_left = mat4x4<f32>();
  var upper_right = mat4x4<f32>();
  var lower_left = mat4x4<f32>();
  var lower_right = mat4x4<f32>();
  for (var k = 0u; k < params.depth; k++) {
    let upper = load_rows(i, k);
    let lower = load_rows(i + 4u, k);
    let left = load_columns(k, j);
    let right = load_columns(k, j + 4u * TX);
    upper_left += outer(upper, left);
    upper_right += outer(upper, right);
    lower_left += outer(lower, left);
    lower_right += outer(lower, right);
  }
  store_tile(upper_left, i, j);
  store_tile(upper_right, i, j + 4u * TX);
  store_tile(lower_left, i + 4u, j);
  store_tile(lower_right, i + 4u, j + 4u * TX);
}
