// common/reduce_subgroups.wgsl: plays the role `reduce` where the TX invocations of a row are
// neighbours in one subgroup. Every invocation of the row gets the result.

// The exchange needs a power of two, and the registry promises subgroups of at least 16 only.
const_assert 16u % TX == 0u;

fn max_over_rows(v: ptr<function, array<f32, ROWS>>, tx: u32, ty: u32) {
  for (var r = 0u; r < ROWS; r++) { // @unroll
    for (var distance = 1u; distance < TX; distance *= 2u) {
      (*v)[r] = max((*v)[r], subgroupShuffleXor((*v)[r], distance));
    }
  }
}

fn sum_over_rows(v: ptr<function, array<f32, ROWS>>, tx: u32, ty: u32) {
  for (var r = 0u; r < ROWS; r++) { // @unroll
    for (var distance = 1u; distance < TX; distance *= 2u) {
      (*v)[r] += subgroupShuffleXor((*v)[r], distance);
    }
  }
}
