// train/embed_backward.wgsl: the gradient of the table that tokens were looked up in.
//
//   dwte[t, c] = sum of dX[n, c] over all n with tokens[n] = t     (rows, columns = C)
//
// An invocation owns SEGMENT rows of a column. It walks over all params.depth lookups and adds
// those that fall into its rows, so nobody else adds there: WGSL has no atomic addition of floats,
// and its order would change from run to run.
//
// Grid       ceil(ceil(rows / SEGMENT) * columns / LANES) workgroups of LANES invocations, folded
// Constants  LANES, SEGMENT: u32
//
// @use train/element.wgsl

@group(0) @binding(1) var<storage, read> tokens: array<u32>;
@group(0) @binding(2) var<storage, read> dX: array<f32>;
@group(0) @binding(3) var<storage, read_write> dwte: array<f32>;

@compute @workgroup_size(LANES)
fn embed_backward(@builtin(workgroup_id) workgroup: vec3<u32>,
                  @builtin(local_invocation_index) lane: u32) {
  let at = element_of(workgroup, lane);
  let c = at % params.columns;
  let first = at / params.columns * SEGMENT;
  let end = min(first + SEGMENT, params.rows);
  for (var t = first; t < end; t++) { dwte[t * params.columns + c] = 0.0; }
  if (first >= params.rows) { return; }
  for (var n = 0u; n < params.depth; n++) {
    let t = tokens[n];
    if (t >= first && t < end) { dwte[t * params.columns + c] += dX[n * params.columns + c]; }
  }
}
