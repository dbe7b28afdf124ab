// common/storage_f16.wgsl: plays the role `storage` for kernels that read and write single
// elements. Tensors of f16, which are f32 once loaded; `at` counts elements.
// A forward writes O, a backward is given it: two names of one binding, of which a kernel uses one.
// Requires   enable f16 (shader-f16). f16() rounds to nearest even on Mesa lavapipe, where every
//            exponent was tried; WGSL itself permits both neighbours.

@group(0) @binding(1) var<storage, read> Q: array<f16>;
@group(0) @binding(2) var<storage, read> K: array<f16>;
@group(0) @binding(3) var<storage, read> V: array<f16>;
@group(0) @binding(4) var<storage, read_write> O: array<f16>;
@group(0) @binding(4) var<storage, read> O_given: array<f16>;
@group(0) @binding(6) var<storage, read> dO: array<f16>;
@group(0) @binding(8) var<storage, read_write> dQ: array<f16>;
@group(0) @binding(9) var<storage, read_write> dK: array<f16>;
@group(0) @binding(10) var<storage, read_write> dV: array<f16>;

fn q_element(at: u32) -> f32 { return f32(Q[at]); }
fn k_element(at: u32) -> f32 { return f32(K[at]); }
fn v_element(at: u32) -> f32 { return f32(V[at]); }
fn o_element(at: u32) -> f32 { return f32(O_given[at]); }
fn do_element(at: u32) -> f32 { return f32(dO[at]); }
fn store_o(at: u32, value: f32) { O[at] = f16(value); }
fn store_dq(at: u32, value: f32) { dQ[at] = f16(value); }
fn store_dk(at: u32, value: f32) { dK[at] = f16(value); }
fn store_dv(at: u32, value: f32) { dV[at] = f16(value); }
