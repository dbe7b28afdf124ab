// @ts-check
/**
 * onnxruntime-web: a model of one com.microsoft node, GroupQueryAttention (causal) or
 * MultiHeadAttention (not), with tensors that stay on the GPU.
 */

import { readBack } from "./ours.js";
import { Refusal } from "./subject.js";

const FOLDER = "/peers/onnxruntime-web/dist/";
/** Its shuffling kernel deals with 8 or more lanes: at 4 its results are off by 0.2 to 0.4. */
const WRONG_AT = 4;

/** @type {import("./subject.js").Prepare} */
export async function prepare({ spec, inputs, model }, devices) {
  let size = 0;
  // All of them: a device with subgroup-size-control has subgroups too, asked for or not.
  devices.hides = (name, info) => {
    size = /** @type {{subgroupMinSize?: number}} */ (info).subgroupMinSize ?? 0;
    return 0 < size && size <= WRONG_AT && name.includes("subgroup");
  };
  const ort = await import(`${FOLDER}ort.webgpu.min.mjs`);
  ort.env.wasm.wasmPaths = FOLDER;
  ort.env.wasm.numThreads = 1; // the GPU computes, and threads would need workers
  ort.env.logLevel = "error";
  const bytes = new Uint8Array(await (await fetch(model)).arrayBuffer());
  const session = await ort.InferenceSession.create(bytes, {
    executionProviders: ["webgpu"],
    preferredOutputLocation: "gpu-buffer",
    extra: { session: { disable_cpu_ep_fallback: "1" } }, // never the CPU instead, silently
  });
  const [device] = devices.all;
  const f16 = spec.dtype === "f16";
  if (f16 && !device.features.has("shader-f16")) {
    throw new Refusal("f16 needs shader-f16, which this adapter does not offer it");
  }
  const { B, Tq, Tk, H, Hkv, D } = spec;
  /** @param {"q" | "k" | "v"} name @param {number[]} dims */
  const upload = (name, dims) => {
    const data = inputs[name];
    const { STORAGE, COPY_SRC, COPY_DST } = GPUBufferUsage;
    const gpuBuffer = device.createBuffer({
      size: Math.ceil(data.byteLength / 16) * 16,
      usage: STORAGE | COPY_SRC | COPY_DST,
    });
    device.queue.writeBuffer(gpuBuffer, 0, data);
    return ort.Tensor.fromGpuBuffer(gpuBuffer, { dataType: f16 ? "float16" : "float32", dims });
  };
  const feeds = {
    q: upload("q", [B, Tq, H * D]),
    k: upload("k", [B, Tk, Hkv * D]),
    v: upload("v", [B, Tk, Hkv * D]),
  };
  /** @type {any} */
  let last = null;
  return {
    notes: devices.hiding
      ? [`subgroups are hidden from it: at their size here, ${size}, it is wrong`]
      : [],
    async call() {
      const { o } = await session.run(feeds);
      last?.dispose();
      last = o;
    },
    drain: () => device.queue.onSubmittedWorkDone(),
    async read() {
      const size = f16 ? 2 : 4;
      return { o: await readBack(device, last.gpuBuffer, 0, B * Tq * H * D * size) };
    },
    dispose() {
      last?.dispose();
      session.release();
    },
  };
}
