// common/grid.wgsl: from a workgroup to the head and the tile of rows that it owns.
// @use common/params.wgsl

struct Item {
  exists: bool,  // false past the end of a folded grid, for the whole workgroup alike
  b: u32,
  h: u32,
  tile: u32,
}

// The number of a workgroup in the whole grid of its pass, of which a dispatch may be a part.
fn number_of(workgroup: vec3<u32>) -> u32 {
  return params.first_workgroup + workgroup.x + workgroup.y * params.grid_width;
}

// Heads run fastest and the last tile comes first: under a causal mask it is the longest, and
// long tiles of all heads that start early leave no long tail at the end.
fn query_item(id: u32, tiles: u32) -> Item {
  let heads = params.B * params.H;
  let bh = id % heads;
  return Item(true, bh / params.H, bh % params.H, tiles - 1u - id / heads);
}

// The same for tiles of keys, h being a key head. The first tile comes first: under a causal mask
// most rows see it.
fn key_item(id: u32) -> Item {
  let heads = params.H / params.group;
  let bh = id % (params.B * heads);
  return Item(true, bh / heads, bh % heads, id / (params.B * heads));
}

fn item_of(workgroup: vec3<u32>, tiles: u32) -> Item {
  let id = number_of(workgroup);
  let item = query_item(id, tiles);
  return Item(id < params.end_workgroup, item.b, item.h, item.tile);
}

fn key_item_of(workgroup: vec3<u32>) -> Item {
  let id = number_of(workgroup);
  let item = key_item(id);
  return Item(id < params.end_workgroup, item.b, item.h, item.tile);
}
