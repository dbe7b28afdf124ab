"""The named lists of cases: ``seed``, ``smoke``, ``edges`` and ``full``, which holds them all; and
``long``, for GPUs.

A control case and variations of it, one at a time, instead of products: a failure then names
its cause. The cost of a case on a software GPU is compiling a pipeline, 0.1 s at D = 16 and
2 s at D = 256, so large head sizes are few and everything else varies at D = 8 and D = 16.

What varies for the forward varies for the backward too: its cases are those of the forward with
another op. Where they ask for attn the gradients alone are judged, a matrix less to send.

dtype=f16 runs the same kernels on other storage, so its cases vary what storage depends on: odd
sizes and layouts, whose rows meet within a word, and the range of the values. Most of them are
backwards, which judge the forward's o and lse too.
"""

from __future__ import annotations

from collections.abc import Iterable

from server.cases import Case
from server.errors import CaseError
from server.grammar import DISTS

Suite = tuple[Case, ...]


def _cases(text: str, prefix: str = "forward:") -> list[Case]:
    return [Case.parse(prefix + line) for line in text.split()]


def _vary(control: Case, key: str, values: Iterable[object]) -> list[Case]:
    return [control.replace(**{key: value}) for value in values]


def _unique(cases: Iterable[Case]) -> Suite:
    return tuple(dict.fromkeys(cases))


def _backward(cases: Iterable[Case]) -> list[Case]:
    return [case.replace(op="backward", attn=False) for case in cases]


# The six shapes of the notes, C = H·D; o and attn of each make their twelve checks.
SEED = _unique(
    Case(B=B, Tq=T, Tk=T, H=H, D=C // H, attn=True)
    for B, T, C, H in (
        (1, 16, 32, 4),
        (1, 8, 32, 4),
        (1, 20, 32, 2),
        (2, 48, 24, 3),
        (1, 32, 64, 1),
        (1, 256, 64, 2),
    )
)

SMOKE = _unique(
    _cases(
        """
        B=2,T=37,H=2,D=16,attn=1
        B=2,T=33,H=2,D=16,causal=0
        T=24,H=4,Hkv=2,D=16
        Tq=19,Tk=45,H=2,D=16
        Tq=45,Tk=19,H=2,D=16,align=tl
        Tq=45,Tk=19,H=2,D=16
        B=2,T=20,H=3,D=5,layout=bhtd
        B=2,T=40,H=4,Hkv=2,D=8,layout=packed
        Tq=19,Tk=45,H=4,Hkv=2,D=7,dtype=f16,attn=1
        """
    )
    + _cases(
        """
        B=2,T=37,H=2,D=16
        B=2,T=33,H=2,D=16,causal=0
        T=40,H=4,Hkv=2,D=8
        Tq=19,Tk=45,H=2,D=16,align=tl
        Tq=45,Tk=19,H=2,D=16
        B=2,T=20,H=3,D=5,layout=bhtd
        B=2,T=40,H=4,Hkv=2,D=8,layout=packed
        B=2,T=21,H=4,Hkv=2,D=5,dtype=f16
        T=37,H=4,Hkv=2,D=8,attn=1,kernel=baseline
        """,
        "backward:",
    )
)

# --- edges ---------------------------------------------------------------------------------------

# 40 rows end inside a tile of 16 or 32; two batches and grouped heads make a wrong map visible.
_FAMILY = Case(B=2, Tq=40, Tk=40, H=4, Hkv=2, D=8, attn=True)

_FORWARD_EDGES = _unique(
    [
        *_vary(_FAMILY, "dist", DISTS),
        *_vary(_FAMILY.replace(causal=False, seed=1), "dist", ("ties", "large", "growing")),
        *_cases(
            """
            T=200,H=2,D=16,dist=growing
            T=200,H=2,D=16,dist=large
            T=300,D=8,dist=ties,causal=0
            T=300,D=8,dist=zeros
            """
        ),
        # Rows that see no key. br with Tq > Tk: the first Tq - Tk rows; 5, 21 and 35 of them end
        # inside a tile, 32 at its edge. tl has none by itself, its last keys are seen by nobody.
        *_cases(
            """
            Tq=21,Tk=16,H=2,D=8,attn=1
            Tq=40,Tk=19,H=2,D=8,attn=1
            Tq=48,Tk=16,H=2,D=8,attn=1
            Tq=70,Tk=35,H=2,Hkv=1,D=16
            Tq=64,Tk=1,H=2,D=8,attn=1
            Tq=16,Tk=40,H=2,D=8,align=tl,attn=1
            Tq=40,Tk=16,H=2,D=8,align=tl,attn=1
            """
        ),
        # The smallest of everything.
        *_cases(
            """
            T=1,D=1,attn=1
            T=1,H=2,D=8,causal=0
            Tq=1,Tk=33,H=2,D=8,attn=1
            Tq=33,Tk=1,H=2,D=8,causal=0
            Tq=1,Tk=33,H=2,D=8,align=tl,attn=1
            T=2,D=1
            T=19,H=3,D=1
            T=19,H=3,D=3
            B=2,T=19,H=3,D=5,causal=0,attn=1
            T=17,D=256
            """
        ),
        # Grouped heads: all sharing one, pairs, and triples.
        *_cases(
            """
            B=2,T=35,H=8,Hkv=1,D=8
            B=2,T=35,H=6,Hkv=2,D=8,causal=0
            B=2,T=35,H=6,Hkv=3,D=8,attn=1
            """
        ),
        *_vary(Case(Tq=35, Tk=35, H=2, D=16, attn=True), "scale", (0, 1, 8, 0.001, -0.5)),
    ]
)

_F16_EDGES = [
    *_backward(_vary(_FAMILY.replace(dtype="f16"), "dist", ("large", "negative", "growing"))),
    *_cases(
        """
        T=1,D=1,dtype=f16
        T=19,H=3,D=1,dtype=f16
        B=2,T=19,H=3,D=3,dtype=f16,layout=bhtd
        T=17,D=256,dtype=f16
        Tq=40,Tk=19,H=2,D=8,dtype=f16
        T=200,H=2,D=16,dist=growing,dtype=f16
        T=200,H=2,D=16,dist=large,dtype=f16
        """,
        "backward:",
    ),
]

# Few queries over many keys, which are cut into slices (named where a software adapter would take
# another kernel): fewer keys than a block holds, keys that no
# row sees (tl: all but the first slice), rows that see none, several blocks in a slice (72 heads).
_DECODE_EDGES = _cases(
    """
    Tq=1,Tk=1,H=4,Hkv=2,D=8,kernel=fa2_forward_split
    Tq=3,Tk=17,H=6,Hkv=2,D=8,causal=0,kernel=fa2_forward_split
    Tq=8,Tk=5,H=2,D=8,kernel=fa2_forward_split
    B=2,Tq=8,Tk=1000,H=4,Hkv=2,D=8,attn=1,kernel=fa2_forward_split
    B=2,Tq=8,Tk=1000,H=4,Hkv=2,D=8,align=tl,dist=negative,kernel=fa2_forward_split
    B=6,Tq=3,Tk=1000,H=12,D=8,dist=growing,kernel=fa2_forward_split
    B=2,Tq=3,Tk=1000,H=6,Hkv=2,D=8,dist=large,kernel=fa2_forward_split
    """
)

EDGES = _unique([*_FORWARD_EDGES, *_DECODE_EDGES, *_backward(_FORWARD_EDGES), *_F16_EDGES])

# --- full ----------------------------------------------------------------------------------------

_CONTROL = Case(B=2, Tq=40, Tk=40, H=2, D=16)
_TILE_EDGES = (15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 129)
_HEAD_SIZES = (2, 4, 8, 24, 32, 33, 63, 64, 65, 80, 100, 128, 129, 192)
_PACKED = _CONTROL.replace(H=6, Hkv=2, layout="packed")

_FORWARD = _unique(
    [
        _CONTROL,
        _CONTROL.replace(causal=False),
        _CONTROL.replace(attn=True),
        _CONTROL.replace(causal=False, attn=True),
        *_vary(_CONTROL, "T", _TILE_EDGES),
        *_vary(_CONTROL.replace(causal=False), "T", (16, 31, 33, 65)),
        *_vary(Case(Tq=20, Tk=20, H=2, D=16), "D", _HEAD_SIZES),
        *_vary(Case(Tq=20, Tk=20, H=2, D=16, causal=False), "D", (3, 33, 64)),
        *_cases(
            """
            T=1025,H=2,D=8
            T=1025,D=16,causal=0
            T=1024,H=2,D=8,attn=1
            Tq=3,Tk=1025,H=2,D=8
            Tq=1025,Tk=3,H=2,D=8,align=tl
            """
        ),
        # Tq against Tk, each alignment, masked and not.
        *_cases(
            """
            Tq=16,Tk=17,H=2,D=16
            Tq=17,Tk=16,H=2,D=16
            Tq=15,Tk=64,H=2,D=16
            Tq=64,Tk=15,H=2,D=16
            Tq=33,Tk=129,H=2,D=16
            Tq=37,Tk=64,H=4,Hkv=2,D=16,attn=1
            Tq=16,Tk=17,H=2,D=16,align=tl
            Tq=17,Tk=16,H=2,D=16,align=tl
            Tq=33,Tk=129,H=2,D=16,align=tl
            Tq=129,Tk=33,H=2,D=16,align=tl
            Tq=33,Tk=70,H=2,D=16,causal=0
            Tq=70,Tk=33,H=2,D=16,causal=0
            """
        ),
        # Strides, with unequal B, T, H and D so that a swapped pair cannot go unnoticed.
        *_cases(
            """
            B=3,T=21,H=4,D=8,layout=bhtd
            B=3,T=21,H=4,Hkv=2,D=8,layout=bhtd,attn=1
            B=3,Tq=21,Tk=34,H=4,Hkv=2,D=8,layout=bhtd,dist=indexcoded
            B=3,Tq=21,Tk=34,H=4,Hkv=2,D=8,dist=indexcoded
            B=3,T=21,H=4,D=8,layout=packed,dist=indexcoded
            """
        ),
        _PACKED,
        _PACKED.replace(causal=False, D=5),
        _PACKED.replace(Hkv=6, attn=True),
        # Grids of batch and head.
        *_cases(
            """
            B=1,T=18,H=1,D=8
            B=5,T=18,H=1,D=8
            B=1,T=18,H=12,D=8
            B=7,T=18,H=5,D=8
            B=16,T=32,H=3,D=16
            B=64,T=3,H=20,D=8
            """
        ),
        *_vary(_CONTROL, "seed", (1, 2, 3, 0xDEADBEEF, 2**53 + 1, 2**64 - 1)),
        # The baseline, where the notes' version broke (above 1024 keys) and around it.
        *_vary(Case(Tq=1025, Tk=1025, D=8, kernel="baseline"), "causal", (True, False)),
        *_vary(_CONTROL.replace(kernel="baseline"), "T", (1, 17, 40)),
        *_cases(
            """
            B=2,T=40,H=4,Hkv=2,D=8,attn=1,kernel=baseline
            Tq=40,Tk=19,H=2,D=8,attn=1,kernel=baseline
            Tq=19,Tk=40,H=2,D=8,align=tl,kernel=baseline
            B=2,T=40,H=2,D=16,causal=0,layout=bhtd,kernel=baseline
            B=2,T=40,H=4,Hkv=1,D=5,layout=packed,kernel=baseline
            T=200,H=2,D=16,dist=large,kernel=baseline
            T=200,H=2,D=16,dist=growing,kernel=baseline
            T=17,D=129,kernel=baseline
            T=17,D=256,kernel=baseline
            """
        ),
    ]
)

# A backward compiles two kernels more, so it takes one size between two tile edges, not three.
_BACKWARD = _backward(case for case in [*SEED, *_FORWARD] if case.D not in (80, 192))

_F16 = _cases(
    """
    T=513,D=16,dtype=f16
    T=65,H=2,D=128,dtype=f16,attn=1
    """
) + _cases(
    """
    B=2,T=33,H=2,D=16,causal=0,dtype=f16
    B=2,T=40,H=6,Hkv=2,D=5,layout=packed,dtype=f16
    B=3,Tq=21,Tk=34,H=4,Hkv=2,D=9,layout=bhtd,dist=indexcoded,dtype=f16
    B=2,T=35,H=8,Hkv=1,D=8,dtype=f16
    Tq=17,Tk=64,H=2,D=24,align=tl,dtype=f16
    T=65,H=2,D=33,dtype=f16
    T=20,H=2,D=64,dtype=f16
    T=20,D=129,dtype=f16
    T=35,H=2,D=16,scale=8,dtype=f16
    B=2,T=40,H=4,Hkv=2,D=8,dist=headscaled,dtype=f16
    """,
    "backward:",
)

_DECODE = _cases(
    """
    Tq=1,Tk=4096,H=8,Hkv=2,D=64
    Tq=3,Tk=1000,H=2,D=40,causal=0,kernel=fa2_forward_split
    Tq=1,Tk=1000,H=4,Hkv=1,D=128
    Tq=8,Tk=257,D=256,kernel=fa2_forward_split
    Tq=8,Tk=1000,H=4,Hkv=2,D=7,layout=bhtd,dtype=f16,kernel=fa2_forward_split
    """
)

# Wide heads over several tiles of keys, whose maxima grow: what a tile of 64 or 128 keys forgets of
# those before does not show in 20 rows.
_WIDE = _cases(
    """
    T=200,D=64,dist=growing
    T=200,D=128,dist=growing
    T=150,D=129,dist=growing
    """
)

FULL = _unique(
    [
        *(*SEED, *SMOKE, *EDGES, *_FORWARD, *_DECODE, *_BACKWARD, *_F16, *_WIDE),
        *_backward(_WIDE),
        *_backward(case.replace(dtype="f16") for case in _WIDE),
    ]
)

# --- long ----------------------------------------------------------------------------------------

# On a GPU the plan takes other tiles with the length and with the rows of all heads: a size in each
# range, ragged, with grouped heads. A software adapter takes the same tiles for all of them.
_LONG_SIZES = (  # B, T, H
    (1, 2100, 2),  # few rows in long heads
    (1, 900, 16),
    (4, 500, 16),
    (12, 300, 16),  # many rows in short heads
    (1, 3100, 16),
    (1, 8200, 8),  # the longest, of which a sample is judged
)
LONG = _unique(
    Case(op=op, B=B, Tq=T, Tk=T, H=H, Hkv=H // 2, D=D, dtype=dtype)
    for B, T, H in _LONG_SIZES
    for D in (64, 128)
    for dtype in ("f32", "f16")
    for op in ("forward", "backward")
)

SUITES: dict[str, Suite] = {
    "seed": SEED,
    "smoke": SMOKE,
    "edges": EDGES,
    "full": FULL,
    "long": LONG,
}


def suite(name: str) -> Suite:
    """The cases of a suite; CaseError for a name that is none."""
    if name not in SUITES:
        raise CaseError(f"there is no suite {name!r}; the suites are {', '.join(SUITES)}")
    return SUITES[name]
