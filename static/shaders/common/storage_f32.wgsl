// common/storage_f32.wgsl: plays the role `storage` for kernels that read and write single
// elements. Tensors of f32; `at` counts elements.
// A forward writes O, a backward is given it: two names of one binding, of which a kernel uses one.

@group(0) @binding(1) var<storage, read> Q: array<f32>;
@group(0) @binding(2) var<storage, read> K: array<f32>;
@group(0) @binding(3) var<storage, read> V: array<f32>;
@group(0) @binding(4) var<storage, read_write> O: array<f32>;
@group(0) @binding(4) var<storage, read> O_given: array<f32>;
@group(0) @binding(6) var<storage, read> dO: array<f32>;
@group(0) @binding(8) var<storage, read_write> dQ: array<f32>;
@group(0) @binding(9) var<storage, read_write> dK: array<f32>;
@group(0) @binding(10) var<storage, read_write> dV: array<f32>;

fn q_element(at: u32) -> f32 { return Q[at]; }
fn k_element(at: u32) -> f32 { return K[at]; }
fn v_element(at: u32) -> f32 { return V[at]; }
fn o_element(at: u32) -> f32 { return O_given[at]; }
fn do_element(at: u32) -> f32 { return dO[at]; }
fn store_o(at: u32, value: f32) { O[at] = value; }
fn store_dq(at: u32, value: f32) { dQ[at] = value; }
fn store_dk(at: u32, value: f32) { dK[at] = value; }
fn store_dv(at: u32, value: f32) { dV[at] = value; }
