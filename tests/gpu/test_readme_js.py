"""The JavaScript that README shows, run on the test page as it is printed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from page_script import on_the_page

from server.harness import Harness
from server.reference import attention

README = Path(__file__).parents[2] / "README.md"
PAGE_S = 240.0
B, H, T, D = 1, 8, 128, 64  # of the example, but for its 1024 rows, which take seconds here
EDGE = 4096  # numbers that are looked at, at either end of a buffer

# What the examples take for granted: a device, buffers [B,T,H·D] of known numbers, an encoder.
SETTING = """
async ([B, T, H, D, EDGE]) => {
  const C = H * D;
  const wave = (n, phase) => Float32Array.from({ length: n }, (_, i) => Math.sin(phase * (i + 1)));
  const ends = (x) => [...x.slice(0, EDGE), ...x.slice(-EDGE)];
  const errors = [];
  const watchedDevice = async () => {
    const adapter = await navigator.gpu.requestAdapter();
    const device = await adapter.requestDevice();
    device.addEventListener("uncapturederror", ({ error }) => errors.push(error.message));
    return device;
  };
  %s
}
"""

BUFFERS = """
{
  const device = await watchedDevice();
  const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
  const buffer = (n) => device.createBuffer({ size: 4 * n, usage });
  const filled = (phase) => {
    const made = buffer(B * T * C);
    device.queue.writeBuffer(made, 0, wave(B * T * C, phase));
    return made;
  };
  const [q, k, v, dO] = [1.1, 2.3, 3.7, 0.9].map(filled);
  const [o, dq, dk, dv] = Array.from({ length: 4 }, () => buffer(B * T * C));
  const lse = buffer(B * H * T);
  const [table, adapter] = [undefined, await navigator.gpu.requestAdapter()];
  const encoder = device.createCommandEncoder();
  %s
  device.queue.submit([encoder.finish()]);
  const results = {};
  for (const [name, source] of Object.entries({ o, lse, dq, dk, dv })) {
    const { size } = source;
    const { MAP_READ, COPY_DST } = GPUBufferUsage;
    const target = device.createBuffer({ size, usage: MAP_READ | COPY_DST });
    const copy = device.createCommandEncoder();
    copy.copyBufferToBuffer(source, 0, target, 0, size);
    device.queue.submit([copy.finish()]);
    await target.mapAsync(GPUMapMode.READ);
    results[name] = ends(new Float32Array(target.getMappedRange()));
  }
  { %s }
  return [results, errors];
}
"""

TENSORS = """
{
  const device = await watchedDevice();
  const numbers = wave(B * T * C, 1.1);
  const { GpuTensor: Tensor } = await import("/static/js/ops.js");
  const [k, v, dctx] = [2.3, 3.7, 0.9].map((p) => Tensor.fromData(device, wave(B * T * C, p)));
  %s
  const results = { dq: ends(gradient) };
  for (const [name, tensor] of Object.entries({ o: ctx, lse, dk, dv })) {
    results[name] = ends(await tensor.download());
  }
  return [results, errors];
}
"""


def example(first: str) -> str:
    """The block of README that imports ``first``, its imports as a function can have them."""
    blocks = re.findall(r"^```js\n(.*?)^```", README.read_text(encoding="utf-8"), re.S | re.M)
    (block,) = [one for one in blocks if one.startswith(f"import {{ {first}")]
    static = r'^import (\{.*\}) from "\.(/static/.*)";$'
    text, imports = re.subn(static, r'const \1 = await import("\2");', block, flags=re.M)
    assert imports == 1
    return text.replace("Tq: 1024", f"Tq: {T}")


def evaluate(harness: Harness, body: str) -> dict[str, NDArray[np.float32]]:
    results, errors = on_the_page(harness, SETTING % body, [B, T, H, D, EDGE], PAGE_S)
    assert errors == []
    return {name: np.asarray(numbers, np.float32) for name, numbers in results.items()}


@pytest.fixture(scope="module")
def truth() -> dict[str, NDArray[np.float64]]:
    """What the reference makes of the same inputs, the two ends of each."""

    def wave(phase: float) -> NDArray[np.float32]:
        count = np.arange(1, B * T * H * D + 1, dtype=np.float64)
        return np.sin(phase * count).astype(np.float32).reshape(B, T, H, D)

    want = attention(wave(1.1), wave(2.3), wave(3.7), do=wave(0.9))
    flat = {name: want[name].ravel() for name in ("o", "lse", "dq", "dk", "dv")}
    return {name: np.concatenate([x[:EDGE], x[-EDGE:]]) for name, x in flat.items()}


def near(got: dict[str, NDArray[Any]], truth: dict[str, NDArray[np.float64]]) -> None:
    assert sorted(got) == sorted(truth)
    for name, want in truth.items():
        np.testing.assert_allclose(got[name], want, rtol=2e-4, atol=1e-5, err_msg=name)


def test_the_library_as_readme_has_it_gives_what_the_reference_gives(
    harness: Harness, truth: dict[str, NDArray[np.float64]]
) -> None:
    body = BUFFERS % (example("createAttention"), example("requiredLimits"))
    near(evaluate(harness, body), truth)


def test_the_operations_on_tensors_as_readme_has_them_give_what_the_reference_gives(
    harness: Harness, truth: dict[str, NDArray[np.float64]]
) -> None:
    near(evaluate(harness, TENSORS % example("createOps")), truth)
