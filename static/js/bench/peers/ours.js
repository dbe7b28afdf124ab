// @ts-check
/** Our own kernel, as the peers are run: forward, or forward and backward, by queued calls. */
import { createAttention } from "../../attention/index.js";
import { JobBuffers } from "../../job-buffers.js";
import { storeInputs } from "../../layout.js";
import { operationsOf } from "../../operations.js";
import { neededLimits } from "../../runner.js";

/** @typedef {import("./subject.js").Subject} Subject */
/** @typedef {import("./subject.js").Task} Task */

/**
 * @param {Task} task
 * @param {import("../../device.js").DeviceKeeper} devices
 * @returns {Promise<Subject>}
 */
export async function prepare({ spec, kernel, inputs, want }, devices) {
  await devices.look();
  const { device, errors } = await devices.acquire(
    neededLimits({ case: "this case", spec, kernel, want }, devices.described),
  );
  const attention = createAttention(device);
  const buffers = new JobBuffers(device, storeInputs(spec, inputs), want);
  const { bindings } = buffers;
  /** @type {Awaited<ReturnType<typeof operationsOf>>} */
  let operations = [];
  /** @type {Subject} */
  const subject = {
    name: "",
    async compile() {
      operations = await operationsOf(attention, spec, kernel);
      subject.name = operations[operations.length - 1].kernel;
    },
    call() {
      const encoder = device.createCommandEncoder();
      for (const operation of operations) operation.encode(encoder, bindings);
      device.queue.submit([encoder.finish()]);
    },
    drain: () => device.queue.onSubmittedWorkDone(),
    async read() {
      if (errors.length) throw new Error(`GPU error: ${errors.join("; ")}`);
      const named = want.filter(({ name }) => name !== "lse");
      const read = named.map(async ({ name, bytes }) => {
        const found = /** @type {GPUBufferBinding} */ (bindings[name]);
        return [name, await readBack(device, found.buffer, found.offset ?? 0, bytes)];
      });
      return Object.fromEntries(await Promise.all(read));
    },
    dispose() {
      for (const operation of operations) operation.destroy();
      buffers.destroy();
    },
  };
  return subject;
}

/**
 * @param {GPUDevice} device
 * @param {GPUBuffer} buffer
 * @param {number} offset
 * @param {number} bytes
 */
export async function readBack(device, buffer, offset, bytes) {
  const size = Math.ceil(bytes / 4) * 4;
  const { COPY_DST, MAP_READ } = GPUBufferUsage;
  const staging = device.createBuffer({ size, usage: COPY_DST | MAP_READ });
  const encoder = device.createCommandEncoder();
  encoder.copyBufferToBuffer(buffer, offset, staging, 0, size);
  device.queue.submit([encoder.finish()]);
  await staging.mapAsync(GPUMapMode.READ);
  const copy = new Uint8Array(staging.getMappedRange().slice(0, bytes));
  staging.destroy();
  return copy;
}
