"""A Harness without a browser: results of the reference, rounded, and spoilt on request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from server.errors import Unsupported
from server.reference import attention
from server.report import Report


class FakeHarness:
    """``spoil(outputs, calls)`` may change what is returned, or raise."""

    def __init__(self, spoil: Callable[[dict[str, Any], int], None] | None = None) -> None:
        self.environment = {"engine": "Fake 1", "adapter": {"vendor": "none", "fallback": True}}
        self.opening = {"browser": "fake"}
        self.last_report = report("pass")
        self.calls: list[dict[str, Any]] = []
        self._spoil = spoil

    def __enter__(self) -> FakeHarness:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to end."""

    def attention(self, q: Any, k: Any, v: Any, *, H: int, Hkv: int, **options: Any) -> Any:
        self.calls.append(dict(options))
        used = {
            "bias": options["bias"] is not None,
            "window": options["window"] != (-1, -1),
            "softcap": options["softcap"] != 0,
        }
        for name, asked in used.items():
            if asked:  # in the library's words and order
                raise Unsupported(f"{name}=1: kernel fake has no {name}; leave it out")
        options.pop("kernel")
        asked, do = options.pop("return_attn"), options.pop("dO")
        q, k, v = (x.reshape(*x.shape[:2], n, -1) for x, n in ((q, H), (k, Hkv), (v, Hkv)))
        do = None if do is None else do.reshape(*do.shape[:2], H, -1)
        truth = attention(q, k, v, do=do, **options)
        if not asked:
            truth.pop("attn")
        stored = [name for name in ("o", "dq", "dk", "dv") if name in truth]
        kinds = dict.fromkeys(truth, np.dtype(np.float32)) | dict.fromkeys(stored, q.dtype)
        with np.errstate(all="ignore"):
            outputs = {name: x.astype(kinds[name]) for name, x in truth.items()}
        for name in stored:
            outputs[name] = outputs[name].reshape(*outputs[name].shape[:2], -1)
        if self._spoil is not None:
            self._spoil(outputs, len(self.calls))
        return outputs


def report(status: str, message: str = "", **fields: Any) -> Report:
    return Report(case="forward:T=1,D=1", kernel="fake", status=status, message=message, **fields)
