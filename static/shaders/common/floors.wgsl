// common/floors.wgsl: what stands for minus infinity, of which WGSL has no usable one.

// Stands for a score that is masked, and for the maximum of nothing.
// Every real score is larger, and -1e38 * log2(e) is still finite, so exp() may scale it first.
const SCORE_FLOOR = -1.0e38;

// LSE of a row that sees no key; below -1e30, the agreed meaning of -inf.
const LSE_EMPTY = -3.0e38;
