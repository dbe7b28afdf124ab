// common/matrix_backward.wgsl: what dK, dV and dQ on the matrix unit have in common.
//
// A workgroup owns OWNED = 16 SUBGROUPS rows of one side (keys for dK and dV, query rows for dQ), 16
// a subgroup, and walks the other side in tiles of WALKED. The kernel says what the two are.
// Lanes r and r + 16 of a subgroup share its row r and halve the walked rows.
// Constants  OWNED, WALKED, WALKED_TILES = WALKED / 16, LOADS: u32
// @use common/params.wgsl
// @use common/matrix.wgsl

const S_PITCH = WALKED / 4u + 1u;  // in vec4<f32>; 4 mod 16 floats is what makes the store fast
const P_PITCH = WALKED / 8u + 1u;  // in units
const TILE_UNITS = WALKED * ROW_UNITS;
const SLOT = WALKED * ROW_PITCH;   // units of a staged tile

// P and dS are rounded to f16 between two products: |dS| must stay below 65504, and what is less than
// 2^-14 keeps fewer bits. A factor would only move that range.
const NO_WEIGHT = 1.0e38;  // stands for LSE log2(e) where nothing is seen: exp2(s - 1e38) = 0

var<workgroup> S_tile: array<vec4<f32>, OWNED * S_PITCH>;   // [owned row][walked row]
var<workgroup> dP_tile: array<vec4<f32>, OWNED * S_PITCH>;  // the same
var<workgroup> dS_tile: array<vec4<u32>, OWNED * P_PITCH>;  // the same, as f16

// LOADS units of a walked tile for every lane.
const_assert OWNED == 16u * SUBGROUPS && WALKED == 16u * WALKED_TILES;
const_assert LOADS * THREADS >= TILE_UNITS;

// Where keys walk the query rows of all heads of their group: (head, first row) of the tile after
// `now`. Past the last one it returns something that nobody uses.
fn tile_after(now: vec2<u32>, first: u32) -> vec2<u32> {
  if (now.y + WALKED < params.Tq) { return vec2<u32>(now.x, now.y + WALKED); }
  return vec2<u32>(min(now.x + 1u, params.group - 1u), first);
}

// (LSE, delta) of query row i -> what the kernels subtract: (LSE log2(e), delta). No
// weight past the end, nor where no key is seen.
fn row_values(i: u32, given: vec2<f32>) -> vec2<f32> {
  let sees = i < params.Tq && given.x > -1.0e30;
  return select(vec2<f32>(NO_WEIGHT, 0.0), vec2<f32>(given.x * LOG2_E, given.y), sees);
}
