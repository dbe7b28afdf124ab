// fa2_forward_split.wgsl: forward for few queries and many keys (decoding). The keys are cut into
// slices, one workgroup each, so that the grid fills the machine; fa2_merge.wgsl joins them.
//
//   M      = max_j S_j          over the keys j of the slice, S_j = log2(e) scale * q_i . k_j
//   l      = sum_j exp2(S_j - M)
//   O_part = sum_j exp2(S_j - M) v_j            not divided by l
//
// Rows       All heads that share a key head read its K and V once; see common/head_group.wgsl.
// Grid       slices * B * Hkv * ceil(group * Tq / BR) workgroups of THREADS invocations, folded.
//            KX invocations share a key of K, each with KEYS keys at once; CX invocations, a team,
//            share a key of V, each with 4 C_TILES channels. Teams keep maxima and sums of their own.
// Constants  HEAD_DIM, VECTORS (of 4 channels), THREADS, KX, CX, ROW_SLOTS (of 4 rows), KEYS,
//            C_TILES, BR = 4 ROW_SLOTS, BC = THREADS / KX KEYS: u32; CAUSAL: bool
// Workgroup  16 (4 VECTORS ROW_SLOTS + PART_SIZE + BC ROW_SLOTS + TEAMS ROW_SLOTS) bytes
// Private    4 ROW_SLOTS KEYS scores and 16 ROW_SLOTS C_TILES output elements, in registers
// Requires   nothing beyond core WebGPU and its default limits.
//
// Masking    row i sees the keys j < key_end(i), common/masking.wgsl; blocks that no row sees are
//            never visited. A slice without visible keys has M = SCORE_FLOOR, l = 0, O_part = 0.
// Error      f32 throughout; a team's sums are rescaled once a block of BC keys, and at the end.
// Source     Dao 2023, arXiv:2307.08691, Algorithm 1, over a slice of the keys.
//
// @use storage
// @use common/params.wgsl
// @use common/masking.wgsl
// @use common/head_group.wgsl
// @use common/outer.wgsl
// @use common/logarithms.wgsl

@group(0) @binding(13) var<storage, read_write> O_part: array<vec4<f32>>;  // [row][slice][vector]
@group(0) @binding(14) var<storage, read_write> Ml_part: array<vec2<f32>>;  // [row][slice], M and l

const KY = THREADS / KX;
const TEAMS = THREADS / CX;
const TEAM_KEYS = BC / TEAMS;  // of a block; team t has the keys t + TEAMS e
const SCORES = BC * ROW_SLOTS;
// Two more, so that the KX parts of a score lie in different memory banks.
const PART_PITCH = SCORES + 2u;
const PART_SIZE = max(KX * PART_PITCH, 4u * THREADS);

var<workgroup> Q_rows: array<vec4<f32>, 4u * VECTORS * ROW_SLOTS>;  // [vector][row]
var<workgroup> part: array<vec4<f32>, PART_SIZE>;  // [kx][key][slot]; S in [0]; at last O, [row][lane]
var<workgroup> P: array<vec4<f32>, SCORES>;        // [key][slot]; at last the teams' l
var<workgroup> m_team: array<vec4<f32>, TEAMS * ROW_SLOTS>;  // of a block; at last of all

const_assert HEAD_DIM <= 4u * VECTORS && VECTORS <= CX * C_TILES && BR == 4u * ROW_SLOTS;
const_assert BC == KY * KEYS && BC % TEAMS == 0u && TEAMS <= BC;
const_assert THREADS % KX == 0u && THREADS % CX == 0u && TEAM_KEYS % 4u == 0u;

fn stage_q(item: Slice, lane: u32) {
  for (var n = lane; n < VECTORS * BR; n += THREADS) {
    let p = item.p0 + n % BR;
    let at = params.q_offset + item.b * params.q_batch + head_of(item.kv_head, p) * params.q_head;
    let d = n / BR * 4u;
    let q = own_channels(load_q(at + p % params.Tq * params.q_row + d), d);
    Q_rows[n] = select(vec4<f32>(), q, p < rows_of_group()) * (params.scale * LOG2_E);
  }
}

@compute @workgroup_size(THREADS)
fn fa2_forward_split(@builtin(workgroup_id) workgroup: vec3<u32>,
                     @builtin(local_invocation_index) lane: u32) {
  let item = slice_of(workgroup);
  if (!item.exists) { return; }  // the whole workgroup alike
  let k_at = params.k_offset + item.b * params.k_batch + item.kv_head * params.k_head;
  let v_at = params.v_offset + item.b * params.v_batch + item.kv_head * params.v_head;
  let first_end = key_end(0u);  // every row sees at least the keys below this one
  let kx = lane % KX;
  let ky = lane / KX;
  let cx = lane % CX;
  let team = lane / CX;
  var m_i: array<vec4<f32>, ROW_SLOTS>;  // of this team, like l_i and O_i
  var l_i: array<vec4<f32>, ROW_SLOTS>;
  var O_i: array<mat4x4<f32>, ROW_SLOTS * C_TILES>;
  for (var r = 0u; r < ROW_SLOTS; r++) { // @unroll
    m_i[r] = vec4<f32>(SCORE_FLOOR);
  }
  stage_q(item, lane);
  workgroupBarrier();  // Q is complete

  for (var j0 = item.begin; j0 < item.end; j0 += BC) {  // the same bounds for the whole workgroup
    // Written out: declared without a value, it kept the last round's on SwiftShader.
    var S = array<vec4<f32>, KEYS * ROW_SLOTS>();
    for (var x = kx; x < VECTORS; x += KX) {
      var k: array<vec4<f32>, KEYS>;
      for (var n = 0u; n < KEYS; n++) { // @unroll
        k[n] = own_channels(load_k(k_at + key_at(j0 + ky + KY * n) * params.k_row + 4u * x), 4u * x);
      }
      for (var r = 0u; r < ROW_SLOTS; r++) { // @unroll
        let at = x * BR + 4u * r;
        let q = mat4x4<f32>(Q_rows[at], Q_rows[at + 1u], Q_rows[at + 2u], Q_rows[at + 3u]);
        for (var n = 0u; n < KEYS; n++) { // @unroll
          S[n * ROW_SLOTS + r] += k[n] * q;
        }
      }
    }
    for (var n = 0u; n < KEYS; n++) { // @unroll
      for (var r = 0u; r < ROW_SLOTS; r++) { // @unroll
        part[kx * PART_PITCH + (ky + KY * n) * ROW_SLOTS + r] = S[n * ROW_SLOTS + r];
      }
    }
    workgroupBarrier();  // all parts of the scores are there
    for (var n = lane; n < SCORES; n += THREADS) {
      var s = part[n];
      for (var x = 1u; x < KX; x++) { s += part[x * PART_PITCH + n]; }
      if (j0 + BC > first_end) {  // only blocks on the mask's edge
        let seen = vec4<u32>(j0 + n / ROW_SLOTS) < group_key_end4(item.p0 + n % ROW_SLOTS * 4u);
        s = select(vec4<f32>(SCORE_FLOOR), s, seen);
      }
      part[n] = s;  // nobody else reads this part
    }
    workgroupBarrier();  // all scores are there
    for (var n = lane; n < SCORES; n += THREADS) {
      let own = n % (TEAMS * ROW_SLOTS);
      var m = vec4<f32>(SCORE_FLOOR);
      for (var e = 0u; e < TEAM_KEYS; e++) { m = max(m, part[own + TEAMS * ROW_SLOTS * e]); }
      // A masked score never reaches exp2: where a team's row sees no key it would get the weight 1.
      let seen = part[n] > vec4<f32>(SCORE_FLOOR);
      P[n] = select(vec4<f32>(), exp2(select(vec4<f32>(), part[n] - m, seen)), seen);
      if (n == own) { m_team[own] = m; }
    }
    workgroupBarrier();  // the block's weights and the maxima they refer to are there

    var beta: array<vec4<f32>, ROW_SLOTS>;
    for (var r = 0u; r < ROW_SLOTS; r++) { // @unroll
      let m_block = m_team[team * ROW_SLOTS + r];
      let m_new = max(m_i[r], m_block);
      let alpha = exp2(m_i[r] - m_new);  // rescales what was summed against the old maximum
      beta[r] = exp2(m_block - m_new);   // and the weights of this block
      m_i[r] = m_new;
      l_i[r] *= alpha;
      for (var c = 0u; c < C_TILES; c++) { // @unroll
        O_i[r * C_TILES + c] = scale_rows(O_i[r * C_TILES + c], alpha);
      }
    }
    for (var e = 0u; e < TEAM_KEYS / 4u; e++) {
      let key = team + TEAMS * 4u * e;
      var v: array<vec4<f32>, 4u * C_TILES>;  // several loads under way at a time
      for (var n = 0u; n < 4u; n++) { // @unroll
        let at = v_at + key_at(j0 + key + TEAMS * n) * params.v_row;
        for (var c = 0u; c < C_TILES; c++) { // @unroll
          // The last invocations have no channels; they read the last ones and store nothing.
          v[n * C_TILES + c] = load_v(at + 4u * min(cx + CX * c, VECTORS - 1u));
        }
      }
      for (var n = 0u; n < 4u; n++) { // @unroll
        for (var r = 0u; r < ROW_SLOTS; r++) { // @unroll
          let p = P[(key + TEAMS * n) * ROW_SLOTS + r] * beta[r];
          l_i[r] += p;
          for (var c = 0u; c < C_TILES; c++) { // @unroll
            O_i[r * C_TILES + c] += outer(p, v[n * C_TILES + c]);
          }
        }
      }
    }
  }

  workgroupBarrier();  // nobody reads the last block's maxima and weights any more
  for (var r = 0u; r < ROW_SLOTS; r++) { // @unroll
    if (cx == 0u) { m_team[team * ROW_SLOTS + r] = m_i[r]; }
  }
  workgroupBarrier();  // the maxima of all teams are there
  for (var r = 0u; r < ROW_SLOTS; r++) { // @unroll
    var M = m_i[r];
    for (var t = 0u; t < TEAMS; t++) { M = max(M, m_team[t * ROW_SLOTS + r]); }
    let weight = exp2(m_i[r] - M);
    if (cx == 0u) { P[team * ROW_SLOTS + r] = l_i[r] * weight; }
    for (var c = 0u; c < C_TILES; c++) { // @unroll
      workgroupBarrier();  // the sums that lay there have been taken
      let tile = transpose(scale_rows(O_i[r * C_TILES + c], weight));  // a row in each column
      for (var e = 0u; e < 4u; e++) { // @unroll
        part[e * THREADS + lane] = tile[e];
      }
      workgroupBarrier();  // the sums of all teams are there
      for (var n = lane; n < 4u * CX; n += THREADS) {
        let e = n / CX;
        let p = item.p0 + 4u * r + e;
        let x = n % CX + CX * c;
        if (p < rows_of_group() && x < VECTORS) {
          let at = (item.row0 + p) * params.slices + item.slice;
          var sum = vec4<f32>();
          for (var t = 0u; t < TEAMS; t++) { sum += part[e * THREADS + t * CX + n % CX]; }
          O_part[at * VECTORS + x] = sum;
          if (x == 0u) {
            var l = 0.0;
            for (var t = 0u; t < TEAMS; t++) { l += P[t * ROW_SLOTS + r][e]; }
            Ml_part[at] = vec2<f32>(M[e], l);
          }
        }
      }
    }
  }
}
