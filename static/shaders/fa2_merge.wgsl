// fa2_merge.wgsl: joins what fa2_forward_split.wgsl made of the slices of the keys.
//
//   M = max_s M_s;   w_s = exp2(M_s - M);   l = sum_s w_s l_s
//   O   = sum_s w_s O_part_s / l               (B, Tq, H, HEAD_DIM), by strides
//   LSE = ln(2) (M + log2(l))                  (B, H, Tq)  natural log, scale included
//
// Grid       B * H * Tq workgroups of THREADS invocations, a row each, folded.
//            CX invocations share a slice, each 4 C_TILES channels of it; their THREADS / CX teams
//            take every so-manieth slice.
// Constants  HEAD_DIM, VECTORS (of 4 channels), THREADS, CX, C_TILES: u32
// Workgroup  16 THREADS + 4 THREADS bytes
// Requires   nothing beyond core WebGPU and its default limits.
//
// Masking    a slice without visible keys has M_s = SCORE_FLOOR and l_s = 0; its weight is 0. A row
//            without keys has such slices only, gets the weights 1 and sums of 0: O = 0, LSE_EMPTY.
// Error      f32 throughout; every number is rescaled once.
//
// @use storage
// @use common/params.wgsl
// @use common/floors.wgsl
// @use common/logarithms.wgsl

@group(0) @binding(5) var<storage, read_write> LSE: array<f32>;
@group(0) @binding(13) var<storage, read> O_part: array<vec4<f32>>;   // [row][slice][vector]
@group(0) @binding(14) var<storage, read> Ml_part: array<vec2<f32>>;  // [row][slice], M and l

const TEAMS = THREADS / CX;

var<workgroup> sums: array<vec4<f32>, THREADS>;  // [team][cx] of O
var<workgroup> l_lane: array<f32, THREADS>;      // at first the invocations' maxima

const_assert THREADS % CX == 0u && VECTORS <= CX * C_TILES;

@compute @workgroup_size(THREADS)
fn fa2_merge(@builtin(workgroup_id) workgroup: vec3<u32>,
             @builtin(local_invocation_index) lane: u32) {
  let row = params.first_workgroup + workgroup.x + workgroup.y * params.grid_width;
  if (row >= params.end_workgroup) { return; }  // the whole workgroup alike
  let i = row % params.Tq;
  let h = row / params.Tq % params.H;
  let b = row / params.Tq / params.H;
  let o_at = params.o_offset + b * params.o_batch + h * params.o_head + i * params.o_row;
  let part_at = row * params.slices;

  var M = SCORE_FLOOR;
  for (var s = lane; s < params.slices; s += THREADS) { M = max(M, Ml_part[part_at + s].x); }
  l_lane[lane] = M;
  workgroupBarrier();  // all maxima are there
  for (var n = 0u; n < min(params.slices, THREADS); n++) { M = max(M, l_lane[n]); }

  let cx = lane % CX;
  let team = lane / CX;
  var l = 0.0;
  var O_i: array<vec4<f32>, C_TILES>;
  for (var s = team; s < params.slices; s += TEAMS) {
    let slice = Ml_part[part_at + s];
    let weight = exp2(slice.x - M);
    l += weight * slice.y;
    for (var c = 0u; c < C_TILES; c++) { // @unroll
      O_i[c] += weight * O_part[(part_at + s) * VECTORS + min(cx + CX * c, VECTORS - 1u)];
    }
  }
  workgroupBarrier();  // all have read the maxima
  l_lane[lane] = l;
  workgroupBarrier();  // the sums of all teams are there
  l = 0.0;
  for (var t = 0u; t < TEAMS; t++) { l += l_lane[t * CX]; }
  // The largest score contributes exp2(0) = 1, so l = 0 means a row without keys; there O is 0 / 1.
  let row_sees = l > 0.0;
  l = select(1.0, l, row_sees);
  if (lane == 0u) { LSE[row] = select(LSE_EMPTY, (M + log2(l)) * LN_2, row_sees); }

  for (var c = 0u; c < C_TILES; c++) { // @unroll
    workgroupBarrier();  // the sums that lay there have been taken
    sums[lane] = O_i[c];
    workgroupBarrier();  // the sums of all teams are there
    if (team == 0u) {
      var sum = vec4<f32>();
      for (var t = 0u; t < TEAMS; t++) { sum += sums[t * CX + cx]; }
      for (var e = 0u; e < 4u; e++) {
        let d = 4u * (cx + CX * c) + e;
        if (d < HEAD_DIM) { store_o(o_at + d, sum[e] / l); }
      }
    }
  }
}
