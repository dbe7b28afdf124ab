"""Writes inputs-golden.json, the digests that NumPy and JavaScript must both reach.

    python -m tests.data.make_inputs_golden

Run it when a family is added, or when one changes on purpose together with LAYOUT_VERSION.
`spec` is what the page gets, so that the JavaScript test needs no parser of case strings.
"""

import json
from pathlib import Path

from server.cases import Case
from server.grammar import DISTS
from server.inputs import digest, make_inputs

GOLDEN = Path(__file__).with_name("inputs-golden.json")

# 2·37·3·5 and the like: no count is a multiple of 4. Tq ≠ Tk, grouped heads, seeds of each size.
CASES = [
    *(f"forward:B=2,Tq=5,Tk=37,H=3,D=5,dist={dist},seed=7" for dist in DISTS),
    *(f"backward:T=67,H=10,Hkv=5,D=9,dist={dist},dtype=f16,seed=8" for dist in DISTS),
    *(f"backward:B=3,Tq=19,Tk=11,H=3,D=7,bias={bias}" for bias in ("tt", "htt", "bhtt", "b11t")),
    "backward:B=3,Tq=19,Tk=11,H=3,D=7,bias=bhtt,dtype=f16,dist=f16exact",
    "forward:T=1,D=1",
    "forward:T=1,D=1,dtype=f16",
    "forward:T=33,H=2,D=64,seed=4294967295",
    "forward:T=33,H=2,D=64,seed=4294967296",
    "forward:T=33,H=2,D=64,seed=9007199254740993",
    "forward:T=33,H=2,D=64,seed=18446744073709551614",
    "forward:T=33,H=2,D=64,seed=18446744073709551615",
    "forward:Tq=3,Tk=1025,H=8,Hkv=1,D=256,dist=negative",
    "forward:Tq=3,Tk=1025,H=8,Hkv=1,D=256,dist=growing,dtype=f16",
    "forward:B=2,T=70,H=62,D=65,dist=indexcoded",
    # More than one piece of either generator: 16384 elements in JavaScript, 131072 here.
    "forward:Tq=50001,Tk=1,D=5,seed=123456789012345678",
]


def entry(text: str) -> dict[str, object]:
    case = Case.parse(text)
    arrays = make_inputs(case)
    return {
        "case": str(case),
        "spec": case.to_job(),
        "sha256": digest(arrays),
        "tensors": {name: digest({name: array}) for name, array in arrays.items()},
    }


if __name__ == "__main__":
    lines = ",\n".join(json.dumps(entry(text)) for text in CASES)
    GOLDEN.write_text(f"[\n{lines}\n]\n")
