"""What a page would upload for a case: results of the float32 FlashAttention-2, guards, done."""

from __future__ import annotations

import numpy as np
from fa2_float32 import fa2

from server.cases import Case
from server.inputs import digest, make_inputs
from server.judge import judge
from server.outputs import AXES, outputs_of
from server.report import Done

POISON = (0x7FC17E05, 0xFFC1FE05)
ADAPTER = {"vendor": "test", "description": "NumPy", "fallback": True}


def results(case, inputs=None, **changes):
    """Outputs in logical order; ``changes`` go to the algorithm (scale=…, causal=…)."""
    arrays = make_inputs(case) if inputs is None else inputs
    options = {
        "causal": case.causal,
        "offset": case.offset,
        "softcap": case.softcap,
        "scale": float(case.scale_f32),
    }
    return fa2(
        arrays["q"], arrays["k"], arrays["v"], do=arrays.get("do"), bias=arrays.get("bias"),
        **(options | changes),
    )  # fmt: skip


def uploads(case, got):
    """The tensors of a faultless upload, flat, from outputs in logical order."""
    tensors = {}
    for spec in outputs_of(case):
        array = got[spec.name]
        if case.layout == "bhtd" and AXES[spec.name][1] in "ij":
            array = array.swapaxes(1, 2)
        with np.errstate(all="ignore"):
            flat = np.ascontiguousarray(array).astype(spec.numpy).ravel()
        tensors[spec.name], tensors[f"{spec.name}.repeat"] = flat, flat.copy()
        guards = np.repeat(np.array(POISON, np.uint32), 128).reshape(2, 2, 64)
        if flat.nbytes % 4:  # the guard behind begins with the second half of a word
            guards[:, 1] = np.roll(guards[:, 1].view(np.uint16), 1).view(np.uint32)
        tensors[f"{spec.name}.guards"] = guards.ravel()
    return tensors


def done(case, inputs=None, **fields):
    arrays = make_inputs(case) if inputs is None else inputs
    known = {
        "status": "ok",
        "kernel": "fa2_forward",
        "tile": {"Br": 16, "Bc": 16},
        "input_sha256": digest(arrays),
        "shader_sha256": "ab" * 32,
        "dispatches": 2,
        "elapsed_ns": 1e6,
        "adapter": ADAPTER,
        "engine": "NumPy",
    }
    return Done(**(known | fields))


def verdict_on(case, tensors=None, *, told=None, kappa=4.0, inputs=None, poison=POISON):
    """The judge's report on an upload; without ``tensors`` on a faultless one."""
    case = Case.parse(case) if isinstance(case, str) else case
    if tensors is None:
        tensors = uploads(case, results(case, inputs))
    told = done(case, inputs) if told is None else told
    return judge(case, tensors=tensors, done=told, poison=poison, kappa=kappa, inputs=inputs)
