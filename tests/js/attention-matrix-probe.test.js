// A browser that writes subgroup matrices otherwise than this library, and a device that is lost.
import assert from "node:assert/strict";
import test from "node:test";
import { CompileError, createAttention, diagnose } from "../../static/js/attention/index.js";
import { fakeDevice } from "./attention-device.js";
import { SHADERS } from "./attention-files.js";
import { LARGE_LIMITS } from "./attention-variants.js";

const SPEC = /** @type {const} */ ({ B: 1, H: 16, Tq: 1024, D: 64, dtype: "f16" });
const REFUSED = { type: "error", message: "no such type", lineNum: 1, linePos: 1 };
/** What the lanes of the subgroup probe see where there are 32 of them. */
const SEEN = Uint32Array.from(
  Array.from({ length: 256 }, (_, n) => [32, n % 32, n - (n % 32), n ^ 1]).flat(),
);

/** A GPU with a matrix unit, whose browser compiles what this says. @param {(code: string) => boolean} compiles */
function gpu(compiles) {
  const device = fakeDevice();
  const { createShaderModule, createBuffer, createCommandEncoder } = device;
  return Object.assign(device, {
    features: ["shader-f16", "subgroups", "chromium-experimental-subgroup-matrix"],
    limits: { ...device.limits, ...LARGE_LIMITS },
    adapterInfo: {
      vendor: "nvidia",
      subgroupMinSize: 32,
      subgroupMaxSize: 32,
      subgroupMatrixConfigs: [
        { componentType: "f16", resultComponentType: "f32", M: 16, N: 16, K: 16 },
      ],
    },
    createShaderModule: (/** @type {any} */ given) => ({
      ...createShaderModule(given),
      getCompilationInfo: async () => ({ messages: compiles(given.code) ? [] : [REFUSED] }),
    }),
    createComputePipelineAsync: async (/** @type {any} */ pipeline) => ({
      ...pipeline,
      getBindGroupLayout: () => ({}),
    }),
    createBuffer: (/** @type {any} */ given) =>
      Object.assign(createBuffer(given), {
        mapAsync: async () => {},
        getMappedRange: () => SEEN.buffer,
      }),
    createCommandEncoder: () => ({
      beginComputePass: () => ({
        ...createCommandEncoder().beginComputePass(),
        setPipeline: () => {},
        setBindGroup: () => {},
        dispatchWorkgroups: () => {},
      }),
      copyBufferToBuffer: () => {},
      finish: () => ({}),
    }),
    queue: { ...device.queue, submit: () => {} },
  });
}

const isMatrix = (/** @type {string} */ code) => code.includes("subgroup_matrix_");
const on = (/** @type {any} */ device, tuned = {}) =>
  createAttention(device, { shaders: SHADERS, tuned });

test("where the browser's matrices have changed, auto takes other kernels and says so once", async () => {
  for (const op of /** @type {const} */ (["forward", "backward"])) {
    for (const kernel of ["auto", "fa2"]) {
      const device = gpu((code) => !isMatrix(code));
      const fa = on(device);
      assert.equal(fa.plan({ ...SPEC, op }, { kernel }).kernel, `fa2_${op}_matrix`);
      const { plan } = await fa.prepare({ ...SPEC, op }, { kernel });
      assert.equal(plan.kernel, `fa2_${op}_wide`);
      assert.equal(plan.warnings?.length, 1);
      assert.match(
        plan.warnings?.[0] ?? "",
        /no longer compiles subgroup matrices as fa2_.*_matrix writes them, so .*no such type/,
      );
      assert.equal(fa.plan({ ...SPEC, op }, { kernel }).kernel, `fa2_${op}_wide`);
      assert.equal((await fa.prepare({ ...SPEC, op }, { kernel })).plan.warnings, undefined);
      assert.equal(device.log.scopes, 0);
    }
  }
});

test("a kernel that was named, and a file that alone does not compile, are errors", async () => {
  const named = on(gpu((code) => !isMatrix(code)));
  await assert.rejects(named.prepare(SPEC, { kernel: "fa2_forward_matrix" }), CompileError);
  const strict = on(
    gpu((code) => !isMatrix(code)),
    { strict: true },
  );
  await assert.rejects(strict.prepare(SPEC), CompileError);
  const edited = on(gpu((code) => !code.includes("fn fa2_forward_matrix")));
  await assert.rejects(edited.prepare(SPEC), CompileError);
  assert.equal(edited.plan(SPEC).kernel, "fa2_forward_matrix");
  const other = on(gpu((code) => !code.includes("fn fa2_forward_wide")));
  await assert.rejects(other.prepare({ ...SPEC, dtype: "f32" }), CompileError);
  await on(gpu(() => true)).prepare(SPEC, { kernel: "fa2_forward_matrix" });
});

test("what the compiler is asked about is what would run without the matrices", async () => {
  const ask = (/** @type {any} */ device, kernel = "auto") =>
    diagnose(device, SPEC, { kernel, shaders: SHADERS });
  const changed = gpu((code) => !isMatrix(code));
  const { plan, messages } = await ask(changed);
  assert.deepEqual([plan.kernel, messages], ["fa2_forward_wide", []]);
  assert.equal((await ask(changed, "fa2_forward_matrix")).messages[0].text, "no such type");
  const edited = await ask(gpu((code) => !code.includes("fn fa2_forward_matrix")));
  assert.equal(edited.messages[0].file, "fa2_forward_matrix.wgsl");
});

test("a device that is lost while it allocates costs the operation nothing but its work", async () => {
  const device = fakeDevice();
  const fa = createAttention(device, { shaders: SHADERS });
  const lost = async () => {
    throw new Error("the device is lost");
  };
  device.popErrorScope = lost;
  const op = await fa.prepare({ Tq: 8, D: 8 });
  assert.equal(op.plan.params.Tq, 8);
});
