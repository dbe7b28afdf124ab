// A tile that a kernel cannot work with must not compile: its const_asserts are what a tuned table
// meets when it names one.
import assert from "node:assert/strict";
import test from "node:test";
import { KERNEL_ROWS } from "../../static/js/attention/registry.js";
import { evaluateSize } from "../../static/js/attention/size-expression.js";
import { completeSpec } from "../../static/js/attention/spec.js";
import { fitTile } from "../../static/js/attention/tiles.js";
import { codeOf, constantsOf, deviceFor, variants } from "./attention-variants.js";

/** @type {Record<string, (a: number, b: number) => boolean>} */
const COMPARE = {
  "==": (a, b) => a === b,
  "<=": (a, b) => a <= b,
  ">=": (a, b) => a >= b,
};

/** The conditions of a text's const_asserts that do not hold. @param {string} code */
function broken(code) {
  const names = constantsOf(code);
  const asserted = [...code.matchAll(/\bconst_assert\s+([^;]+);/g)];
  return asserted
    .flatMap(([, text]) => text.split("&&"))
    .filter((condition) => {
      const [, left, operator, right] = /^(.*?)(==|<=|>=)(.*)$/s.exec(condition) ?? [];
      assert.ok(operator, `const_assert${condition}: this test reads ==, <= and >= only`);
      return !COMPARE[operator](evaluateSize(left, names), evaluateSize(right, names));
    })
    .map((condition) => condition.trim());
}

test("every shipped tile keeps what its kernel asserts", () => {
  const sizes = (/** @type {any} */ { needs = {} }, /** @type {any} */ { maxD }) =>
    Array.from({ length: maxD }, (_, n) => n + 1).filter(
      (D) => D >= (needs.minD ?? 1) && D % (needs.align ?? 1) === 0 && (D % 8 < 5 || D === maxD),
    );
  for (const fit of variants(sizes)) {
    assert.deepEqual(broken(codeOf(fit)), [], `${fit.row.name} ${JSON.stringify(fit.tile)}`);
  }
});

/** @type {[string, object, string][]} kernel, what its tile has instead, the assertion */
const WRONG = [
  // Two lanes are no quad: the others' rows are never read.
  ["fa2_forward_rows", { LANES: 2 }, "LANES % 4u == 0u"],
  ["fa2_dkdv_rows", { LANES: 6 }, "LANES % 4u == 0u"],
  ["fa2_dq_rows", { LANES: 2 }, "LANES % 4u == 0u"],
  // A row's invocations spread over two subgroups, or do not pair up.
  ["fa2_forward_wide", { TX: 32 }, "16u % TX == 0u"],
  ["fa2_forward_wide", { TX: 12, TY: 8, CHUNK: 8, V_CHUNK: 16 }, "16u % TX == 0u"],
  // Fewer invocations than rows of the walked tile: some keep no log-sum-exp.
  ["fa2_dkdv_matrix", { SUBGROUPS: 1, WALKED_TILES: 4 }, "BR <= THREADS"],
];

test("a tile that would compute wrong results breaks an assertion", () => {
  for (const [name, change, assertion] of WRONG) {
    const row = KERNEL_ROWS.find((kernel) => kernel.name === name);
    assert.ok(row);
    const { minT, minRows, ...shipped } =
      row.tiles.find((tile) => tile.adapter !== "software") ?? {};
    const needs = /** @type {any} */ ({ subgroups: 16, ...row.needs });
    const spec = completeSpec({ Tq: 64, D: 64, dtype: needs.dtype?.[0] ?? "f32" });
    const device = deviceFor(needs);
    const limits = { ...device.limits, maxComputeWorkgroupStorageSize: 2 ** 20 };
    const fit = fitTile(row, spec, { ...device, limits }, [{ ...shipped, ...change }]);
    assert.ok(typeof fit !== "string", `${name}: ${fit}`);
    assert.ok(broken(codeOf(fit)).includes(assertion), `${name} ${JSON.stringify(change)}`);
  }
});
