// common/backward.wgsl: the work on tiles that dK, dV and dQ have in common.
//
// A workgroup owns 4 TY rows of one side (keys for dK and dV, query rows for dQ) and walks the other
// side in tiles of 4 TX. Invocation (tx, ty) holds the owned rows 4 ty .. 4 ty + 3, the walked rows
// tx + TX n (n < 4) and the channels tx + TX n (n < 4 D_TILES).
//
// Q, K, V and dO come from the file that plays `storage`; the kernel says which side is which, in
// own_element() and walked_element().
// Constants  HEAD_DIM, TX, TY, D_CHUNK, R_CHUNK, D_TILES: u32
// @use common/params.wgsl
// @use common/outer.wgsl

// One column more than needed keeps the rows of a tile in different memory banks.
const A_PITCH = max(D_CHUNK, 4u * TX) + 1u;
const COLUMN_PITCH = 4u * TX + 1u;
const ROW_PITCH = 4u * TX * D_TILES;
const X_SIZE = max(D_CHUNK * COLUMN_PITCH, R_CHUNK * ROW_PITCH);

// Both serve several times a tile, which is what keeps them under 16 KB.
var<workgroup> A: array<vec4<f32>, TY * A_PITCH>;  // [ty][d] owned rows, then [ty][walked row] weights; four each
var<workgroup> X: array<f32, X_SIZE>;              // [d][walked row], then [walked row][channel]

const_assert HEAD_DIM <= ROW_PITCH && D_TILES <= 4u && 4u * TX % R_CHUNK == 0u;

// S needs Q and K, dP needs dO and V: `gradient` tells the two apart, a constant at every call.
// What lies past the end is plausible numbers of the next head, so it must be read as zero.
fn query_element(gradient: bool, at: u32, i: u32, d: u32) -> f32 {
  let exists = i < params.Tq && d < HEAD_DIM;
  if (gradient) { return select(0.0, do_element(at + i * params.do_row + d), exists); }
  return select(0.0, q_element(at + i * params.q_row + d), exists);
}

fn key_element(gradient: bool, at: u32, j: u32, d: u32) -> f32 {
  let exists = j < params.Tk && d < HEAD_DIM;
  if (gradient) { return select(0.0, v_element(at + j * params.v_row + d), exists); }
  return select(0.0, k_element(at + j * params.k_row + d), exists);
}

// Four floats of X, TX apart: neighbouring invocations read neighbouring addresses.
fn load_x(at: u32) -> vec4<f32> {
  return vec4<f32>(X[at], X[at + TX], X[at + 2u * TX], X[at + 3u * TX]);
}

// Q K^T, or dO V^T, of this invocation's four owned rows (from `own` on) and four walked rows of
// the tile that begins at `walk0`.
fn products(gradient: bool, own_at: u32, own: u32, walk_at: u32, walk0: u32,
            tx: u32, ty: u32) -> mat4x4<f32> {
  var sum = mat4x4<f32>();
  for (var d0 = 0u; d0 < HEAD_DIM; d0 += D_CHUNK) {
    workgroupBarrier();  // nobody reads what A and X held any more
    for (var d = tx; d < D_CHUNK; d += TX) {
      A[ty * A_PITCH + d] = vec4<f32>(own_element(gradient, own_at, own, d0 + d),
                                      own_element(gradient, own_at, own + 1u, d0 + d),
                                      own_element(gradient, own_at, own + 2u, d0 + d),
                                      own_element(gradient, own_at, own + 3u, d0 + d));
      for (var c = ty; c < 4u * TX; c += TY) {
        X[d * COLUMN_PITCH + c] = walked_element(gradient, walk_at, walk0 + c, d0 + d);
      }
    }
    workgroupBarrier();  // the chunk is complete
    for (var d = 0u; d < D_CHUNK; d++) {
      sum += outer(A[ty * A_PITCH + d], load_x(d * COLUMN_PITCH + tx));
    }
  }
  return sum;
}

// Output elements of one invocation: four owned rows by up to 16 channels.
struct Sums {
  t0: mat4x4<f32>,
  t1: mat4x4<f32>,
  t2: mat4x4<f32>,
  t3: mat4x4<f32>,
}

// sums += weights times the walked rows of Q or K, or of dO.
fn accumulate(sums: ptr<function, Sums>, weights: mat4x4<f32>, gradient: bool,
              walk_at: u32, walk0: u32, tx: u32, ty: u32) {
  let own = ty * A_PITCH;
  for (var c0 = 0u; c0 < 4u * TX; c0 += R_CHUNK) {
    workgroupBarrier();  // nobody reads what X held any more, and the first time A
    if (c0 == 0u) {
      A[own + tx] = weights[0];
      A[own + tx + TX] = weights[1];
      A[own + tx + 2u * TX] = weights[2];
      A[own + tx + 3u * TX] = weights[3];
    }
    for (var c = ty; c < R_CHUNK; c += TY) {
      for (var d = tx; d < HEAD_DIM; d += TX) {
        X[c * ROW_PITCH + d] = walked_element(gradient, walk_at, walk0 + c0 + c, d);
      }
    }
    workgroupBarrier();  // the weights and these rows are complete
    for (var c = 0u; c < R_CHUNK; c++) {
      let w = A[own + c0 + c];
      let at = c * ROW_PITCH + tx;
      (*sums).t0 += outer(w, load_x(at));
      if (D_TILES > 1u) { (*sums).t1 += outer(w, load_x(at + 4u * TX)); }
      if (D_TILES > 2u) { (*sums).t2 += outer(w, load_x(at + 8u * TX)); }
      if (D_TILES > 3u) { (*sums).t3 += outer(w, load_x(at + 12u * TX)); }
    }
  }
}

// P = exp(S - LSE) where the key is seen. A masked score never reaches exp: against the LSE of a
// row without keys it would give infinity, and infinity times 0 is no 0.
fn probability(s: vec4<f32>, L: vec4<f32>, seen: vec4<bool>) -> vec4<f32> {
  let exponent = select(vec4<f32>(), s * params.scale - L, seen);
  return select(vec4<f32>(), exp(exponent), seen);
}
