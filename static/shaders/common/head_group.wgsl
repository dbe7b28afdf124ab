// common/head_group.wgsl: the rows of all query heads that share a key head, taken together. Row p
// of the group is query p % Tq of its head p / Tq.
// Constants  HEAD_DIM, BR, BC: u32; CAUSAL: bool
// @use common/params.wgsl
// @use common/masking.wgsl

fn rows_of_group() -> u32 { return params.group * params.Tq; }

// What a workgroup owns: BR rows of a group, from p0 on, and the keys begin .. end - 1.
struct Slice {
  exists: bool,  // false past the end of a folded grid, for the whole workgroup alike
  b: u32,
  kv_head: u32,
  p0: u32,
  row0: u32,     // row 0 of the group among the rows of all groups, which lie as in LSE
  slice: u32,
  begin: u32,
  end: u32,      // no row sees this key or a later one; below `begin` where the slice has no keys
}

// Tiles of rows run fastest: those that read the same keys run together. Slices are whole blocks
// of BC keys.
fn slice_of(workgroup: vec3<u32>) -> Slice {
  let id = params.first_workgroup + workgroup.x + workgroup.y * params.grid_width;
  let tiles = (rows_of_group() + BR - 1u) / BR;
  let kv_heads = params.H / params.group;
  let heads = params.B * kv_heads;
  let head = id / tiles % heads;
  let slice = id / tiles / heads;
  let blocks = (params.Tk + BC - 1u) / BC;
  let keys = (blocks + params.slices - 1u) / params.slices * BC;
  let end = min((slice + 1u) * keys, key_end(params.Tq - 1u));
  return Slice(id < params.end_workgroup, head / kv_heads, head % kv_heads, id % tiles * BR,
               head * rows_of_group(), slice, slice * keys, end);
}

// A key past the end is the last one: its score is masked, and 0 times a number there is 0.
fn key_at(j: u32) -> u32 { return min(j, params.Tk - 1u); }

// The query head that row p belongs to; past the last row some head that exists.
fn head_of(kv_head: u32, p: u32) -> u32 {
  return kv_head * params.group + min(p / params.Tq, params.group - 1u);
}

// key_end() of the rows p .. p + 3.
fn group_key_end4(p: u32) -> vec4<u32> {
  return vec4<u32>(key_end(p % params.Tq), key_end((p + 1u) % params.Tq),
                   key_end((p + 2u) % params.Tq), key_end((p + 3u) % params.Tq));
}

// Four channels from d on. Those past HEAD_DIM are the next head's, which must not count.
fn own_channels(v: vec4<f32>, d: u32) -> vec4<f32> {
  if (HEAD_DIM % 4u == 0u) { return v; }
  return select(vec4<f32>(), v, vec4<u32>(d) + vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(HEAD_DIM));
}
