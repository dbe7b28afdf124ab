"""Operations on tensors (static/js/ops.js) on the test page, under its Content-Security-Policy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from page_script import on_the_page

from server.harness import Harness
from server.reference import attention

PAGE_S = 120.0

# A device of its own, and what the block below takes for granted.
SETTING = """
async (argument) => {
  const { createOps, GpuTensor } = await import("/static/js/ops.js");
  const adapter = await navigator.gpu.requestAdapter();
  const dev = await adapter.requestDevice();
  const errors = [];
  dev.addEventListener("uncapturederror", ({ error }) => errors.push(error.message));
  const ops = createOps(dev);
  const rand = (n) => Float32Array.from({ length: n }, () => 2 * Math.random() - 1);
  const maxError = (a, b) => {
    if (a.length !== b.length || a.length === 0) throw new Error(`${a.length} and ${b.length}`);
    return a.reduce((most, x, n) => {
      const error = Math.abs(x - b[n]);
      return error <= most ? most : error;  // NaN stays
    }, 0);
  };
  const checks = [];
  const check = (name, ok, detail) => checks.push([name, ok, detail]);
  %s
}
"""

# As the notes on the forward pass have it, character by character.
PARITY = """
{
  const B = 2, T = 48, C = 24, H = 3;     // exercise multi-block walk
  const q = rand(B*T*C), k = rand(B*T*C), v = rand(B*T*C);
  const qt = GpuTensor.fromData(dev, q);
  const kt = GpuTensor.fromData(dev, k);
  const vt = GpuTensor.fromData(dev, v);
  const fa2 = ops.attentionForwardFA2(qt, kt, vt, B, T, C, H);   // new method
  const ref = ops.attentionForward(qt, kt, vt, B, T, C, H);      // existing FA1-style
  check("fa2 forward ctx",  maxError(await fa2.ctx.download(),  await ref.ctx.download())  < 1e-4, "");
  check("fa2 forward attn", maxError(await fa2.attn.download(), await ref.attn.download()) < 1e-4, "");
}
"""  # noqa: E501


def evaluate(harness: Harness, body: str, argument: Any = None) -> Any:
    return on_the_page(harness, SETTING % body, argument, PAGE_S)


def test_the_parity_block_of_the_notes_runs_as_it_is_written(harness: Harness) -> None:
    checks, errors = evaluate(harness, f"{PARITY}\n return [checks, errors];")
    assert checks == [["fa2 forward ctx", True, ""], ["fa2 forward attn", True, ""]]
    assert errors == []


def test_the_parity_block_notices_other_values(harness: Harness) -> None:
    called = "attentionForwardFA2(qt, kt, vt,"
    assert PARITY.count(called) == 1
    other_v = PARITY.replace(called, "attentionForwardFA2(qt, kt, qt,")
    other_k = PARITY.replace(called, "attentionForwardFA2(qt, qt, vt,")
    checks, _ = evaluate(harness, f"{other_v}{other_k}\n return [checks, errors];")
    # V has no part in attn.
    assert [ok for _, ok, _ in checks] == [False, True, False, False]


def test_forward_and_backward_give_what_the_reference_gives(harness: Harness) -> None:
    B, T, C, H = 2, 33, 24, 3
    rng = np.random.default_rng(5)
    arrays = {n: rng.standard_normal((B, T, C), np.float32) for n in ("q", "k", "v", "do")}
    body = """
      const [B, T, C, H] = [2, 33, 24, 3];
      const tensors = Object.entries(argument).map(([name, numbers]) => [
        name, GpuTensor.fromData(dev, Float32Array.from(numbers), [B, T, C]),
      ]);
      const { q, k, v, do: dctx } = Object.fromEntries(tensors);
      const forward = ops.attentionForwardFA2(q, k, v, B, T, C, H, { attn: true });
      const { ctx, lse, attn } = forward;
      const gradients = ops.attentionBackwardFA2(q, k, v, ctx, lse, dctx, B, T, C, H);
      const found = {};
      for (const [name, tensor] of Object.entries({ o: ctx, lse, attn, ...gradients })) {
        found[name] = [...(await tensor.download())];
      }
      return [found, errors];
    """
    given = {name: array.ravel().tolist() for name, array in arrays.items()}
    found, errors = evaluate(harness, body, given)
    assert errors == []
    heads = {name: array.reshape(B, T, H, C // H) for name, array in arrays.items()}
    want = attention(heads["q"], heads["k"], heads["v"], do=heads["do"])
    assert found.keys() == {"o", "lse", "attn", "dq", "dk", "dv"}
    for name, numbers in found.items():
        np.testing.assert_allclose(
            np.reshape(numbers, want[name].shape), want[name], rtol=2e-5, atol=4e-6, err_msg=name
        )


@pytest.mark.slow
def test_a_thousand_calls_leave_no_memory_behind(harness: Harness) -> None:
    body = """
      const [B, C, H] = [1, 16, 2];
      const create = dev.createBuffer.bind(dev);
      const alive = new Set();
      dev.createBuffer = (what) => {
        const buffer = create(what);
        const destroy = buffer.destroy.bind(buffer);
        buffer.destroy = () => { alive.delete(buffer); destroy(); };
        alive.add(buffer);
        return buffer;
      };
      const upload = (T) => GpuTensor.fromData(dev, rand(B * T * C));
      const round = async (T, look) => {
        const [q, k, v, dctx] = [upload(T), upload(T), upload(T), upload(T)];
        const made = ops.attentionForwardFA2(q, k, v, B, T, C, H);
        const back = ops.attentionBackwardFA2(q, k, v, made.ctx, made.lse, dctx, B, T, C, H);
        const ends = [made.ctx, back.dq, ...(look ? [made.attn] : [])];
        const read = Promise.all(ends.map((tensor) => tensor.download()));
        made.destroy();
        for (const tensor of [q, k, v, dctx, ...Object.values(back)]) tensor.destroy();
        return read;
      };
      const rounds = async (n) => {
        for (let i = 0; i < n; i++) {
          const [ctx] = await round(9 + (i % 5), i % 10 === 0);
          if (!ctx.every(Number.isFinite)) throw new Error(`round ${i}: ${ctx}`);
        }
      };
      await rounds(50);
      const before = { ...ops.memory, alive: alive.size };
      await rounds(450);
      const after = { ...ops.memory, alive: alive.size };
      ops.destroy();
      await new Promise((resolve) => setTimeout(resolve, 50));
      return [before, after, { ...ops.memory, alive: alive.size }, errors];
    """
    before, after, end, errors = evaluate(harness, body)
    assert errors == []
    assert after == before
    assert (after["liveBytes"], after["liveBuffers"]) == (0, 0)
    assert 0 < after["pooledBytes"] < 2**20
    assert set(end.values()) == {0}
