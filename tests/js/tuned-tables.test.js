// The page's side of tuned tables: asked for at every run, and never in the way.
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

test("an adapter's table is asked for by its names, once by callers at the same time", async () => {
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

test("a table that fa2 tune wrote meanwhile is the next one's; the same one is the same object", async () => {
  const answers = [{ fa2_delta: [{ BR: 32 }] }, { fa2_delta: [{ BR: 32 }] }, { fa2_delta: [] }];
  const broken = { fa3: [] };
  const said = [...answers, broken, broken, answers[0]].map((kernels) => ({ kernels }));
  const tables = new TunedTables(async () => said.shift());
  const tuned = [];
  for (let n = 0; n < 6; n++) tuned.push(await tables.of(ADAPTER));
  assert.equal(tuned[1].table, tuned[0].table);
  assert.deepEqual(tuned[2].table.kernels, { fa2_delta: [] });
  assert.match(tuned[3].warning, /there is no kernel fa3/);
  assert.equal(tuned[4].table, tuned[3].table);
  assert.deepEqual([tuned[5].table.kernels, tuned[5].warning], [answers[0], ""]);
});
