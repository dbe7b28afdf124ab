"""How far a right float32 kernel may be from the truth, element by element.

With u = 2⁻²⁴ (half a float32 ulp), A = P|V|, N keys, and S̄ = the largest sum of magnitudes behind
a score of the row, a row may lose κ·u·W of the magnitudes that it sums::

    W        = 4 + ½√(D + 8)·S̄ + ½√N
    O        κu·W·A                     LSE      κu·W               attn     κu·W·P
    dV       κu·(W∘P)ᵀ|dO|              G = P∘(|dO||V|ᵀ + Δ̄),       Δ̄ = Σ|dO|A
    dQ       κu·W·(G|K|)·scale          dK       κu·((W∘G)ᵀ|Q|)·scale
    dbias    κu·W·G, summed over the axes along which the bias was broadcast

- ½√(D + 8)·S̄: rounding of a score, a dot product of D terms and some operations around it (scale,
  base of the exponential, maximum), which exp turns into a relative error. Without the 8, right
  results were off by 1.4 times the bound at D = 2 and scores near −8000.
- ½√N: random-walk growth of the sums over the keys. Where many of their terms are equal, rounding
  errors have one sign and grow with N: the term is then N/8 if that is more, the most that adding N
  equal terms can lose, over κ = 4 (N/32 failed a sum of 300 of them by 1.3). That is so where the
  weights of a row lie within 4u of 1/N, less than the spacing of the running sum (measured: up to
  2u errors have one sign, from there on they do not), and where they take few values: onehot.
- dK and dV are sums over rows: where these outnumber the keys, N is at least the excess (without it
  a right dV exceeded the bound 2.7 times: 32 heads on one key head, Tq = 1024, Tk = 2, dO > 0).
- Each bound has a floor, 2·2⁻¹²⁶ times the same sum with P (and dS) replaced by 1 and times the
  number of its terms: weights, terms and results below the smallest normal number may be flushed
  to zero. (Without that for dS a right dK of 1.9e-37 exceeded its bound 1.4 times.)
- Where it multiplies weights, κuW is e^κuW − 1: the same while it is small, and still a bound where
  scores are so large that their rounding alone changes a weight many times over.
- f16 storage adds r(|value|) and the same sum of magnitudes with r(P), for dQ and dK r(G), in the
  place of κu·W·P: the value is rounded once when stored, P or dS once when a kernel keeps them in
  f16, and Δ comes from the rounded O. r(x) = min(x, max(h·x, 2⁻²⁵)), h = 2⁻¹¹, is what rounding x
  to f16 may cost: half a step, which is fixed below 2⁻¹⁴, and all of x below 2⁻²⁵. (With h·x alone
  a dK from weights in f16 exceeded its bound 14.6 times: T = 200, scores near ±100.) LSE and attn
  are float32 in every case and gain nothing.
- softcap: the slope 1 − t², t = tanh(x / c), scales the score's own error, |c·t| joins S̄, and dx
  = dS∘(1 − t²) may be off by dS·|t|·(the error of t, doubled).

κ = 4 by default. Right float32 implementations reach 0.1 to 0.7 of these bounds; a scale that is
0.1 % off exceeds them 2.5 times (dq, dk at D = 256, T = 512) to 700 times
(tests/unit/test_tolerance.py measures both).
Sources: Higham, Accuracy and Stability, §3.1 (sums); κ and the terms of W are fitted, not proved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from server.reference import Block

F64 = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

KAPPA = 4.0
U = 2.0**-24
H16 = 2.0**-11
STEP16 = 2.0**-25
"""Half the distance of neighbouring f16 numbers below 2⁻¹⁴."""
AROUND = 8
"""Operations around the dot product of a score that round about as often as its D terms do."""
FLUSHED = 2 * 2.0**-126
SAME = 4 * U
"""Weights closer than this to each other are rounded alike when they are added up."""


def weight(s_bar: F64, n_terms: F64, D: int, alike: Bools) -> F64:
    """W of each row [R]: how many roundings, counted in u, its sums may have suffered.

    ``alike`` [R]: whether the terms of the row's sums are equal, or many of them are.
    """
    growth = 0.5 * np.sqrt(n_terms)
    growth = np.where(alike, np.maximum(growth, n_terms / 8), growth)
    found: F64 = 4 + 0.5 * np.sqrt(D + AROUND) * s_bar + growth
    return found


def block_bounds(
    block: Block, *, kappa: float = KAPPA, few_weights: bool = False, f16: bool = False
) -> dict[str, F64]:
    """The block's share of every bound, to be assembled as ``Block.outputs()`` is.

    f16: o, dq, dk, dv are stored in f16; :func:`stored_f16` then adds the term in |value|, which
    needs the assembled value.
    """
    D, n = block.q.shape[1], block.n_keys
    kept = rounded_f16 if f16 else np.zeros_like
    with np.errstate(all="ignore"):
        alike = few_weights | (block.peak * n <= 1 + SAME * n)
        w = weight(block.s_bar, n, D, alike)
        exact = np.expm1(kappa * U * w)
        floor = FLUSHED * block.seen
        few = FLUSHED * n[:, None]  # each term, and the result, may be flushed for itself
        found = {
            "o": exact[:, None] * block.a + (kept(block.p) + floor) @ np.abs(block.v) + few,
            "lse": kappa * U * w + FLUSHED,
            "attn": exact[:, None] * block.p + floor,
        }
        if block.do is not None:
            do, k, v = np.abs(block.do), np.abs(block.k), np.abs(block.v)
            delta = (do * block.a).sum(axis=1)
            size = do @ v.T + delta[:, None]  # |dO||V|ᵀ + Δ̄, so that G = P∘size
            share = exact[:, None] * block.p + floor  # κu·W∘P, [R,K]
            kept_ds = kept(block.p * size)
            dx = _slope(block, share * size + kept_ds, size, kappa) + floor
            scale = abs(block.scale)
            found["dq"] = scale * (dx @ k) + few * (1 + scale)

            terms = np.maximum(n, block.extra_terms)
            w = weight(block.s_bar, terms, D, alike)
            share = np.expm1(kappa * U * w)[:, None] * block.p + floor
            few = floor.sum(axis=0)[:, None]
            dx = _slope(block, share * size + kept_ds, size, kappa) + floor
            found["dk"] = scale * (dx.T @ np.abs(block.q)) + few * (1 + scale)
            found["dv"] = (share + kept(block.p)).T @ do + few
            found["dbias"] = share * size + kept_ds + floor
    return found


def _slope(block: Block, bound: F64, size: F64, kappa: float) -> F64:
    """Bound of dx = dS∘(1 − t²) from the bound of dS and size = G / P, all [R,K].

    t errs by its slope times the error of x / c, plus some roundings of its own.
    """
    if block.cap is None:
        return bound
    t = np.abs(block.cap)
    slope = 1 - t * t
    error_of_t = 0.5 * np.sqrt(block.q.shape[1] + AROUND) * slope * block.x / block.softcap + 4
    widened: F64 = bound * slope + kappa * U * block.p * size * 2 * t * error_of_t
    return widened


def rounded_f16(size: F64) -> F64:
    """What rounding numbers of this size to f16 may cost."""
    found: F64 = np.minimum(size, np.maximum(H16 * size, STEP16))
    return found


def stored_f16(bound: F64, value: F64) -> F64:
    """The bound of an output that is stored in f16, from that of its arithmetic."""
    return bound + H16 * np.abs(value) + STEP16
