// static/js/train/program.js and trainer.js with a recording device in place of a GPU.
import assert from "node:assert/strict";
import { test } from "node:test";

import { PRESETS } from "../../static/js/train/config.js";
import { createTrainer } from "../../static/js/train/model.js";
import { createProgram, Program } from "../../static/js/train/program.js";
import { Trainer } from "../../static/js/train/trainer.js";

/** @param {number} work @param {string} name */
const dispatch = (work, name) =>
  /** @type {any} */ ({ pipeline: name, group: name, offset: 0, grid: [1, 1], work });

/** An encoder that writes down what it is told. */
function recorder() {
  /** @type {string[]} */
  const log = [];
  const pass = {
    setPipeline: (/** @type {string} */ name) => log.push(name),
    setBindGroup: () => {},
    dispatchWorkgroups: () => {},
    end: () => log.push("end"),
  };
  const encoder = /** @type {any} */ ({
    beginComputePass: () => {
      log.push("begin");
      return pass;
    },
    copyBufferToBuffer: () => log.push("copy"),
    finish: () => log.join(" "),
  });
  return { log, encoder };
}

const uniform = /** @type {any} */ ({ size: 512, destroy: () => {} });

test("dispatches share a pass, and work of others finds none open", () => {
  const foreign = { work: 1, encode: (/** @type {any} */ encoder) => encoder.copyBufferToBuffer() };
  const items = [dispatch(1, "a"), dispatch(1, "b"), foreign, dispatch(1, "c"), foreign];
  const { log, encoder } = recorder();
  for (const { encode } of new Program(items, uniform).runs(10)) encode(encoder);
  assert.deepEqual(log, ["begin", "a", "b", "end", "copy", "begin", "c", "end", "copy"]);
});

test("runs are as long as the work allows, keep the order and leave nothing out", () => {
  const program = new Program(
    [3, 3, 3, 9, 1, 1].map((work, n) => dispatch(work, `${n}`)),
    uniform,
  );
  /** @param {number} maxWork */
  const names = (maxWork) =>
    program.runs(maxWork).map(({ encode }) => {
      const { log, encoder } = recorder();
      encode(encoder);
      return log.filter((name) => /\d/.test(name)).join("");
    });
  assert.deepEqual(names(6), ["01", "2", "3", "45"]);
  assert.deepEqual(names(1), ["0", "1", "2", "3", "4", "5"]);
  assert.deepEqual(names(Number.POSITIVE_INFINITY), ["012345"]);
  assert.deepEqual(
    program.runs(6).map(({ work }) => work),
    [6, 3, 9, 2],
  );
});

test("a binding that is missing or superfluous is refused with both lists", async () => {
  const device = /** @type {any} */ ({
    limits: { minUniformBufferOffsetAlignment: 256, maxComputeWorkgroupsPerDimension: 65535 },
    createBuffer: () => uniform,
    pushErrorScope: () => {},
  });
  const kernels = /** @type {any} */ ({ get: async () => ({}) });
  for (const given of ["A, B", "A, B, Y, C"]) {
    const buffers = Object.fromEntries(given.split(", ").map((name) => [name, {}]));
    const item = /** @type {any} */ ({ kernel: "add", sizes: { rows: 1, columns: 1 }, buffers });
    await assert.rejects(
      createProgram(device, kernels, [item]),
      new RegExp(`kernel add binds A, B, Y, given ${given}$`),
    );
  }
});

/** A trainer over a device that does nothing, with a log of what reached the queue. */
function trainerOn({ gradient = [4e8, 4e8, 4e8], update = [1] } = {}) {
  /** @type {string[]} */
  const log = [];
  /** @type {any} */
  const buffer = (/** @type {string} */ label) => ({ label, size: 4, destroy() {} });
  const device = /** @type {any} */ ({
    queue: {
      writeBuffer: (/** @type {any} */ { label }) => log.push(label),
      submit: (/** @type {string[]} */ [commands]) => log.push(commands),
      onSubmittedWorkDone: async () => {},
    },
    createCommandEncoder: () => recorder().encoder,
    createBuffer: () => ({
      mapAsync: async () => {},
      getMappedRange: () => new Float32Array([2.5]).buffer,
      destroy() {},
    }),
  });
  const memory = /** @type {any} */ ({
    sizeBytes: 1000,
    tensor: (/** @type {string} */ name) => ({ buffer: buffer(name), offset: 0, size: 4 }),
    parameter: () => ({ buffer: buffer("weights"), offset: 0, size: 4 }),
    destroy: () => log.push("freed"),
  });
  const program = (/** @type {number[]} */ works, /** @type {string} */ name) =>
    new Program(
      works.map((work, n) => dispatch(work, `${name}${n}`)),
      uniform,
    );
  const programs = { gradient: program(gradient, "g"), update: program(update, "u") };
  /** @type {number[]} */
  const steps = [];
  const trainer = new Trainer(device, PRESETS.tiny, memory, programs, (step) => {
    steps.push(step);
    return { tokens: new Uint32Array(1), targets: new Uint32Array(1) };
  });
  return { trainer, log, steps };
}

test("a step writes the batch, computes gradients, updates and reads the loss, in this order", async () => {
  const { trainer, log, steps } = trainerOn({ gradient: [1, 2] });
  assert.equal(await trainer.step(), 2.5);
  assert.deepEqual(log, ["tokens", "targets", "begin g0 g1 end", "update", "begin u0 end", "copy"]);
  await trainer.step();
  assert.deepEqual(steps, [0, 1]);
  assert.equal(trainer.steps, 2);
});

test("a step too large for one submit reports its progress between them", async () => {
  const { trainer } = trainerOn();
  /** @type {number[]} */
  const shares = [];
  await trainer.step({ onProgress: (share) => shares.push(share) });
  assert.equal(shares.length, 4);
  assert.ok(shares.every((share, n) => n === 0 || share > shares[n - 1]));
  assert.equal(shares.at(-1), 1);
});

for (const when of [0, 0.95]) {
  test(`a step aborted at ${when} changes no weight and can be tried again`, async () => {
    const { trainer, log, steps } = trainerOn();
    const stop = new AbortController();
    const onProgress = (/** @type {number} */ share) => {
      if (share >= when) stop.abort(new Error("stopped by a person"));
    };
    await assert.rejects(trainer.step({ signal: stop.signal, onProgress }), /stopped by a person/);
    assert.ok(!log.some((entry) => entry === "update" || entry.includes("u0")), log.join(", "));
    assert.equal(trainer.steps, 0);
    await trainer.step();
    assert.deepEqual(steps, [0, 0]);
  });
}

test("a step that is aborted after the update began ends as if it had not been", async () => {
  const { trainer } = trainerOn({ gradient: [1] });
  const stop = new AbortController();
  const onProgress = (/** @type {number} */ share) => {
    if (share === 1) stop.abort();
  };
  assert.equal(await trainer.step({ signal: stop.signal, onProgress }), 2.5);
  assert.equal(trainer.steps, 1);
});

test("one step at a time, and none after destroy", async () => {
  const { trainer, log } = trainerOn();
  const first = trainer.step();
  await assert.rejects(trainer.step(), /a step is still running/);
  await first;
  trainer.destroy();
  assert.equal(log.at(-1), "freed");
  await assert.rejects(trainer.step(), /the trainer was destroyed/);
  assert.equal(trainer.sizeBytes, 1000 + 2 * 512);
});

test("a trainer destroyed during a step submits nothing more, and the step says so", async () => {
  const whole = trainerOn();
  await whole.trainer.step();
  for (let at = 2; at < whole.log.length; at++) {
    const { trainer, log } = trainerOn();
    /** @type {Promise<unknown>} */
    let destroyed = Promise.resolve();
    const push = log.push.bind(log);
    log.push = (...entries) => {
      const length = push(...entries);
      // While the step waits for what it has just asked for.
      if (length === at + 1) destroyed = destroyed.then(() => trainer.destroy());
      return length;
    };
    const entry = whole.log[at];
    if (entry === "update") continue; // no wait follows it
    await assert.rejects(trainer.step(), /the trainer was destroyed/, entry);
    await destroyed;
    assert.deepEqual([...log], [...whole.log.slice(0, at + 1), "freed"]);
    assert.equal(trainer.steps, 0);
  }
});

test("a trainer destroyed by who hears of its progress ends the step with that", async () => {
  for (const when of [0, 0.95, 1]) {
    const { trainer, log } = trainerOn();
    const onProgress = (/** @type {number} */ share) => {
      if (share >= when && log.at(-1) !== "freed") trainer.destroy();
    };
    await assert.rejects(trainer.step({ onProgress }), /the trainer was destroyed/);
    assert.equal(log.at(-1), "freed");
  }
});

test("a parameter that is being downloaded while the trainer is destroyed is no zeros", async () => {
  const { trainer } = trainerOn();
  const downloading = trainer.download("wte.weight");
  trainer.destroy();
  await assert.rejects(downloading, /the trainer was destroyed/);
});

test("a model that a device cannot hold is refused before anything is allocated", async () => {
  const limits = { maxBufferSize: 2 ** 20, maxStorageBufferBindingSize: 2 ** 17 };
  const device = /** @type {any} */ ({ limits });
  const attention = /** @type {any} */ ({});
  await assert.rejects(
    createTrainer(device, { preset: "tiny", attention }),
    /buffer logits takes 524288 bytes, this device allows 131072/,
  );
});
