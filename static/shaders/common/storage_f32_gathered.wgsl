// common/storage_f32_gathered.wgsl: plays the role `storage` for kernels that read four neighbouring
// elements of Q, K and V at once, where they do not lie at multiples of four. Tensors of f32.
// @use common/storage_f32.wgsl
// @use common/gather.wgsl
