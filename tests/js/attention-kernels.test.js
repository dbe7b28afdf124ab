// Holds the registry against the shader files: sizes, bindings and constants are said in both.
import assert from "node:assert/strict";
import test from "node:test";
import { compose, isShaderPath, withoutComments } from "../../static/js/attention/compose.js";
import { DEFAULT_LIMITS } from "../../static/js/attention/limits.js";
import { buildPlan } from "../../static/js/attention/plan.js";
import { evaluateSize } from "../../static/js/attention/size-expression.js";
import { SHADERS } from "./attention-files.js";

/** Every pass that a request can lead to. @param {number} D */
const passesOf = (D) =>
  ["fa2", "baseline"].flatMap((kernel) =>
    [{ attn: true }, { op: "backward" }].flatMap(
      (spec) => buildPlan({ Tq: 100, Tk: 90, D, ...spec }, DEFAULT_LIMITS, { kernel }).passes,
    ),
  );

/** Constants of a text whose values are sizes. @param {string} code */
function constantsOf(code) {
  /** @type {Record<string, number>} */
  const values = {};
  const declared = [...code.matchAll(/\bconst\s+(\w+)(?:\s*:\s*u32)?\s*=\s*([^;]+);/g)];
  for (let round = 0; round < 5; round++) {
    for (const [, name, size] of declared) {
      try {
        values[name] = evaluateSize(size, values);
      } catch {
        // not a size, or of a constant that a later round knows
      }
    }
  }
  return values;
}

test("workgroup arrays of the text have the bytes that the registry says, for every head size", () => {
  const BYTES = { f32: 4, "vec4<f32>": 16 };
  for (let D = 1; D <= 256; D++) {
    for (const { file, constants, workgroupBytes } of passesOf(D)) {
      const code = withoutComments(compose(file, constants, SHADERS).text);
      const names = constantsOf(code);
      const arrays = [
        ...code.matchAll(/var<workgroup>\s+(\w+)\s*:\s*array<\s*(.*?)\s*,([^;]*)>;/g),
      ];
      const found = Object.fromEntries(
        arrays.map(([, name, type, size]) => [name, BYTES[type] * evaluateSize(size, names)]),
      );
      assert.deepEqual(found, { ...workgroupBytes }, `${file} D=${D}`);
      assert.equal(arrays.length, [...code.matchAll(/var<workgroup>/g)].length);
    }
  }
});

test("invocations of a workgroup are those of the text", () => {
  for (const D of [1, 64, 65, 128, 129, 256]) {
    for (const { file, kernel, constants, invocations } of passesOf(D)) {
      const code = withoutComments(compose(file, constants, SHADERS).text);
      const entry = new RegExp(
        `@compute\\s+@workgroup_size\\(([^@]*)\\)\\s+fn\\s+${kernel}\\(`,
      ).exec(code);
      assert.ok(entry, `${file} has no entry point ${kernel}`);
      assert.equal(evaluateSize(entry[1], constantsOf(code)), invocations);
    }
  }
});

test("bindings of the text are those of the registry, in number and access", () => {
  for (const { file, constants, bindings } of passesOf(64)) {
    const code = withoutComments(compose(file, constants, SHADERS).text);
    const found = [
      ...code.matchAll(/@group\(0\)\s*@binding\((\d+)\)\s*var<storage,\s*(\w+)>\s*(\w+)\s*:/g),
    ].sort((a, b) => Number(a[1]) - Number(b[1]));
    assert.deepEqual(
      found.map(([, at, access, name]) => [
        Number(at),
        name.toLowerCase(),
        access === "read" ? "read" : "write",
      ]),
      bindings.map(({ name, access }, n) => [n + 1, name, access]),
      file,
    );
  }
});

test("a kernel fits on the screen and says what it computes", () => {
  for (const [path, text] of Object.entries(SHADERS)) {
    assert.ok(isShaderPath(path), path);
    assert.ok(text.split("\n").length <= 200, path);
    assert.ok(
      text.startsWith(`// ${path.split("/").pop()}: `) || text.startsWith(`// ${path}: `),
      path,
    );
    assert.ok(!/subgroup/i.test(withoutComments(text)), `${path} asks for subgroups`);
  }
});
