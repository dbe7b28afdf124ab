"""FlashAttention-2 in NumPy float32, tile by tile with online softmax, as a right kernel has it.

Test material only: an independent implementation, with the order of additions of a GPU kernel
(one key after the other, one channel after the other), to see how much of the bounds honest
rounding uses up. Not fast, and nothing ships it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

F = np.float32


def _dot(a: Any, b: Any) -> Any:
    """a [R,D] times b [C,D] transposed, added channel by channel in float32."""
    total = np.zeros((a.shape[0], b.shape[0]), F)
    for c in range(a.shape[1]):
        total += a[:, c, None] * b[None, :, c]
    return total


def _weighted(total: Any, p: Any, v: Any) -> None:
    """total [R,D] += p [R,C] v [C,D], key by key in float32."""
    for j in range(p.shape[1]):
        total += p[:, j, None] * v[j]


def through_f16(x: Any) -> Any:
    return x.astype(np.float16).astype(F)


def _as_it_is(x: Any) -> Any:
    return x


def fa2(
    q, k, v, *,
    do=None, bias=None, causal=True, offset=0, softcap=0.0, scale=None, tile=16,
    stored=_as_it_is, kept=_as_it_is,
):  # fmt: skip
    """Canonical arrays in, ``o lse attn dq dk dv dbias`` out, all float32. No windows.

    ``stored``: what storing an output does to it (the backward reads o as it was stored);
    ``kept``: what keeping P and dS between two products does to them.
    """
    with np.errstate(all="ignore"):
        got = _fa2(q, k, v, do, bias, causal, offset, softcap, scale, tile, stored, kept)
        return {n: stored(a) if n in ("o", "dq", "dk", "dv") else a for n, a in got.items()}


def _fa2(q, k, v, do, bias, causal, offset, softcap, scale, tile, stored, kept):
    B, Tq, H, D = q.shape
    Tk, Hkv = k.shape[1:3]
    scale = F(D**-0.5 if scale is None else scale)
    o, lse = np.zeros((B, Tq, H, D), F), np.zeros((B, H, Tq), F)
    got = {"o": o, "lse": lse, "attn": np.zeros((B, H, Tq, Tk), F)}
    if do is not None:
        got |= {"dq": np.zeros_like(q), "dk": np.zeros_like(k), "dv": np.zeros_like(v)}
        got = {name: array.astype(F) for name, array in got.items()}
        o, lse = got["o"], got["lse"]
        if bias is not None:
            got["dbias"] = np.zeros((B, H, Tq, Tk), F)
    for b in range(B):
        for h in range(H):
            n = h // (H // Hkv)
            Q, K, V = (x.astype(F) for x in (q[b, :, h], k[b, :, n], v[b, :, n]))
            extra = None if bias is None else np.broadcast_to(bias, (B, H, Tq, Tk))[b, h].astype(F)

            def scores(i0, j0, Q=Q, K=K, extra=extra):
                i, j = np.arange(i0, min(i0 + tile, Tq)), np.arange(j0, min(j0 + tile, Tk))
                s = _dot(Q[i], K[j]) * scale
                slope = np.ones_like(s)
                if softcap:
                    t = np.tanh(s / F(softcap))
                    s, slope = F(softcap) * t, F(1) - t * t
                if extra is not None:
                    s = s + extra[np.ix_(i, j)]
                seen = np.isfinite(s)
                if causal:
                    seen &= j <= i[:, None] + offset
                return i, j, s, seen, slope

            for i0 in range(0, Tq, tile):
                R = min(tile, Tq - i0)
                m, l_i, acc = np.full(R, F(-3e38)), np.zeros(R, F), np.zeros((R, D), F)
                for j0 in range(0, Tk, tile):
                    _, j, s, seen, _ = scores(i0, j0)
                    m_new = np.maximum(m, np.where(seen, s, F(-3e38)).max(axis=1))
                    alpha = np.exp(m - m_new)
                    p = np.where(seen, np.exp(np.minimum(s - m_new[:, None], F(0))), F(0))
                    l_i, acc = l_i * alpha, acc * alpha[:, None]
                    for c in range(len(j)):
                        l_i = l_i + p[:, c]
                    _weighted(acc, kept(p), V[j])
                    m = m_new
                some = l_i > 0
                safe = np.where(some, l_i, F(1))
                for j0 in range(0, Tk, tile):  # the writeback of attn, from the final m and l
                    _, j, s, seen, _ = scores(i0, j0)
                    p = np.where(seen, np.exp(np.minimum(s - m[:, None], F(0))), F(0))
                    got["attn"][b, h, i0 : i0 + R, j0 : j0 + len(j)] = p / safe[:, None]
                o[b, i0 : i0 + R, h] = np.where(some[:, None], acc / safe[:, None], F(0))
                lse[b, h, i0 : i0 + R] = np.where(some, m + np.log(safe), F(-3e38))
            if do is None:
                continue
            dO = do[b, :, h].astype(F)
            delta = np.zeros(Tq, F)
            for c in range(D):
                delta += dO[:, c] * stored(o[b, :, h, c])
            for i0 in range(0, Tq, tile):
                for j0 in range(0, Tk, tile):
                    i, j, s, seen, slope = scores(i0, j0)
                    p = np.where(seen, np.exp(np.minimum(s - lse[b, h, i][:, None], F(80))), F(0))
                    ds = p * (_dot(dO[i], V[j]) - delta[i][:, None])
                    if "dbias" in got:
                        got["dbias"][b, h, i0 : i0 + len(i), j0 : j0 + len(j)] = ds
                    dx, p = kept(ds * slope), kept(p)
                    dq, dk, dv = got["dq"][b, i, h], got["dk"][b, j, n], got["dv"][b, j, n]
                    _weighted(dq, dx, K[j])
                    _weighted(dk, dx.T, Q[i])
                    _weighted(dv, p.T, dO[i])
                    got["dq"][b, i, h], got["dk"][b, j, n], got["dv"][b, j, n] = dq, dk, dv
    if do is not None:
        got["dq"] *= scale
        got["dk"] *= scale
    if "dbias" in got:
        full, shape = got["dbias"], (1,) * (4 - bias.ndim) + bias.shape
        axes = tuple(a for a in range(4) if shape[a] == 1 and full.shape[a] > 1)
        for axis in axes:  # batch by batch, head by head, row by row
            full = np.add.accumulate(full, axis=axis).take([-1], axis=axis)
        got["dbias"] = full
    return got
