// common/gather.wgsl: four neighbouring elements, read one by one, from any place. `at` counts
// elements. Up to three may lie past the end of a row, and of the tensor: WebGPU then gives some
// element of it, and the kernel takes no more channels than there are.

fn load_q(at: u32) -> vec4<f32> {
  return vec4<f32>(q_element(at), q_element(at + 1u), q_element(at + 2u), q_element(at + 3u));
}

fn load_k(at: u32) -> vec4<f32> {
  return vec4<f32>(k_element(at), k_element(at + 1u), k_element(at + 2u), k_element(at + 3u));
}

fn load_v(at: u32) -> vec4<f32> {
  return vec4<f32>(v_element(at), v_element(at + 1u), v_element(at + 2u), v_element(at + 3u));
}
