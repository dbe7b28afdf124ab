// train/row.wgsl: sums and maxima over the rows of a matrix, ROWS rows a workgroup, LANES
// invocations a row.
// Constants  ROWS, LANES: u32
// Workgroup  4 ROWS LANES bytes
// @use train/params.wgsl

var<workgroup> row_part: array<f32, ROWS * LANES>;

struct RowPlace {
  row: u32,
  lane: u32,     // reads the columns lane, lane + LANES, ...
  first: u32,    // invocation with lane 0 of this row
  exists: bool,  // past the last row an invocation still has to reach every barrier
}

fn row_place(workgroup: vec3<u32>, index: u32) -> RowPlace {
  let lane = index % LANES;
  let row = number_of(workgroup) * ROWS + index / LANES;
  return RowPlace(row, lane, index - lane, row < params.rows);
}

// The sum of the parts of all lanes of a row, in their order; the same for each of them.
fn row_sum(part: f32, place: RowPlace) -> f32 {
  workgroupBarrier();  // nobody reads the parts of an earlier sum any more
  row_part[place.first + place.lane] = part;
  workgroupBarrier();  // all parts are there
  var sum = 0.0;
  for (var n = 0u; n < LANES; n++) { sum += row_part[place.first + n]; }
  return sum;
}

// Their maximum.
fn row_max(part: f32, place: RowPlace) -> f32 {
  workgroupBarrier();  // as in row_sum
  row_part[place.first + place.lane] = part;
  workgroupBarrier();
  var most = row_part[place.first];
  for (var n = 1u; n < LANES; n++) { most = max(most, row_part[place.first + n]); }
  return most;
}
