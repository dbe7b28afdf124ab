// common/reduce_subgroups.wgsl: plays the role `reduce` where the TX invocations of a row are
// neighbours in one subgroup. Every invocation of the row gets the result.

// The exchange needs a power of two, and the registry promises subgroups of at least 16 only.
const_assert 16u % TX == 0u;

// The steps are written out: a loop over the distance costs 10 % of the forward on the H200, since the
// exchanges of one row wait for each other there and those of all rows need not.
fn max_over_rows(v: ptr<function, RowValues>, tx: u32, ty: u32) {
  for (var e = 0u; e < 4u; e++) { // @unroll
    for (var r = 0u; r < ROWS; r++) { // @unroll
      if ((1u << e) < TX) { (*v)[r] = max((*v)[r], subgroupShuffleXor((*v)[r], 1u << e)); }
    }
  }
}

fn sum_over_rows(v: ptr<function, RowValues>, tx: u32, ty: u32) {
  for (var e = 0u; e < 4u; e++) { // @unroll
    for (var r = 0u; r < ROWS; r++) { // @unroll
      if ((1u << e) < TX) { (*v)[r] += subgroupShuffleXor((*v)[r], 1u << e); }
    }
  }
}
