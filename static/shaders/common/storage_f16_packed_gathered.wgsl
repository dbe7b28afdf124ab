// common/storage_f16_packed_gathered.wgsl: plays the role `storage` for kernels that read four neighbouring
// elements of Q, K and V at once, where they do not lie at multiples of four. Tensors of f16, two to a word.
// @use common/storage_f16_packed.wgsl
// @use common/gather.wgsl
