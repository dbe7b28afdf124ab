// common/logarithms.wgsl: from base e to base 2, and back.

const LOG2_E = 1.4426950408889634;
const LN_2 = 0.6931471805599453;
