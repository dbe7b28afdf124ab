"""The gradients of the real kernels against differences of the real forward, and their memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from page_script import on_the_page

from server.harness import Harness

H, HKV, D = 2, 1, 3
STEP = 2.0**-4  # of a difference of fourth order: its error is about 1e-6, as is float32's here


@pytest.mark.parametrize("kernel", ["fa2", "baseline"])
@pytest.mark.parametrize("options", [{}, {"causal": False, "scale": -0.7}], ids=str)
def test_gradients_are_the_differences_of_the_forward(
    harness: Harness, kernel: str, options: dict[str, Any]
) -> None:
    rng = np.random.default_rng(5)
    shapes = {"q": (1, 4, H * D), "k": (1, 5, HKV * D), "v": (1, 5, HKV * D)}
    x = {name: rng.standard_normal(shape, np.float32) for name, shape in shapes.items()}
    dO = rng.standard_normal(shapes["q"], np.float32)
    fixed = {"H": H, "Hkv": HKV, "kernel": kernel, **options}
    gradients = harness.attention(**x, dO=dO, **fixed)
    for name, array in x.items():
        differences = np.zeros(array.size)
        for weight, steps in ((1, -2), (-8, -1), (8, 1), (-1, 2)):
            # One batch an element, in each of which that element has moved.
            one = np.eye(array.size, dtype=np.float32).reshape(-1, *array.shape[1:])
            moved = array + np.float32(steps * STEP) * one
            batch = {n: np.repeat(a, array.size, axis=0) for n, a in x.items()} | {name: moved}
            o = harness.attention(**batch, **fixed)["o"].astype(np.float64)
            differences += weight * (o * dO).sum(axis=(1, 2)) / (12 * STEP)
        np.testing.assert_allclose(
            gradients[f"d{name}"].ravel(), differences, rtol=1e-3, atol=1e-4, err_msg=name
        )


ALLOCATES = """
async ({ specs, kernel }) => {
  const { createAttention } = await import("/static/js/attention/index.js");
  const adapter = await navigator.gpu.requestAdapter();
  const device = await adapter.requestDevice();
  const create = device.createBuffer.bind(device);
  let bytes = {};
  device.createBuffer = (what) => {
    bytes[what.label] = (bytes[what.label] ?? 0) + what.size;
    return create(what);
  };
  const attention = createAttention(device);
  const found = [];
  for (const spec of specs) {
    bytes = {};
    const operation = await attention.prepare(spec, { kernel });
    const buffers = Object.fromEntries(
      Object.entries(operation.plan.buffers).map(([name, size]) => {
        return [name, create({ size, usage: GPUBufferUsage.STORAGE })];
      }),
    );
    const encoder = device.createCommandEncoder();
    operation.encode(encoder, buffers);
    device.queue.submit([encoder.finish()]);
    await device.queue.onSubmittedWorkDone();
    const { scratchBytes } = operation;
    const counted = attention.allocated();
    operation.destroy();
    found.push({ bytes, counted, left: attention.allocated(), scratchBytes });
    for (const buffer of Object.values(buffers)) buffer.destroy();
  }
  device.destroy();
  return found;
}
"""


def allocations(harness: Harness, kernel: str, **spec: Any) -> list[dict[str, Any]]:
    """What the library allocates on the browser's device, T = 32 to 256; nothing is left over."""
    specs = [{"H": 4, "Tq": T, "D": 8, **spec} for T in (32, 64, 128, 256)]
    found = on_the_page(harness, ALLOCATES, {"specs": specs, "kernel": kernel})
    for one in found:
        assert one["bytes"] == one["counted"]
        assert one["left"] == {}
    return found


def test_the_backward_allocates_four_bytes_a_row_and_no_matrix(harness: Harness) -> None:
    for T, found in zip(
        (32, 64, 128, 256), allocations(harness, "fa2", B=2, op="backward"), strict=True
    ):
        sizes = {label.split()[1]: size for label, size in found["bytes"].items()}
        assert sizes == {"delta": 4 * 2 * 4 * T, "params": 3 * 256}
        assert found["scratchBytes"] == 4 * 2 * 4 * T


def test_the_baseline_allocates_two_matrices(harness: Harness) -> None:
    for T, found in zip(
        (32, 64, 128, 256), allocations(harness, "baseline", op="backward"), strict=True
    ):
        assert found["scratchBytes"] == 2 * 4 * 4 * T * T
        assert sum(found["bytes"].values()) == found["scratchBytes"] + 5 * 256


def test_a_forward_without_attn_allocates_nothing_that_grows(harness: Harness) -> None:
    for kernel in ("fa2", "baseline"):
        for found in allocations(harness, kernel):
            assert list(found["bytes"].values()) == [256]
            assert found["scratchBytes"] == 0


STRIDED = """
async ([kernel, dtype]) => {
  const { createAttention } = await import("/static/js/attention/index.js");
  const { toF16Bits } = await import("/static/js/f16.js");
  const adapter = await navigator.gpu.requestAdapter();
  const device = await adapter.requestDevice();
  const attention = createAttention(device);
  const [B, H, Hkv, Tq, Tk, D] = [2, 4, 2, 19, 21, 5];
  const shape = { B, H, Hkv, Tq, Tk, D, dtype };
  const sizeOf = (name) => ("kv".includes(name.at(-1)) ? [Tk, Hkv] : [Tq, H]);
  const inputs = ["q", "k", "v", "do"];
  const outputs = ["o", "dq", "dk", "dv"];
  const Elements = dtype === "f16" ? Uint16Array : Float32Array;
  const element = (x) => (dtype === "f16" ? toF16Bits(Float32Array.of(x))[0] : Math.fround(x));
  const [FILLER, ZERO] = [element(-12345), element(0)];

  // Position of every element of a tensor, in the order of [B, T, heads, D].
  const places = (name, { offset, batch, row, head }) => {
    const [T, heads] = sizeOf(name);
    return Array.from({ length: B * T * heads * D }, (_, n) => {
      const [b, t, h, d] = [Math.floor(n / (T * heads * D)), Math.floor(n / (heads * D)) % T,
        Math.floor(n / D) % heads, n % D];
      return offset + b * batch + t * row + h * head + d;
    });
  };
  const run = async (strides) => {
    const { STORAGE, COPY_SRC, MAP_READ, COPY_DST } = GPUBufferUsage;
    const filled = (length, place, values) => {
      const usage = STORAGE | COPY_SRC;
      const size = 4 * Math.ceil((length * Elements.BYTES_PER_ELEMENT) / 4);
      const buffer = device.createBuffer({ size, usage, mappedAtCreation: true });
      const memory = new Elements(buffer.getMappedRange()).fill(FILLER);
      place.forEach((at, n) => { memory[at] = element(values(n)); });
      buffer.unmap();
      return buffer;
    };
    const buffers = { lse: filled(2 * B * H * Tq, [], () => 0) };
    for (const name of [...inputs, ...outputs]) {
      const place = places(name, strides[name]);
      const written = inputs.includes(name) ? place : [];
      const phase = name.length + name.charCodeAt(0);
      buffers[name] = filled(Math.max(...place) + 9, written, (n) => Math.sin(phase + 1.7 * n));
    }
    const encoder = device.createCommandEncoder();
    const spec = { ...shape, strides };
    (await attention.prepare(spec, { kernel })).encode(encoder, buffers);
    (await attention.prepare({ ...spec, op: "backward" }, { kernel })).encode(encoder, buffers);
    const copies = outputs.map((name) => {
      const { size } = buffers[name];
      const copy = device.createBuffer({ size, usage: MAP_READ | COPY_DST });
      encoder.copyBufferToBuffer(buffers[name], 0, copy, 0, size);
      return copy;
    });
    device.queue.submit([encoder.finish()]);
    await Promise.all(copies.map((copy) => copy.mapAsync(GPUMapMode.READ)));
    return outputs.map((name, n) => {
      const memory = new Elements(copies[n].getMappedRange().slice(0));
      const place = places(name, strides[name]);
      const values = place.map((at) => memory[at]);
      for (const at of place) memory[at] = FILLER;
      return { values, untouched: memory.every((x) => x === FILLER) };
    });
  };
  const strides = (padding) => Object.fromEntries([...inputs, ...outputs].map((name, n) => {
    const [T, heads] = sizeOf(name);
    const head = D + padding;
    const row = heads * head + 2 * padding;
    const batch = T * row + (3 + n) * padding;
    return [name, { offset: (5 + n) * padding, batch, row, head }];
  }));
  const [plain, padded] = [await run(strides(0)), await run(strides(1))];
  device.destroy();
  return outputs.map((name, n) => ({
    name,
    equal: plain[n].values.every((x, at) => x === padded[n].values[at]),
    written: plain[n].values.some((x) => x !== FILLER && x !== ZERO),
    untouched: padded[n].untouched,
  }));
}
"""


@pytest.mark.parametrize(("kernel", "dtype"), [("fa2", "f32"), ("fa2", "f16"), ("baseline", "f32")])
def test_tensors_may_lie_at_any_offset_and_with_gaps(
    harness: Harness, kernel: str, dtype: str
) -> None:
    """Bit-equal to the dense tensors, and nothing is written in between."""
    for output in on_the_page(harness, STRIDED, [kernel, dtype]):
        name = output.pop("name")
        assert output == {"equal": True, "written": True, "untouched": True}, name
