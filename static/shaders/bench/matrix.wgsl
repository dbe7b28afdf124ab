// bench/matrix.wgsl: the matrix unit of an adapter at its most, f16 products summed in f32.
//
// Each subgroup multiplies 2 by 4 pairs of 16 x 16 matrices; factors and sums stay in registers.
//
// Grid       any number of workgroups of 4 subgroups of 32 invocations
// Work       8 * 2 * 16^3 = 65536 floating-point operations a round and subgroup
// Requires   shader-f16, subgroups of size 32, chromium-experimental-subgroup-matrix with
//            16x16x16 f16 -> f32
//
// @use bench/params.wgsl

diagnostic(off, chromium.subgroup_matrix_uniformity);

@group(0) @binding(1) var<storage, read_write> Y: array<f32>;

alias Left = subgroup_matrix_left<f16, 16, 16>;
alias Right = subgroup_matrix_right<f16, 16, 16>;
alias Sum = subgroup_matrix_result<f32, 16, 16>;

var<workgroup> staged: array<f16, 6u * 256u>;

@compute @workgroup_size(128)
fn matrix_peak(@builtin(local_invocation_index) lane: u32) {
  // Six unlike matrices, or two sums would be one.
  for (var at = lane; at < 6u * 256u; at += 128u) {
    staged[at] = f16(params.factor + params.addend * f32(at / 256u));
  }
  workgroupBarrier();  // the matrices are loaded by other lanes
  let l0 = subgroupMatrixLoad<Left, row_major>(&staged, 0u, 16u);
  let l1 = subgroupMatrixLoad<Left, row_major>(&staged, 256u, 16u);
  let r0 = subgroupMatrixLoad<Right, col_major>(&staged, 512u, 16u);
  let r1 = subgroupMatrixLoad<Right, col_major>(&staged, 768u, 16u);
  let r2 = subgroupMatrixLoad<Right, col_major>(&staged, 1024u, 16u);
  let r3 = subgroupMatrixLoad<Right, col_major>(&staged, 1280u, 16u);
  var s0: Sum; var s1: Sum; var s2: Sum; var s3: Sum;
  var s4: Sum; var s5: Sum; var s6: Sum; var s7: Sum;
  for (var n = 0u; n < params.rounds; n++) {
    s0 = subgroupMatrixMultiplyAccumulate(l0, r0, s0);
    s1 = subgroupMatrixMultiplyAccumulate(l0, r1, s1);
    s2 = subgroupMatrixMultiplyAccumulate(l0, r2, s2);
    s3 = subgroupMatrixMultiplyAccumulate(l0, r3, s3);
    s4 = subgroupMatrixMultiplyAccumulate(l1, r0, s4);
    s5 = subgroupMatrixMultiplyAccumulate(l1, r1, s5);
    s6 = subgroupMatrixMultiplyAccumulate(l1, r2, s6);
    s7 = subgroupMatrixMultiplyAccumulate(l1, r3, s7);
  }
  // All sums go where every workgroup's go: nobody reads them, but they have to be there.
  let at = 2048u * (lane / 32u);
  subgroupMatrixStore<row_major>(&Y, at, s0, 16u);
  subgroupMatrixStore<row_major>(&Y, at + 256u, s1, 16u);
  subgroupMatrixStore<row_major>(&Y, at + 512u, s2, 16u);
  subgroupMatrixStore<row_major>(&Y, at + 768u, s3, 16u);
  subgroupMatrixStore<row_major>(&Y, at + 1024u, s4, 16u);
  subgroupMatrixStore<row_major>(&Y, at + 1280u, s5, 16u);
  subgroupMatrixStore<row_major>(&Y, at + 1536u, s6, 16u);
  subgroupMatrixStore<row_major>(&Y, at + 1792u, s7, 16u);
}
