// fa2_dq_wide.wgsl: FlashAttention-2 backward, dQ, with large register tiles for real GPUs.
//
//   delta = rowsum(dO o O)             (B, H, Tq), for fa2_dkdv_wide, which runs next
//   P  = exp(scale * Q K^T - LSE)      recomputed a tile at a time, never stored
//   dS = P o (dO V^T - delta)
//   dQ = scale * dS K                  (B, Tq, H, HEAD_DIM), by strides
//
// Grid       B * H * ceil(Tq / BR) workgroups of TX * TY invocations, folded; see common/grid.wgsl.
// Constants  HEAD_DIM, TX, TY, ROWS, KEYS, O_TILES, CHUNK, V_CHUNK, BR = TY ROWS, BC = TX KEYS: u32;
//            CAUSAL: bool
// Workgroup  A and X of common/wide.wgsl
// Private    2 ROWS KEYS scores and 4 ROWS O_TILES output elements per invocation, in registers
// Requires   HEAD_DIM, all strides and offsets multiples of 4.
//
// Masking    row i sees the keys j < key_end(i), common/masking.wgsl; key tiles that no row of the
//            tile sees are never visited. A row without keys has O = 0, so delta = 0, and gets dQ = 0.
// Error      f32 throughout; each sum is taken in the order of the keys.
// Source     Dao 2023, arXiv:2307.08691, Algorithm 2, with its two loops exchanged: dQ needs no
//            atomics then; [A2:n] is its line n.
//
// @use storage
// @use reduce
// @use common/params.wgsl
// @use common/grid.wgsl
// @use common/wide.wgsl
// @use common/dq_wide.wgsl

@group(0) @binding(5) var<storage, read> LSE: array<f32>;
@group(0) @binding(7) var<storage, read_write> delta: array<f32>;

const_assert BR == OWN && BC == WALK;

fn row_lse(at: u32) -> f32 { return LSE[at] * LOG2_E; }

// Each invocation sums up its own channels; the rows are then summed over tx.  [A2:4]
fn make_delta(item: Item, lane: u32) -> RowValues {
  let tx = lane % TX;
  let ty = lane / TX;
  let o_at = params.o_offset + item.b * params.o_batch + item.h * params.o_head;
  let do_at = params.do_offset + item.b * params.do_batch + item.h * params.do_head;
  let head = (item.b * params.H + item.h) * params.Tq;
  let i0 = item.tile * BR;
  var delta_i = RowValues();
  for (var r = 0u; r < ROWS; r++) { // @unroll
    let i = min(i0 + ty + TY * r, params.Tq - 1u);  // rows past the end are never stored
    for (var o = 0u; o < O_TILES; o++) { // @unroll
      let d = 4u * (tx + TX * o);
      let o_vector = in_head(load_o(o_at + i * params.o_row + d), d);
      delta_i[r] += dot(row_vector(DO_ROWS, do_at, i, d), o_vector);
    }
  }
  sum_over_rows(&delta_i, tx, ty);
  for (var r = 0u; r < ROWS; r++) { // @unroll
    let i = i0 + ty + TY * r;
    if (tx == 0u && i < params.Tq) { delta[head + i] = delta_i[r]; }
  }
  return delta_i;
}

@compute @workgroup_size(TX * TY)
fn fa2_dq_wide(@builtin(workgroup_id) workgroup: vec3<u32>,
               @builtin(local_invocation_index) lane: u32) {
  let item = item_of(workgroup, (params.Tq + BR - 1u) / BR);
  if (!item.exists) { return; }  // the whole workgroup
  dq_tile(item, make_delta(item, lane), lane);
}
