// Holds the registry against the shader files: sizes, bindings and constants are said in both.
import assert from "node:assert/strict";
import test from "node:test";
import { BINDINGS } from "../../static/js/attention/bindings.js";
import { isShaderPath } from "../../static/js/attention/compose.js";
import { CONDITION_NAMES } from "../../static/js/attention/conditions.js";
import { CHOICES, KERNEL_ROWS, ROLE_FILES } from "../../static/js/attention/registry.js";
import { evaluateSize } from "../../static/js/attention/size-expression.js";
import { SHADERS } from "./attention-files.js";
import { codeOf, constantsOf, reachable, variants } from "./attention-variants.js";

/** Head sizes that a tile row takes, where sizes of arrays change. @param {any} row @param {any} tile */
const headSizes = ({ needs = {} }, { minD = 1, maxD, align = needs.align ?? 1 }) =>
  Array.from({ length: maxD }, (_, n) => n + 1).filter(
    (D) => D >= minD && D % align === 0 && (D <= 16 || [0, 1, 4, 12, 15].includes(D % 16)),
  );

test("workgroup arrays of the text have the bytes that the registry says", () => {
  const BYTES = {
    f16: 2,
    f32: 4,
    u32: 4,
    "atomic<u32>": 4,
    "vec2<f32>": 8,
    "vec4<f16>": 8,
    "vec4<f32>": 16,
    "vec4<u32>": 16,
  };
  for (const fit of variants(headSizes)) {
    const code = codeOf(fit);
    const names = constantsOf(code);
    const arrays = [...code.matchAll(/var<workgroup>\s+(\w+)\s*:\s*array<\s*(.*?)\s*,([^;]*)>;/g)];
    const found = Object.fromEntries(
      arrays.map(([, name, type, size]) => [name, BYTES[type] * evaluateSize(size, names)]),
    );
    assert.deepEqual(
      found,
      { ...fit.workgroupBytes },
      `${fit.row.file} D=${fit.constants.HEAD_DIM}`,
    );
    assert.equal(arrays.length, [...code.matchAll(/var<workgroup>/g)].length);
  }
});

test("invocations of a workgroup are those of the text", () => {
  for (const fit of variants()) {
    const { file, name } = fit.row;
    const code = codeOf(fit);
    const entry = new RegExp(`@compute\\s+@workgroup_size\\(([^@]*)\\)\\s+fn\\s+${name}\\(`).exec(
      code,
    );
    assert.ok(entry, `${file} has no entry point ${name}`);
    assert.equal(evaluateSize(entry[1], constantsOf(code)), fit.invocations);
  }
});

test("the bindings that a text reaches are those of the registry, in number and access", () => {
  for (const fit of variants()) {
    const code = codeOf(fit);
    const used = reachable(code, fit.row.name);
    const found = [
      ...code.matchAll(/@group\(0\)\s*@binding\((\d+)\)\s*var<storage,\s*(\w+)>\s*(\w+)\s*:/g),
    ]
      .filter(([, , , name]) => used.has(name))
      .map(([, at, access]) => [Number(at), access === "read" ? "read" : "write"]);
    const expected = Object.entries(fit.row.bindings).map(([name, access]) => [
      BINDINGS[name],
      access,
    ]);
    assert.deepEqual(found.sort(), expected.sort(), fit.row.file);
  }
});

test("every name of a tile row is a condition, or a number that something uses", () => {
  for (const { name, needs = {}, tiles, derived, ...row } of KERNEL_ROWS) {
    for (const key of Object.keys(needs))
      assert.ok(CONDITION_NAMES.includes(key), `${name} ${key}`);
    const sizes = [
      ...Object.values(derived),
      row.invocations,
      ...Object.values(row.workgroupMemory),
    ];
    for (const tile of tiles) {
      for (const [key, value] of Object.entries(tile)) {
        if (CONDITION_NAMES.includes(key) || key === "roles" || key === "why") continue;
        assert.ok(["number", "boolean"].includes(typeof value), `${name} ${key}=${value}`);
        // compose() refuses capital names that no text mentions.
        const told =
          /^[A-Z]/.test(key) || sizes.some((size) => new RegExp(`\\b${key}\\b`).test(size));
        assert.ok(told, `${name}: nothing uses ${key}, and it is no condition`);
      }
    }
  }
});

test("every file that may play a role exists and is listed with that role", () => {
  for (const { name, roles = {}, tiles } of KERNEL_ROWS) {
    const own = tiles.flatMap((tile) => Object.entries(tile.roles ?? {}).map(([r, f]) => [r, [f]]));
    for (const [role, files] of [...Object.entries(roles), ...own]) {
      for (const file of files) {
        assert.equal(ROLE_FILES[file]?.role, role, `${name}: ${file}`);
        assert.ok(roles[role].includes(file), `${name}: a tile names ${file}, its kernel does not`);
      }
    }
  }
  for (const [path, { role, enable, workgroupMemory, ...conditions }] of Object.entries(
    ROLE_FILES,
  )) {
    assert.ok(path in SHADERS, path);
    for (const key of Object.keys(conditions)) {
      assert.ok(CONDITION_NAMES.includes(key), `${path}: ${key}`);
    }
    assert.ok(
      KERNEL_ROWS.some(({ roles = {} }) => roles[role]?.includes(path)),
      `${path}: no kernel`,
    );
  }
});

test("a choice names passes that exist", () => {
  for (const { passes = [], attnPass, name } of CHOICES) {
    for (const part of [...passes, ...(attnPass ? [attnPass] : [])]) {
      assert.ok(
        KERNEL_ROWS.some((row) => row.name === part),
        `${name}: ${part}`,
      );
    }
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
  }
});

test("subgroups are used only where the registry asks for them", () => {
  for (const fit of variants()) {
    const asks = fit.enable.some((extension) => extension.includes("subgroup"));
    assert.equal(/\b(?:subgroup|quad)\w+\(/.test(codeOf(fit)), asks, fit.row.name);
    const files = Object.values(fit.roles).map((path) => ROLE_FILES[path]);
    const conditions = [fit.row.needs ?? {}, ...fit.row.tiles, ...files];
    assert.ok(!asks || conditions.some(({ subgroups }) => subgroups), `${fit.row.name}: no size`);
  }
});

test("a row says no more than its readers ask: what can be chosen has a family, parts have none", () => {
  const rows = [...new Set([...CHOICES, ...KERNEL_ROWS])];
  for (const row of rows) {
    const chosen = CHOICES.includes(/** @type {any} */ (row));
    assert.deepEqual(
      ["family", "supports"].map((key) => key in row),
      [chosen, chosen],
      row.name,
    );
  }
});
