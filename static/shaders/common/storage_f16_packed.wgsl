// common/storage_f16_packed.wgsl: plays the role `storage` for kernels that read and write single
// elements, on devices without shader-f16. Tensors of f16, two to a word, the even one in its lower
// half; `at` counts elements.
// A forward writes O, a backward is given it: two names of one binding, of which a kernel uses one.
//
// The other half of a word may belong to another invocation, to another workgroup, or to nobody (a
// gap between rows), so a store must change its own half alone: two atomic operations that leave
// the other half as it is. Each half has one writer, so their order does not show in the result.
// Requires   nothing beyond core WebGPU and its default limits.

@group(0) @binding(1) var<storage, read> Q: array<u32>;
@group(0) @binding(2) var<storage, read> K: array<u32>;
@group(0) @binding(3) var<storage, read> V: array<u32>;
@group(0) @binding(4) var<storage, read_write> O: array<atomic<u32>>;
@group(0) @binding(4) var<storage, read> O_given: array<u32>;
@group(0) @binding(6) var<storage, read> dO: array<u32>;
@group(0) @binding(8) var<storage, read_write> dQ: array<atomic<u32>>;
@group(0) @binding(9) var<storage, read_write> dK: array<atomic<u32>>;
@group(0) @binding(10) var<storage, read_write> dV: array<atomic<u32>>;

fn half_of(word: u32, at: u32) -> f32 {
  let both = unpack2x16float(word);
  return select(both.x, both.y, (at & 1u) == 1u);
}

fn q_element(at: u32) -> f32 { return half_of(Q[at / 2u], at); }
fn k_element(at: u32) -> f32 { return half_of(K[at / 2u], at); }
fn v_element(at: u32) -> f32 { return half_of(V[at / 2u], at); }
fn o_element(at: u32) -> f32 { return half_of(O_given[at / 2u], at); }
fn do_element(at: u32) -> f32 { return half_of(dO[at / 2u], at); }

// How far the half lies from the word's lowest bit.
fn shift_of(at: u32) -> u32 { return 16u * (at & 1u); }

// The bits of `value`, rounded to nearest even (so rounds pack2x16float on SwiftShader and Mesa
// lavapipe). What rounds to more than 65504 is infinity: pack2x16float may make anything of it,
// and makes NaN on SwiftShader.
fn half_bits(value: f32) -> u32 {
  let sign = (bitcast<u32>(value) >> 16u) & 0x8000u;
  return select(pack2x16float(vec2<f32>(value, 0.0)) & 0xffffu, sign | 0x7c00u, abs(value) >= 65520.0);
}

fn store_o(at: u32, value: f32) {
  atomicAnd(&O[at / 2u], 0xffff0000u >> shift_of(at));
  atomicOr(&O[at / 2u], half_bits(value) << shift_of(at));
}

fn store_dq(at: u32, value: f32) {
  atomicAnd(&dQ[at / 2u], 0xffff0000u >> shift_of(at));
  atomicOr(&dQ[at / 2u], half_bits(value) << shift_of(at));
}

fn store_dk(at: u32, value: f32) {
  atomicAnd(&dK[at / 2u], 0xffff0000u >> shift_of(at));
  atomicOr(&dK[at / 2u], half_bits(value) << shift_of(at));
}

fn store_dv(at: u32, value: f32) {
  atomicAnd(&dV[at / 2u], 0xffff0000u >> shift_of(at));
  atomicOr(&dV[at / 2u], half_bits(value) << shift_of(at));
}
