// common/storage_f16x4.wgsl: plays the role `storage` for kernels that read and write four
// neighbouring elements at once: tensors of f16, `at` counts elements and is a multiple of four.
// Requires   enable f16 (shader-f16); see storage_f16.wgsl about rounding.

@group(0) @binding(1) var<storage, read> Q: array<vec4<f16>>;
@group(0) @binding(2) var<storage, read> K: array<vec4<f16>>;
@group(0) @binding(3) var<storage, read> V: array<vec4<f16>>;
@group(0) @binding(4) var<storage, read_write> O: array<vec4<f16>>;
@group(0) @binding(4) var<storage, read> O_given: array<vec4<f16>>;
@group(0) @binding(6) var<storage, read> dO: array<vec4<f16>>;
@group(0) @binding(8) var<storage, read_write> dQ: array<vec4<f16>>;
@group(0) @binding(9) var<storage, read_write> dK: array<vec4<f16>>;
@group(0) @binding(10) var<storage, read_write> dV: array<vec4<f16>>;

fn load_q(at: u32) -> vec4<f32> { return vec4<f32>(Q[at >> 2u]); }
fn load_k(at: u32) -> vec4<f32> { return vec4<f32>(K[at >> 2u]); }
fn load_v(at: u32) -> vec4<f32> { return vec4<f32>(V[at >> 2u]); }
fn load_do(at: u32) -> vec4<f32> { return vec4<f32>(dO[at >> 2u]); }
fn load_o(at: u32) -> vec4<f32> { return vec4<f32>(O_given[at >> 2u]); }
fn store_o(at: u32, value: vec4<f32>) { O[at >> 2u] = vec4<f16>(value); }
fn store_dq(at: u32, value: vec4<f32>) { dQ[at >> 2u] = vec4<f16>(value); }
fn store_dk(at: u32, value: vec4<f32>) { dK[at >> 2u] = vec4<f16>(value); }
fn store_dv(at: u32, value: vec4<f32>) { dV[at >> 2u] = vec4<f16>(value); }
