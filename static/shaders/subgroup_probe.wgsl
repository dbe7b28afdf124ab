// subgroup_probe.wgsl: what the subgroups of a device are really like.
//
// Kernels that use subgroups count on four things which WGSL leaves open: a subgroup is a run of
// neighbouring invocations, in their order; all of them hold the size that the device told; a
// shuffle reads the neighbour that it names. subgroups.js compares what every invocation saw.
//
// Grid       1 workgroup of 256 invocations
// Workgroup  nothing
// Requires   the feature `subgroups`

enable subgroups;

struct Seen {
  size: u32,
  place: u32,      // in the subgroup
  first: u32,      // lane of the subgroup's first invocation
  neighbour: u32,  // lane of the invocation whose place differs in the lowest bit
}

@group(0) @binding(0) var<storage, read_write> seen: array<Seen, 256>;

@compute @workgroup_size(256)
fn subgroup_probe(@builtin(local_invocation_index) lane: u32,
                  @builtin(subgroup_invocation_id) place: u32,
                  @builtin(subgroup_size) size: u32) {
  seen[lane] = Seen(size, place, subgroupBroadcastFirst(lane), subgroupShuffleXor(lane, 1u));
}
