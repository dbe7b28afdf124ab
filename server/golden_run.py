"""One golden case through a browser: it passes, fails, is refused by name, or ends in an error."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping

import numpy as np

from server.errors import HarnessError, NoAdapter, NoBrowser, Unsupported
from server.golden import Array, GoldenCase, check
from server.golden_files import Unusable
from server.golden_outcome import Outcome
from server.harness import Harness
from server.report import Report
from server.verdict import MEMORY

# What Harness.attention has no argument for, and what that is called in counts.
_BEYOND = {"bf16": "bfloat16", "dv_ne_dk": "different V head size"}


def run_case(harness: Harness, case: GoldenCase | Unusable, kernel: str = "auto") -> Outcome:
    """Runs a case, forward and, where it has dO, backward, and holds it against its values.

    Raises NoBrowser and NoAdapter when nothing can run any more.
    """
    if isinstance(case, Unusable):
        return Outcome(str(case), "refused", case.why, "the file gives no parameters for it")
    for need, reason in _BEYOND.items():
        if need in case.needs:
            message = f"the case needs {reason}, which Harness.attention has no argument for"
            return Outcome(str(case), "refused", reason, message)
    try:
        outputs = _attention(harness, case, kernel)
    except Unsupported as error:
        return Outcome(str(case), "refused", _feature(case, error.message), error.message)
    except (NoBrowser, NoAdapter):
        raise
    except HarnessError as error:
        return Outcome(str(case), "error", error.kind, error.message)
    return _judge(case, outputs, harness.last_report)


def _attention(harness: Harness, case: GoldenCase, kernel: str) -> dict[str, Array]:
    p = case.problem
    B, Tq, Tk, H, Hkv = p.shape
    with warnings.catch_warnings():
        # The harness's own bounds are not what a golden case is judged by.
        warnings.simplefilter("ignore", RuntimeWarning)
        return harness.attention(
            p.q.reshape(B, Tq, -1),
            p.k.reshape(B, Tk, -1),
            p.v.reshape(B, Tk, -1),
            H=H,
            Hkv=Hkv,
            causal=p.causal,
            align=case.align,
            window=p.window,
            scale=p.scale,
            softcap=p.softcap,
            bias=_bias(case),
            dO=None if p.do is None else p.do.reshape(B, Tq, -1),
            kernel=kernel,
            return_attn="attn" in case.expected,
        )


def _bias(case: GoldenCase) -> Array | None:
    """The bias in one of the shapes that Harness.attention takes."""
    bias, (B, Tq, Tk, H, _) = case.problem.bias4, case.problem.shape
    if bias is None:
        return None
    taken = {(1, 1, Tq, Tk): (Tq, Tk), (1, H, Tq, Tk): (H, Tq, Tk), (B, 1, 1, Tk): (B, 1, 1, Tk)}
    if bias.shape in taken:
        return bias.reshape(taken[bias.shape])
    return np.broadcast_to(bias, (B, H, Tq, Tk))


def _judge(case: GoldenCase, outputs: Mapping[str, Array], report: Report | None) -> Outcome:
    checks = check(case, outputs)
    problems = [f"{name}: {one.problem}" for name, one in checks.items() if one.problem]
    problems += [f"{name}: not returned" for name in case.expected if name not in outputs]
    if report is not None and _memory_fault(report):
        problems.append(report.message)
    return Outcome(
        str(case),
        "fail" if problems else "pass",
        message="\n".join(problems),
        checks=checks,
        kernel=report.kernel if report else "",
        shader_sha256=report.shader_sha256 if report else "",
        elapsed_ns=report.elapsed_ns if report else None,
        gpu_ns=report.gpu_ns if report else None,
        warnings=report.asides if report else (),
    )


def _memory_fault(report: Report) -> bool:
    """The harness saw what no tolerance shows: elements that were never written, memory written
    beyond an output, or two runs that differ. Whatever the numbers are beside that."""
    found = report.finding
    return found is not None and found.check in MEMORY


def _feature(case: GoldenCase, message: str) -> str:
    """The library's refusals start with ``key=value: ``; the key is the feature."""
    key = re.match(r"(\w+)=", message)
    if key is None:
        return message.partition(":")[0]
    if key[1] == "bias" and "key_lengths" in case.needs:
        return "per-batch key lengths"
    return key[1]
