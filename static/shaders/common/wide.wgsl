// common/wide.wgsl: the two products of attention on large register tiles, as the forward and the
// backward use them.
//
// A workgroup owns OWN rows of one side and walks the other side in tiles of WALK rows. Invocation
// (tx, ty) holds the owned rows ty + TY r (r < ROWS), the walked rows tx + TX n (n < KEYS) and, in
// vectors of four, the channels 4 (tx + TX o) .. + 3 (o < O_TILES).
//
// The kernel says what a row is: row_vector() gives four channels of one, of the tensor that is
// named, always by a constant. Past the last row it repeats that: such a row is masked, or never
// stored, and what lies there in memory need not be a number. Past the last channel it gives zeros.
// Constants  HEAD_DIM, TX, TY, ROWS, KEYS, O_TILES, CHUNK, V_CHUNK: u32
// @use common/logarithms.wgsl

const Q_ROWS = 0u;
const K_ROWS = 1u;
const V_ROWS = 2u;
const DO_ROWS = 3u;

const THREADS = TX * TY;
const OWN = TY * ROWS;
const WALK = TX * KEYS;
const CHANNELS = TX * O_TILES;  // vectors of four

// Each serves several times a tile: what counts is how many workgroups fit on a core together.
// The vectors of a row are rotated by the row's number, so that neighbouring rows meet other banks.
// Indices are written with + * / % and loops that count by one only: these the compiler can follow,
// and leaves its bounds checks out.
const A_SIZE = OWN * max(CHUNK, TX);
const X_SIZE = max(WALK * CHUNK, V_CHUNK * CHANNELS);
var<workgroup> A: array<vec4<f32>, A_SIZE>;  // [own row][channels], then [own row][four weights]
var<workgroup> X: array<vec4<f32>, X_SIZE>;  // [walked row][channels] of a chunk, then of all

const_assert HEAD_DIM % 4u == 0u && HEAD_DIM <= 4u * CHANNELS;
const_assert THREADS % CHUNK == 0u && KEYS % 4u == 0u && 4u * TX % V_CHUNK == 0u && V_CHUNK % 4u == 0u;

alias Scores = array<f32, ROWS * KEYS>;  // @registers
alias Sums = array<vec4<f32>, ROWS * O_TILES>;  // @registers
alias RowValues = array<f32, ROWS>;  // @registers
alias WalkedVectors = array<vec4<f32>, KEYS>;  // @registers
alias WalkedRows = array<vec4<f32>, 4u * O_TILES>;  // @registers

// Where chunks and tiles fit the head exactly, no channel lies past its end.
const FITS = HEAD_DIM % (4u * CHUNK) == 0u && HEAD_DIM == 4u * CHANNELS;

// `vector` where channel d exists, zeros past the end of the head.
fn in_head(vector: vec4<f32>, d: u32) -> vec4<f32> {
  if (FITS) { return vector; }
  return select(vec4<f32>(), vector, d < HEAD_DIM);
}

// An invocation stages the same channels of rows that lie equally far apart, so that the addresses
// need one addition each.
fn stage_own(tensor: u32, at: u32, own0: u32, d0: u32, lane: u32) {
  const STEP = THREADS / CHUNK;
  let row0 = lane % THREADS / CHUNK;
  let c = lane % CHUNK;
  for (var t = 0u; t < (OWN + STEP - 1u) / STEP; t++) {
    let row = row0 + t * STEP;
    if (OWN % STEP == 0u || row < OWN) {
      A[row * CHUNK + (c + row % TY) % CHUNK] = row_vector(tensor, at, own0 + row, d0 + 4u * c);
    }
  }
}

fn stage_walked_chunk(tensor: u32, at: u32, walked0: u32, d0: u32, lane: u32) {
  const STEP = THREADS / CHUNK;
  let row0 = lane % THREADS / CHUNK;
  let c = lane % CHUNK;
  for (var t = 0u; t < (WALK + STEP - 1u) / STEP; t++) {
    let row = row0 + t * STEP;
    if (WALK % STEP == 0u || row < WALK) {
      X[row * CHUNK + (c + row % TX) % CHUNK] = row_vector(tensor, at, walked0 + row, d0 + 4u * c);
    }
  }
}

fn stage_walked_rows(tensor: u32, at: u32, walked0: u32, lane: u32) {
  let tx = lane % TX;
  let ty = lane % THREADS / TX;
  for (var t = 0u; t < (V_CHUNK + TY - 1u) / TY; t++) {
    let row = ty + t * TY;
    if (V_CHUNK % TY == 0u || row < V_CHUNK) {
      for (var o = 0u; o < O_TILES; o++) { // @unroll
        // Row 4 s + e here is walked row s + TX e: the order in which A holds four weights a vector.
        X[row * CHANNELS + tx + TX * o] =
            row_vector(tensor, at, walked0 + row / 4u + row % 4u * TX, 4u * (tx + TX * o));
      }
    }
  }
}

// scores += the products of owned and walked rows.
fn add_products(scores: ptr<function, Scores>, own_tensor: u32, own_at: u32, own0: u32,
                walked_tensor: u32, walked_at: u32, walked0: u32, lane: u32) {
  let tx = lane % TX;
  let ty = lane % THREADS / TX;
  for (var part = 0u; part < (HEAD_DIM + 4u * CHUNK - 1u) / (4u * CHUNK); part++) { // @unroll
    let d0 = 4u * CHUNK * part;
    workgroupBarrier();  // nobody reads what A and X held any more
    stage_own(own_tensor, own_at, own0, d0, lane);
    stage_walked_chunk(walked_tensor, walked_at, walked0, d0, lane);
    workgroupBarrier();  // the chunk is complete
    for (var c = 0u; c < CHUNK; c++) {
      let own_c = (c + ty) % CHUNK;
      let walked_c = (c + tx) % CHUNK;
      var walked = WalkedVectors();
      for (var n = 0u; n < KEYS; n++) { // @unroll
        walked[n] = X[(tx + TX * n) * CHUNK + walked_c];
      }
      for (var r = 0u; r < ROWS; r++) { // @unroll
        let own = A[(ty + TY * r) * CHUNK + own_c];
        for (var n = 0u; n < KEYS; n++) { // @unroll
          var s = (*scores)[r * KEYS + n];
          s = fma(own.x, walked[n].x, s);
          s = fma(own.y, walked[n].y, s);
          s = fma(own.z, walked[n].z, s);
          s = fma(own.w, walked[n].w, s);
          (*scores)[r * KEYS + n] = s;
        }
      }
    }
  }
}

// sums += weights times walked rows.
fn accumulate(sums: ptr<function, Sums>, weights: ptr<function, Scores>, tensor: u32,
              walked_at: u32, walked0: u32, lane: u32) {
  let tx = lane % TX;
  let ty = lane % THREADS / TX;
  for (var q = 0u; q < KEYS / 4u; q++) { // @unroll
    for (var part = 0u; part < 4u * TX / V_CHUNK; part++) {
      workgroupBarrier();  // nobody reads what X held any more, and the first time A
      if (part == 0u) {
        for (var r = 0u; r < ROWS; r++) { // @unroll
          A[(ty + TY * r) * TX + (tx + ty) % TX] =
              vec4<f32>((*weights)[r * KEYS + 4u * q], (*weights)[r * KEYS + 4u * q + 1u],
                        (*weights)[r * KEYS + 4u * q + 2u], (*weights)[r * KEYS + 4u * q + 3u]);
        }
      }
      stage_walked_rows(tensor, walked_at, walked0 + 4u * TX * q + V_CHUNK / 4u * part, lane);
      workgroupBarrier();  // the weights and these rows are complete
      for (var s = 0u; s < V_CHUNK / 4u; s++) {
        let weight_s = (s + V_CHUNK / 4u * part + ty) % TX;
        var rows = WalkedRows();
        for (var o = 0u; o < O_TILES; o++) { // @unroll
          for (var e = 0u; e < 4u; e++) { // @unroll
            rows[4u * o + e] = X[(4u * s + e) * CHANNELS + tx + TX * o];
          }
        }
        for (var r = 0u; r < ROWS; r++) { // @unroll
          let w = A[(ty + TY * r) * TX + weight_s];
          for (var o = 0u; o < O_TILES; o++) { // @unroll
            // Nested: one after the other costs 3 % on the H200.
            (*sums)[r * O_TILES + o] =
                fma(vec4<f32>(w.x), rows[4u * o],
                    fma(vec4<f32>(w.y), rows[4u * o + 1u],
                        fma(vec4<f32>(w.z), rows[4u * o + 2u],
                            fma(vec4<f32>(w.w), rows[4u * o + 3u], (*sums)[r * O_TILES + o]))));
          }
        }
      }
    }
  }
}
