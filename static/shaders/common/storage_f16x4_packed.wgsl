// common/storage_f16x4_packed.wgsl: plays the role `storage` for kernels that read and write four
// neighbouring elements at once, on devices without shader-f16: tensors of f16, two to a word, the
// even one in its lower half; `at` counts elements and is a multiple of four.
// Requires   nothing beyond core WebGPU and its default limits.

@group(0) @binding(1) var<storage, read> Q: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read> K: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> V: array<vec2<u32>>;
@group(0) @binding(4) var<storage, read_write> O: array<vec2<u32>>;
@group(0) @binding(4) var<storage, read> O_given: array<vec2<u32>>;
@group(0) @binding(6) var<storage, read> dO: array<vec2<u32>>;
@group(0) @binding(8) var<storage, read_write> dQ: array<vec2<u32>>;
@group(0) @binding(9) var<storage, read_write> dK: array<vec2<u32>>;
@group(0) @binding(10) var<storage, read_write> dV: array<vec2<u32>>;

fn load_q(at: u32) -> vec4<f32> { return unpacked(Q[at >> 2u]); }
fn load_k(at: u32) -> vec4<f32> { return unpacked(K[at >> 2u]); }
fn load_v(at: u32) -> vec4<f32> { return unpacked(V[at >> 2u]); }
fn load_do(at: u32) -> vec4<f32> { return unpacked(dO[at >> 2u]); }
fn load_o(at: u32) -> vec4<f32> { return unpacked(O_given[at >> 2u]); }
fn store_o(at: u32, value: vec4<f32>) { O[at >> 2u] = packed(value); }
fn store_dq(at: u32, value: vec4<f32>) { dQ[at >> 2u] = packed(value); }
fn store_dk(at: u32, value: vec4<f32>) { dK[at >> 2u] = packed(value); }
fn store_dv(at: u32, value: vec4<f32>) { dV[at >> 2u] = packed(value); }

fn unpacked(words: vec2<u32>) -> vec4<f32> {
  return vec4<f32>(unpack2x16float(words.x), unpack2x16float(words.y));
}

// Rounded to nearest even. What rounds to more than 65504 is infinity: pack2x16float may make
// anything of it, and makes NaN on SwiftShader.
fn packed_pair(value: vec2<f32>) -> u32 {
  let infinite = abs(value) >= vec2<f32>(65520.0);
  let sign = (bitcast<vec2<u32>>(value) >> vec2<u32>(16u)) & vec2<u32>(0x8000u);
  let bits = pack2x16float(select(value, vec2<f32>(), infinite));
  let halves = select(vec2<u32>(bits & 0xffffu, bits >> 16u), sign | vec2<u32>(0x7c00u), infinite);
  return halves.x | (halves.y << 16u);
}

fn packed(value: vec4<f32>) -> vec2<u32> {
  return vec2<u32>(packed_pair(value.xy), packed_pair(value.zw));
}
