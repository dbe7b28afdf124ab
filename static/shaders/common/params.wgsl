// common/params.wgsl: what changes with the data, so that a new sequence length needs no new
// pipeline. params.js packs the same members in the same order, and the composer compares the two.
// Strides and offsets count elements; a tensor's element (b, i, h, d) lies at
// offset + b * batch + i * row + h * head + d.

struct Params {
  B: u32,
  H: u32,
  Tq: u32,
  Tk: u32,
  group: u32,            // H / Hkv: query head h reads key head h / group
  causal_offset: i32,    // row i sees keys j <= i + causal_offset; 0 is top-left, Tk - Tq bottom-right
  scale: f32,            // multiplies Q K^T
  first_workgroup: u32,  // this dispatch covers workgroups first .. end - 1 of the whole grid
  end_workgroup: u32,
  grid_width: u32,       // workgroups in x; longer grids are folded into y
  slices: u32,           // that the keys are cut into; 1 unless fa2_forward_split does it
  q_offset: u32,
  q_batch: u32,
  q_row: u32,
  q_head: u32,
  k_offset: u32,
  k_batch: u32,
  k_row: u32,
  k_head: u32,
  v_offset: u32,
  v_batch: u32,
  v_row: u32,
  v_head: u32,
  o_offset: u32,
  o_batch: u32,
  o_row: u32,
  o_head: u32,
  do_offset: u32,
  do_batch: u32,
  do_row: u32,
  do_head: u32,
  dq_offset: u32,
  dq_batch: u32,
  dq_row: u32,
  dq_head: u32,
  dk_offset: u32,
  dk_batch: u32,
  dk_row: u32,
  dk_head: u32,
  dv_offset: u32,
  dv_batch: u32,
  dv_row: u32,
  dv_head: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
