// common/dbg.wgsl: values that a kernel tells, for whoever looks for a fault in it.
//
//   dbg(7u, sum);        dbg_u(8u, j);        dbg4(9u, vec4<f32>(…));
//
// A kernel need not name this file: where its text calls one of these functions, the file and its
// buffer are added, and the entry point notes who calls (attention/instrument.js). A kernel that
// calls none is the same text as ever.
// The buffer is bounded. A value that finds no room is lost, and counted.

// server/trace_buffer.py and static/js/trace-buffer.js know this layout too.
struct DbgBuffer {
  wanted: atomic<u32>,  // values told so far, those without room included
  b: u32,               // from here on: what common/trace.wgsl is to tell
  h: u32,
  row_first: u32,
  row_end: u32,
  key_first: u32,
  key_end: u32,
  key_tile: u32,        // keys of a tile of the forward; for the reader
  records: array<vec4<u32>>,  // kind << 24 | invocation, tag, workgroup, bits of the value
}

@group(0) @binding(15) var<storage, read_write> dbg_buffer: DbgBuffer;

const DBG_F32 = 240u;  // kinds; those below belong to common/trace.wgsl
const DBG_U32 = 241u;
const DBG_VEC4 = 244u;  // and the three after it: one for each component

var<private> dbg_workgroup: u32;   // both are set where the entry point begins
var<private> dbg_invocation: u32;

fn dbg_record(kind: u32, detail: u32, a: u32, b: u32, bits: u32) {
  let n = atomicAdd(&dbg_buffer.wanted, 1u);
  if (n < arrayLength(&dbg_buffer.records)) {
    dbg_buffer.records[n] = vec4<u32>((kind << 24u) | detail, a, b, bits);
  }
}

fn dbg(tag: u32, value: f32) {
  dbg_record(DBG_F32, dbg_invocation, tag, dbg_workgroup, bitcast<u32>(value));
}

fn dbg_u(tag: u32, value: u32) {
  dbg_record(DBG_U32, dbg_invocation, tag, dbg_workgroup, value);
}

fn dbg4(tag: u32, value: vec4<f32>) {
  for (var n = 0u; n < 4u; n++) {
    dbg_record(DBG_VEC4 + n, dbg_invocation, tag, dbg_workgroup, bitcast<u32>(value[n]));
  }
}
