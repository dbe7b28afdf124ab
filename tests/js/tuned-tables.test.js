// The page's side of tuned tables: asked for once an adapter, and never in the way.
import assert from "node:assert/strict";
import test from "node:test";
import { TunedTables } from "../../static/js/tuned-tables.js";

const ADAPTER = /** @type {any} */ ({
  vendor: "a b",
  architecture: "c",
  device: "",
  description: "d&e",
  limits: {},
});

test("an adapter's table is asked for once, by its names", async () => {
  /** @type {string[]} */
  const asked = [];
  const kernels = { fa2_delta: [{ maxD: 64, BR: 32 }] };
  const tables = new TunedTables(async (path) => {
    asked.push(path);
    return { kernels, choices: [] };
  });
  const [one, two] = await Promise.all([tables.of(ADAPTER), tables.of(ADAPTER)]);
  assert.equal(one.table, two.table);
  assert.deepEqual([one.table.kernels, one.warning], [kernels, ""]);
  await tables.of({ ...ADAPTER, device: "other" });
  const names = "vendor=a+b&architecture=c";
  const rest = "description=d%26e";
  assert.deepEqual(asked, [
    `/api/tuned?${names}&device=&${rest}`,
    `/api/tuned?${names}&device=other&${rest}`,
  ]);
});

test("a table that cannot be had, or followed, is empty with a warning", async () => {
  const stranger = new TunedTables(async () => ({ kernels: { fa3: [] } }));
  const { table, warning } = await stranger.of(ADAPTER);
  assert.deepEqual(table, {});
  assert.match(warning, /is not used: tuned: there is no kernel fa3/);
  const silent = new TunedTables(async () => {
    throw new Error("no answer");
  });
  assert.match((await silent.of(ADAPTER)).warning, /is not used: no answer/);
});
