// common/trace.wgsl: the state of a kernel after each key tile, for `fa2 trace`.
//
// Kernels call these functions in comments: a line `// @trace trace_head(item.b, item.h);` is code
// only in a run that traces, which also adds this file. Every other run has the text without it.
//
// A record names the query row and the key (or the channel of O) as they are counted in the tensor.
// What lies past the end of either is told as well; the reader leaves it out.
// @use common/dbg.wgsl

// Of the forward, for each key tile. l and O are sums in the making; where the invocations of a row
// each add up keys of their own, they tell their own l, told apart by the column.
const TRACE_S = 1u;
const TRACE_M = 2u;
const TRACE_ALPHA = 3u;
const TRACE_P = 4u;  // exp(S - m_i), against the maximum so far
const TRACE_L = 5u;
const TRACE_O = 6u;

// Of dQ's tiles, and 16 more of those for dK and dV. Here P is exp(S - LSE).
const TRACE_DQ = 16u;
const TRACE_DKDV = 32u;
const TRACE_LSE = 1u;
const TRACE_DELTA = 2u;
const TRACE_WEIGHT = 3u;
const TRACE_DP = 4u;
const TRACE_DS = 5u;

var<private> trace_on: bool;  // this invocation works on the head that is traced

fn trace_head(b: u32, h: u32) {
  trace_on = b == dbg_buffer.b && h == dbg_buffer.h;
}

fn trace_value(quantity: u32, tile: u32, row: u32, column: u32, value: f32) {
  if (trace_on && row >= dbg_buffer.row_first && row < dbg_buffer.row_end) {
    dbg_record(quantity, tile, row, column, bitcast<u32>(value));
  }
}

// One column of the rows row .. row + 3.
fn trace_rows(quantity: u32, tile: u32, row: u32, column: u32, value: vec4<f32>) {
  for (var r = 0u; r < 4u; r++) { trace_value(quantity, tile, row + r, column, value[r]); }
}

// A tile as common/outer.wgsl has it, its columns `pitch` apart.
fn trace_tile(quantity: u32, tile: u32, row: u32, column: u32, pitch: u32, value: mat4x4<f32>) {
  for (var n = 0u; n < 4u; n++) {
    trace_rows(quantity, tile, row, column + n * pitch, value[n]);
  }
}

// Of a backward only one pair of tiles is told.
fn trace_pair(quantity: u32, row: u32, key: u32, value: f32) {
  if (key >= dbg_buffer.key_first && key < dbg_buffer.key_end) {
    trace_value(quantity, 0u, row, key, value);
  }
}

// Components are rows, columns are keys `pitch` apart.
fn trace_pairs(quantity: u32, row: u32, key: u32, pitch: u32, value: mat4x4<f32>) {
  for (var n = 0u; n < 4u; n++) {
    for (var r = 0u; r < 4u; r++) { trace_pair(quantity, row + r, key + n * pitch, value[n][r]); }
  }
}

// Components are keys, columns are rows `pitch` apart.
fn trace_pairs_by_key(quantity: u32, row: u32, key: u32, pitch: u32, value: mat4x4<f32>) {
  for (var n = 0u; n < 4u; n++) {
    for (var r = 0u; r < 4u; r++) { trace_pair(quantity, row + n * pitch, key + r, value[n][r]); }
  }
}
