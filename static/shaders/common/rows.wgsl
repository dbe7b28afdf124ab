// common/rows.wgsl: tiles for SwiftShader, without workgroup memory or barriers. (Mesa's lavapipe,
// also on a CPU, takes twice as long to compile these kernels as those with workgroup memory.)
//
// There an invocation is a lane of a vector register: a read of storage takes as long as about a
// hundred fused multiply-adds wherever the lanes read, a barrier swaps whole call stacks, and an
// array indexed by a constant costs next to nothing. So every invocation works alone, on a tile so
// large that each four-element read serves many products.
//
// An invocation owns 4 ROWS rows of one side (query rows, or keys for dK and dV) and walks the
// other side, the same for all, in tiles of 4 WALKS. Matrices are 4 x 4: owned and walked rows come
// in fours, channels in chunks of four.
// The kernel says which side is which, in load_own() and load_walked(). S needs Q and K, dP needs
// dO and V: `values` tells the two pairs apart, a constant at every call.
// Constants  HEAD_DIM, ROWS, WALKS: u32
// Private    32 ROWS WALKS scores, HEAD_DIM 4 ROWS output elements (twice for dK and dV)
// @use walk
// @use common/params.wgsl
// @use common/outer.wgsl

const CHUNKS = HEAD_DIM / 4u;
const_assert HEAD_DIM % 4u == 0u;

alias OwnedRows = array<vec4<u32>, ROWS>;    // where each row begins, in elements
alias WalkedRows = array<Walk, WALKS>;         // the same, as the file that plays `walk` has it
alias Tile = array<array<mat4x4<f32>, WALKS>, ROWS>;  // [r][n]: column = walked row, component = owned row
alias Sums = array<array<mat4x4<f32>, ROWS>, CHUNKS>;  // [c][r]: column = channel, component = owned row

// Where the rows first .. first + 3 begin. Rows past the end are read as the last one, which is
// what keeps other heads' numbers out; masks and stores leave them out.
fn rows_from(at: u32, first: u32, end: u32, pitch: u32) -> vec4<u32> {
  return at + min(first + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(end - 1u)) * pitch;
}

fn owned(values: bool, at: vec4<u32>) -> mat4x4<f32> {
  return transpose(mat4x4<f32>(load_own(values, at.x), load_own(values, at.y),
                               load_own(values, at.z), load_own(values, at.w)));
}

// tile = Q K^T, or dO V^T (or their transposes): owned rows by walked rows.
fn multiply(tile: ptr<function, Tile>, values: bool, own: OwnedRows, walk: WalkedRows) {
  *tile = Tile();
  for (var c = 0u; c < CHUNKS; c++) {
    var A: array<mat4x4<f32>, ROWS>;
    for (var r = 0u; r < ROWS; r++) { // @unroll
      A[r] = owned(values, own[r] + 4u * c);
    }
    for (var n = 0u; n < WALKS; n++) { // @unroll
      let X = walked(values, walk[n], 4u * c);
      for (var r = 0u; r < ROWS; r++) { // @unroll
        (*tile)[r][n] += A[r] * X;
      }
    }
  }
}

// sums = kept * sums + weights times the walked rows of K or Q, or of V or dO.
fn accumulate(sums: ptr<function, Sums>, kept: array<vec4<f32>, ROWS>, weights: ptr<function, Tile>,
              values: bool, walk: WalkedRows) {
  for (var c = 0u; c < CHUNKS; c++) {
    var X: array<mat4x4<f32>, WALKS>;
    for (var n = 0u; n < WALKS; n++) { // @unroll
      X[n] = transpose(walked(values, walk[n], 4u * c));
    }
    for (var r = 0u; r < ROWS; r++) { // @unroll
      var sum = scale_rows((*sums)[c][r], kept[r]);
      for (var n = 0u; n < WALKS; n++) { // @unroll
        sum += (*weights)[r][n] * X[n];
      }
      (*sums)[c][r] = sum;
    }
  }
}
