// common/masking.wgsl: which keys a query row sees; with it come the floors of what it does not see.
// Constants  CAUSAL: bool
// @use common/params.wgsl
// @use common/floors.wgsl

// Row i sees the keys j < key_end(i). Rows past the end see none.
fn key_end(i: u32) -> u32 {
  if (i >= params.Tq) { return 0u; }
  if (!CAUSAL) { return params.Tk; }
  return u32(clamp(i32(i) + params.causal_offset + 1, 0, i32(params.Tk)));
}

// The same for the rows i .. i + 3.
fn key_end4(i: u32) -> vec4<u32> {
  return vec4<u32>(key_end(i), key_end(i + 1u), key_end(i + 2u), key_end(i + 3u));
}

// The first row that sees key j, so that all rows from there on see it; Tq if none does.
fn first_row(j: u32) -> u32 {
  if (!CAUSAL) { return 0u; }
  return u32(clamp(i32(j) - params.causal_offset, 0, i32(params.Tq)));
}
