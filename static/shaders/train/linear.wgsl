// train/linear.wgsl: a layer's product with its bias, Y = A B + bias.
//
//   y_ij = bias_j + sum_k a_ik b_kj        (rows, columns), the sum over params.depth
//
// Constants  those of train/product.wgsl, which says the rest
//
// @use train/product.wgsl

@group(0) @binding(1) var<storage, read> A: array<f32>;
@group(0) @binding(2) var<storage, read> B: array<f32>;
@group(0) @binding(3) var<storage, read> bias: array<f32>;
@group(0) @binding(4) var<storage, read_write> Y: array<f32>;

fn store(at: u32, j: u32, sum: f32) {
  Y[at] = sum + bias[j];
}

@compute @workgroup_size(TX * TY)
fn linear(@builtin(workgroup_id) workgroup: vec3<u32>,
          @builtin(local_invocation_index) lane: u32) {
  multiply(workgroup, lane);
}
