"""Attention and its gradients in float64: the truth that every kernel is measured against.

One plain implementation, walked in blocks of rows so that memory stays bounded: a block holds at
most ``BLOCK_ELEMENTS`` scores, and no T×T array exists unless ``attn`` is asked for. Everything
that others need (P and the magnitudes behind the error bounds, the wrong answers of the negative
controls) comes out of the same :func:`walk`; there is no second copy of the mathematics.

Formulas, for query row i and key j of one head (query head h reads key head ``h // (H / Hkv)``)::

    x = scale·Q Kᵀ          s = softcap·tanh(x / softcap)  or x          S = s + bias, then the mask
    L = log Σ_j exp S       P = exp(S − L)                               O = P V
    Δ = rowsum(dO∘O)        dP = dO Vᵀ                                   dS = P∘(dP − Δ)
    dV = Pᵀ dO              dx = dS∘(1 − tanh²(x / softcap))  or dS      dbias = Σ dS
    dQ = scale·dx K         dK = scale·dxᵀ Q

The mask is that of ``attention_problem.py``. A row that sees no key has O = 0, P = 0, gradients 0
and L = −inf.

Source: Dao, FlashAttention-2, arXiv:2307.08691, section 2.1 (forward) and 2.2 (backward).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from server.attention_problem import BLOCK_ELEMENTS, F64, Array, Problem
from server.errors import CaseError

Columns = slice | npt.NDArray[np.intp]


@dataclass(frozen=True)
class Block:
    """Some rows of one head, everything between inputs and outputs, float64.

    R rows, K keys (those the rows can see at all, or the chosen ones among them).
    ``s_bar`` [R] is the largest sum of magnitudes behind a score of the row,
    |scale|·Σ|q||k| (times the softcap's slope, plus |capped|) + |bias|; ``a`` [R,Dv] is P|V|;
    ``peak`` [R] the largest weight. These, like lse, o and n_keys, always cover all keys.
    ``extra_terms``: by how much the rows that add up to one dk or dv outnumber the keys
    (grouped heads, Tq > Tk).
    """

    b: int
    h: int
    hkv: int
    at: slice  # positions of the rows on the assembled row axis
    cols: Columns  # positions of the keys on the assembled key axis
    q: F64  # [R,D]
    k: F64  # [K,D]
    v: F64  # [K,Dv]
    seen: npt.NDArray[np.bool_]  # [R,K]
    s: F64  # [R,K] scores, −inf where masked
    p: F64  # [R,K]
    x: F64  # [R,K] magnitudes |scale|·|q||k|ᵀ of the uncapped scores
    cap: F64 | None  # [R,K] tanh(x / softcap), None without softcap
    lse: F64  # [R]
    o: F64  # [R,Dv]
    a: F64  # [R,Dv]
    s_bar: F64  # [R]
    peak: F64  # [R]
    n_keys: F64  # [R]
    extra_terms: int
    scale: float
    softcap: float
    do: F64 | None = None  # [R,Dv]
    ds: F64 | None = None  # [R,K] gradient of the biased score

    def outputs(self) -> dict[str, F64]:
        """This block's share of every output (row outputs as they are, key outputs to be added)."""
        found = {"o": self.o, "lse": self.lse, "attn": self.p}
        if self.do is not None and self.ds is not None:
            dx = self.ds if self.cap is None else self.ds * (1 - self.cap * self.cap)
            found["dv"] = self.p.T @ self.do
            found["dq"] = self.scale * (dx @ self.k)
            found["dk"] = self.scale * (dx.T @ self.q)
            found["dbias"] = self.ds
        return found


def walk(
    problem: Problem, *, rows: Array | None = None, keys: Array | None = None
) -> Iterator[Block]:
    """Yield the blocks of every head, rows ascending.

    ``rows``: only these (sorted indices). ``keys``: softmax over all keys, then only these columns
    are kept, which is what dk, dv and columns of attn need (dq would be partial).
    """
    B, Tq, Tk, H, Hkv = problem.shape
    chosen = np.arange(Tq) if rows is None else np.asarray(rows)
    step = max(1, BLOCK_ELEMENTS // Tk)
    for b in range(B):
        for hkv in range(Hkv):
            k = problem.k[b, :, hkv].astype(np.float64)
            v = problem.v[b, :, hkv].astype(np.float64)
            for h in range(hkv * (H // Hkv), (hkv + 1) * (H // Hkv)):
                for start in range(0, len(chosen), step):
                    at = slice(start, min(start + step, len(chosen)))
                    # BLAS raises spurious flags and masked scores are −inf by design
                    with np.errstate(all="ignore"):
                        yield _block(problem, (b, h, hkv), at, chosen[at], k, v, keys)


def _block(
    problem: Problem,
    head: tuple[int, int, int],
    at: slice,
    rows: Array,
    k: F64,
    v: F64,
    keys: Array | None,
) -> Block:
    b, h, hkv = head
    low, high = problem.key_range(rows)
    span = slice(int(low.min()), int(high.max()))  # low <= high in every row, so this is one too
    j = np.arange(span.start, span.stop)
    k, v = k[span], v[span]
    q = problem.q[b, rows, h].astype(np.float64)
    bias = problem.bias_of(b, h, rows, span)
    seen = (j >= low[:, None]) & (j < high[:, None]) & ~np.isneginf(bias)
    bias = np.where(seen, bias, 0.0)

    s = problem.scale * (q @ k.T)
    x = abs(problem.scale) * (np.abs(q) @ np.abs(k).T)
    magnitude, cap = x, None
    if problem.softcap:
        cap = np.tanh(s / problem.softcap)
        s = problem.softcap * cap
        magnitude = (1 - cap * cap) * x + np.abs(s)
    s, magnitude = s + bias, magnitude + np.abs(bias)
    if problem.drop_last_key and j.size:
        last = j.size - 1 - np.argmax(seen[:, ::-1], axis=1)
        seen[np.arange(len(rows)), last] = False

    s = np.where(seen, s, -np.inf)
    m = s.max(axis=1, initial=-np.inf)
    e = np.exp(s - np.where(np.isneginf(m), 0.0, m)[:, None])  # a row without keys: exp(−inf) = 0
    l_i = e.sum(axis=1)
    p = e / np.where(l_i > 0, l_i, 1.0)[:, None]
    lse = np.where(l_i > 0, m + np.log(np.where(l_i > 0, l_i, 1.0)), -np.inf)
    o = p @ v

    do = ds = None
    if problem.do is not None:
        do = problem.do[b, rows, h].astype(np.float64)
        delta = (do * o).sum(axis=1)
        ds = p * (do @ v.T - delta[:, None])

    a = p @ np.abs(v)
    s_bar = np.where(seen, magnitude, 0.0).max(axis=1, initial=0.0)
    peak = p.max(axis=1, initial=0.0)
    n_keys = seen.sum(axis=1).astype(np.float64)
    _, Tq, Tk, H, Hkv = problem.shape
    extra_terms = max(0, Tq * H // Hkv - Tk)
    cols: Columns = span
    if keys is not None:
        inside = np.flatnonzero((keys >= span.start) & (keys < span.stop))
        cols, pick = inside, keys[inside] - span.start
        k, v, seen, s, p = k[pick], v[pick], seen[:, pick], s[:, pick], p[:, pick]
        x = x[:, pick]
        cap = None if cap is None else cap[:, pick]
        ds = None if ds is None else ds[:, pick]
    return Block(
        b, h, hkv, at, cols, q, k, v, seen, s, p, x, cap, lse, o, a, s_bar, peak, n_keys,
        extra_terms, problem.scale, problem.softcap, do, ds,
    )  # fmt: skip


class Assembly:
    """Full outputs from the pieces of blocks; bounds add up in the same places as values.

    ``arrays``: o, dq ``[B,rows,H,·]`` · lse ``[B,H,rows]`` · attn ``[B,H,rows,keys]`` · dk, dv
    ``[B,keys,Hkv,·]`` · dbias as the bias with four axes. Only the names in ``names`` are kept.
    """

    def __init__(
        self,
        problem: Problem,
        names: tuple[str, ...],
        *,
        rows: Array | None = None,
        keys: Array | None = None,
    ) -> None:
        B, Tq, Tk, H, Hkv = problem.shape
        D, Dv = problem.q.shape[3], problem.v.shape[3]
        R, K = Tq if rows is None else len(rows), Tk if keys is None else len(keys)
        shapes: dict[str, tuple[int, ...]] = {
            "o": (B, R, H, Dv),
            "lse": (B, H, R),
            "attn": (B, H, R, K),
            "dq": (B, R, H, D),
            "dk": (B, K, Hkv, D),
            "dv": (B, K, Hkv, Dv),
        }
        if problem.bias4 is not None:
            b, h, i, j = problem.bias4.shape
            shapes["dbias"] = (b, h, R if i > 1 else 1, K if j > 1 else 1)
        self.arrays = {name: np.zeros(shapes[name]) for name in names}

    def add(self, block: Block, pieces: dict[str, F64]) -> None:
        for name, whole in self.arrays.items():
            piece = pieces[name]
            if name in ("o", "dq"):
                whole[block.b, block.at, block.h] = piece
            elif name == "lse":
                whole[block.b, block.h, block.at] = piece
            elif name == "attn":
                whole[block.b, block.h][block.at, block.cols] = piece
            elif name in ("dk", "dv"):
                whole[block.b, block.cols, block.hkv] += piece
            else:  # dbias: summed over the axes along which the bias was broadcast
                head = whole[min(block.b, whole.shape[0] - 1), min(block.h, whole.shape[1] - 1)]
                if whole.shape[3] == 1:
                    piece = piece.sum(axis=1, keepdims=True)
                columns = block.cols if whole.shape[3] > 1 else slice(0, 1)
                if whole.shape[2] == 1:
                    head[0, columns] += piece.sum(axis=0)
                else:
                    head[block.at, columns] += piece


def attention(
    q: Array,
    k: Array,
    v: Array,
    *,
    do: Array | None = None,
    bias: Array | None = None,
    causal: bool = True,
    align: str = "br",
    window: tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
    scale: float | None = None,
    rows: Array | None = None,
) -> dict[str, F64]:
    """Attention, and with ``do`` its gradients, in float64.

    Parameters: q ``[B,Tq,H,D]``, k and v ``[B,Tk,Hkv,D]``, do as o, bias broadcastable to
    ``[B,H,Tq,Tk]``. ``align`` is ``br`` (the last row meets the last key) or ``tl``; ``scale`` is
    1/√D when None; ``rows`` restricts the result to these rows (o, lse, attn, dq only).

    Returns o ``[B,Tq,H,Dv]``, lse ``[B,H,Tq]`` (natural log), attn ``[B,H,Tq,Tk]`` and, with
    ``do``, dq, dk, dv and dbias (shaped as the bias).

    Raises: ShapeError when the arrays disagree; CaseError for a bad align, window or softcap.

    >>> import numpy as np
    >>> one = np.ones((1, 2, 1, 1))
    >>> v = np.array([1.0, 3.0]).reshape(1, 2, 1, 1)
    >>> attention(one, one, v)["o"].ravel().tolist()  # the second row sees both keys alike
    [1.0, 2.0]
    """
    if align not in ("br", "tl"):
        raise CaseError(f"align={align!r}: use br (bottom-right) or tl (top-left)")
    problem = Problem(
        q, k, v,
        scale=q.shape[-1] ** -0.5 if scale is None else scale,
        do=do,
        bias=bias,
        causal=causal,
        offset=k.shape[1] - q.shape[1] if align == "br" else 0,
        window=window,
        softcap=softcap,
    )  # fmt: skip
    names: tuple[str, ...] = ("o", "lse", "attn")
    if do is not None:
        names += ("dq",)
        if rows is None:
            names += ("dk", "dv") if bias is None else ("dk", "dv", "dbias")
    whole = Assembly(problem, names, rows=rows)
    for block in walk(problem, rows=rows):
        whole.add(block, block.outputs())
    found = whole.arrays
    if "dbias" in found and bias is not None:
        found["dbias"] = found["dbias"].reshape(bias.shape)
    return found
