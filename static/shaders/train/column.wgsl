// train/column.wgsl: sums over the rows of a matrix, COLUMNS columns a workgroup.
// Constants  COLUMNS, LANES: u32; a workgroup has COLUMNS * LANES invocations
// Workgroup  4 COLUMNS LANES bytes
// @use train/params.wgsl

var<workgroup> column_part: array<f32, COLUMNS * LANES>;

struct Place {
  column: u32,
  lane: u32,    // reads the rows lane, lane + LANES, ...
  index: u32,   // of the invocation
  exists: bool,
}

// Neighbouring invocations have neighbouring columns, as memory has them.
fn place_of(workgroup: vec3<u32>, index: u32) -> Place {
  let column = number_of(workgroup) * COLUMNS + index % COLUMNS;
  return Place(column, index / COLUMNS, index, column < params.columns);
}

// The sum of the parts of all lanes of a column, in their order.
fn column_sum_of(part: f32, place: Place) -> f32 {
  workgroupBarrier();  // nobody reads the parts of an earlier sum any more
  column_part[place.index] = part;
  workgroupBarrier();  // all parts are there
  var sum = 0.0;
  for (var n = 0u; n < LANES; n++) { sum += column_part[n * COLUMNS + place.index % COLUMNS]; }
  return sum;
}
