// The probe of a device's subgroups, and what a wrong one leads to.
import assert from "node:assert/strict";
import test from "node:test";
import { ShaderSources } from "../../static/js/attention/shader-sources.js";
import { isLinear, subgroupsAsTold } from "../../static/js/attention/subgroups.js";
import { SHADERS } from "./attention-files.js";

const LANES = 256;

/** What lanes see whose subgroups are runs of `size`. @param {number} size */
const linear = (size) =>
  Uint32Array.from(
    Array.from({ length: LANES }, (_, n) => [size, n % size, n - (n % size), n ^ 1]).flat(),
  );

/** @param {number} least @param {number} [most] */
const told = (least, most = least) => ({ subgroupMinSize: least, subgroupMaxSize: most });

/** A device whose probe sees this. @param {Uint32Array} seen @param {object} [changes] */
const deviceThatSees = (seen, changes = {}) => {
  /** @type {Set<object>} */
  const buffers = new Set();
  const device = {
    buffers,
    createShaderModule: () => ({}),
    createComputePipelineAsync: async () => ({ getBindGroupLayout: () => ({}) }),
    createBuffer: () => {
      const buffer = {
        mapAsync: async () => {},
        getMappedRange: () => seen.buffer,
        destroy: () => buffers.delete(buffer),
      };
      buffers.add(buffer);
      return buffer;
    },
    createBindGroup: () => ({}),
    createCommandEncoder: () => ({
      beginComputePass: () => ({
        setPipeline: () => {},
        setBindGroup: () => {},
        dispatchWorkgroups: () => {},
        end: () => {},
      }),
      copyBufferToBuffer: () => {},
      finish: () => ({}),
    }),
    queue: { submit: () => {} },
    ...changes,
  };
  return /** @type {any} */ (device);
};

const sources = new ShaderSources(new URL("http://127.0.0.1:9/"), SHADERS);

test("runs of neighbouring lanes of a size that was told are linear", () => {
  for (const size of [4, 8, 32, 64]) assert.ok(isLinear(linear(size), told(size)));
  assert.ok(isLinear(linear(16), told(8, 32)));
});

test("another size, another order, another neighbour are not", () => {
  assert.ok(!isLinear(linear(4), told(8, 32)));
  assert.ok(!isLinear(linear(64), told(8, 32)));
  for (let member = 0; member < 4; member++) {
    const seen = linear(32);
    seen[4 * 77 + member] += 1;
    assert.ok(!isLinear(seen, told(32, 64)), `member ${member}`);
  }
});

test("the device's answer counts, an error is a no, and no buffer stays", async () => {
  const right = deviceThatSees(linear(32));
  assert.equal(await subgroupsAsTold(right, sources, told(32)), true);
  assert.equal(await subgroupsAsTold(right, sources, told(64)), false);
  assert.equal(right.buffers.size, 0);
  const createComputePipelineAsync = async () => {
    throw new Error("no such builtin");
  };
  const broken = deviceThatSees(linear(32), { createComputePipelineAsync });
  assert.equal(await subgroupsAsTold(broken, sources, told(32)), false);
  assert.equal(broken.buffers.size, 0);
});
