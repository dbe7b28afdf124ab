// common/storage_f16_gathered.wgsl: plays the role `storage` for kernels that read four neighbouring
// elements of Q, K and V at once, where they do not lie at multiples of four. Tensors of f16 (shader-f16).
// @use common/storage_f16.wgsl
// @use common/gather.wgsl
