// Every text that the registry can lead to, before Dawn: Chromium's own WebGPU, here without a GPU. It
// knows the types and the uniformity of all of WGSL, subgroup matrices too, which no software adapter has.
import assert from "node:assert/strict";
import test from "node:test";
import { create } from "webgpu";
import { compose } from "../../static/js/attention/compose.js";
import { SHADERS } from "./attention-files.js";
import { variants } from "./attention-variants.js";

const FEATURES = /** @type {GPUFeatureName[]} */ ([
  "shader-f16",
  "subgroups",
  "chromium-experimental-subgroup-matrix",
]);

// Kept: what it made does not outlive it.
const gpu = create(["backend=null", "enable-dawn-features=allow_unsafe_apis"]);

async function dawn() {
  const adapter = await gpu.requestAdapter();
  assert.ok(adapter, "Dawn has a backend that computes nothing");
  return adapter.requestDevice({ requiredFeatures: FEATURES });
}

/**
 * What Dawn says against a text; "" if nothing.
 *
 * @param {GPUDevice} device
 * @param {string} code
 */
async function complaint(device, code) {
  device.pushErrorScope("validation");
  device.createShaderModule({ code });
  return (await device.popErrorScope())?.message ?? "";
}

test("Dawn takes every text that the registry can lead to", async () => {
  const device = await dawn();
  const files = new Set();
  for (const { row, constants, roles, enable } of variants()) {
    const { text } = compose(row.file, constants, SHADERS, { roles, enable });
    assert.equal(await complaint(device, text), "", `${row.file} ${JSON.stringify(constants)}`);
    files.add(row.file);
  }
  assert.ok(files.has("fa2_forward_matrix.wgsl") && files.size > 20, `${files.size} files`);
  device.destroy();
});

test("Dawn refuses the faults that a software adapter would never meet", async () => {
  const device = await dawn();
  const [matrix] = [...variants()].filter(({ row }) => row.file === "fa2_forward_matrix.wgsl");
  const { row, constants, roles, enable } = matrix;
  const broken = async (
    /** @type {string} */ file,
    /** @type {string} */ right,
    /** @type {string} */ wrong,
  ) => {
    assert.ok(SHADERS[file].includes(right), `${file} has ${right}`);
    const shaders = { ...SHADERS, [file]: SHADERS[file].replace(right, wrong) };
    return complaint(device, compose(row.file, constants, shaders, { roles, enable }).text);
  };
  const rows = "subgroup_matrix_left<f16, 16, 16>";
  assert.match(
    await broken("common/matrix.wgsl", rows, rows.replace("16, 16", "16, 8")),
    /no matching call to 'subgroupMatrix/,
  );
  const barrier = "workgroupBarrier();  // the first tile of K is there";
  assert.match(
    await broken(row.file, barrier, `if (index == 0u) { ${barrier}\n }`),
    /must only be called from uniform control flow/,
  );
  device.destroy();
});
