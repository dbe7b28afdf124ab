// common/floors.wgsl: what stands for minus infinity, of which WGSL has no usable one.

// Stands for a score that is masked, and for the maximum of nothing.
// Every score that a kernel is made for is larger (their sizes stay below 3e37, an LSE above -1e30),
// and -1e38 * log2(e) is still finite, so exp() may scale it first.
const SCORE_FLOOR = -1.0e38;

// LSE of a row that sees no key; below -1e30, the agreed meaning of -inf.
const LSE_EMPTY = -3.0e38;
