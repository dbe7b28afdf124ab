import assert from "node:assert/strict";
import test from "node:test";
import { factsOf } from "../../static/js/attention/facts.js";
import { DEFAULT_LIMITS } from "../../static/js/attention/limits.js";
import { buildPlan } from "../../static/js/attention/plan.js";
import { cutPlan, foldGrid } from "../../static/js/attention/steps.js";

test("a grid within the limit stays a line", () => {
  assert.deepEqual(foldGrid(1, 65535), [1, 1]);
  assert.deepEqual(foldGrid(65535, 65535), [65535, 1]);
});

test("a longer grid is folded with fewer spare workgroups than it has rows", () => {
  for (const count of [65536, 70001, 131070, 131071, 10_000_019, 65535 ** 2]) {
    const [x, y] = foldGrid(count, 65535);
    assert.ok(x <= 65535 && y <= 65535, `${count}: ${x} x ${y}`);
    assert.ok(x * y >= count && x * y - count < y, `${count}: ${x} x ${y}`);
  }
});

test("steps cover every workgroup of every pass once, in order", () => {
  const plan = buildPlan(
    { Tq: 1000, D: 16, H: 3, B: 2, attn: true },
    factsOf({ limits: DEFAULT_LIMITS }),
  );
  for (const maxWork of [1, 1e4, 1e6, 1e7, Number.POSITIVE_INFINITY]) {
    const slices = cutPlan(plan, 65535, maxWork);
    plan.passes.forEach((pass, n) => {
      const own = slices.filter((slice) => slice.pass === n);
      assert.equal(own[0].first, 0);
      assert.equal(own[own.length - 1].end, pass.workgroups);
      assert.deepEqual(
        own.slice(1).map(({ first }) => first),
        own.slice(0, -1).map(({ end }) => end),
      );
      assert.ok(
        own.every(({ first, end, grid }) => end > first && grid[0] * grid[1] >= end - first),
      );
      const work = own.reduce((sum, slice) => sum + slice.work, 0);
      assert.ok(Math.abs(work / pass.work - 1) < 1e-12);
      const share = pass.work / pass.workgroups; // a slice can be no smaller than a workgroup
      assert.ok(own.every((slice) => slice.work <= Math.max(maxWork, 0) + share));
    });
    assert.ok(slices.every((slice, k) => k === 0 || slice.pass >= slices[k - 1].pass));
  }
  assert.equal(cutPlan(plan, 65535, Number.POSITIVE_INFINITY).length, 2);
});

test("workgroups of a grid that do unlike work are cut by their work, not by their number", () => {
  const facts = factsOf({ limits: DEFAULT_LIMITS, info: /** @type {any} */ ({ vendor: "amd" }) });
  for (const sizes of [
    { Tq: 4096, H: 32, Hkv: 32 },
    { Tq: 4096, H: 32, Hkv: 8 },
    { Tq: 4096, H: 32, Hkv: 1 },
    { Tq: 64, Tk: 16384, H: 1 }, // one workgroup for queries, as much work as 192 for keys
    { Tq: 1, Tk: 4096, H: 1 },
    { Tq: 5000, Tk: 40, H: 8, Hkv: 1 }, // two for keys, before many for queries
  ]) {
    const spec = { op: "backward", D: 64, causal: false, ...sizes };
    const plan = buildPlan(/** @type {any} */ (spec), facts);
    const [, { parts, work, workgroups }] = plan.passes;
    assert.equal(parts.length, 2);
    assert.equal(parts[0].workgroups + parts[1].workgroups, workgroups);
    assert.equal(parts[0].work + parts[1].work, work);
    const largest = Math.max(...parts.map((part) => part.work / part.workgroups));
    for (const count of [2, 5, 7, 100, 5000]) {
      const most = work / count;
      const slices = cutPlan(plan, 65535, most).filter(({ pass }) => pass === 1);
      assert.ok(slices.every((slice) => slice.work > 0 && slice.work <= most + largest));
      assert.equal(slices[0].first, 0);
      assert.equal(slices[slices.length - 1].end, workgroups);
      assert.ok(
        slices.every(
          ({ first, end }, n) => n === 0 || (first === slices[n - 1].end && end > first),
        ),
      );
      const sum = slices.reduce((all, slice) => all + slice.work, 0);
      assert.ok(Math.abs(sum / work - 1) < 1e-12);
    }
  }
});

test("a step without work is refused", () => {
  const plan = buildPlan({ Tq: 4, D: 4 }, factsOf({ limits: DEFAULT_LIMITS }));
  for (const maxWork of [0, -1, Number.NaN])
    assert.throws(() => cutPlan(plan, 65535, maxWork), /^SpecError: maxWork=.*positive/);
});
