import assert from "node:assert/strict";
import test from "node:test";
import { HEAD_WORDS, rangesOf, TraceBuffer, traceLimits } from "../../static/js/trace-buffer.js";
import { badgeOf, firstStep, sizesOf, stateOf, worstTile } from "../../static/js/trace-view.js";

const SPEC = { Tq: 70, Tk: 70, causal: true, align: "br", op: "forward" };
const TILE = { Br: 32, Bc: 16 };

test("a query tile is counted in the rows of the tensor, the last one cut off at its end", () => {
  assert.deepEqual(rangesOf(SPEC, TILE, { b: 0, h: 0, i_tile: 1 }).rows, [32, 64]);
  assert.deepEqual(rangesOf(SPEC, TILE, { b: 0, h: 0, i_tile: 2 }).rows, [64, 70]);
  assert.deepEqual(rangesOf(SPEC, TILE, { b: 0, h: 0 }).rows, [0, 32]);
});

test("a backward takes the tile of the last key that the first row sees, or the first row that sees the tile", () => {
  const spec = { ...SPEC, op: "backward" };
  assert.deepEqual(rangesOf(spec, TILE, { b: 0, h: 0, i_tile: 1 }), {
    rows: [32, 64],
    keys: [32, 48],
  });
  assert.deepEqual(rangesOf(spec, TILE, { b: 0, h: 0, j_tile: 4 }), {
    rows: [64, 70],
    keys: [64, 70],
  });
  const open = { ...spec, causal: false };
  assert.deepEqual(rangesOf(open, TILE, { b: 0, h: 0, i_tile: 2 }).keys, [0, 16]);
});

test("a tile that is not there is refused with the tiles that are", () => {
  assert.throws(
    () => rangesOf(SPEC, TILE, { b: 0, h: 0, i_tile: 3 }),
    /no query tile 3: .* 32 long, so they are 0 to 2/,
  );
  const spec = { ...SPEC, op: "backward" };
  assert.throws(() => rangesOf(spec, TILE, { b: 0, h: 0, i_tile: 0, j_tile: 5 }), /no key tile 5/);
});

test("a kernel that cannot tell is refused by name, with one that can", () => {
  const job = { spec: SPEC, trace: { b: 0, h: 1, i_tile: 1 } };
  const plain = { kernel: "attn_fused_sv", tile: null, plan: {} };
  assert.throws(
    () => TraceBuffer.headOf(job, [plain]),
    /kernel attn_fused_sv has no trace hooks; name kernel=fa2_forward/,
  );
  const able = { kernel: "fa2_forward", tile: TILE, plan: { traced: ["fa2_forward"] } };
  assert.deepEqual([...(TraceBuffer.headOf(job, [able]) ?? [])], [0, 0, 1, 32, 64, 0, 70, 16]);
});

test("without a trace there is a head only where dbg() is called, and it asks for nothing", () => {
  const operation = { kernel: "k", tile: TILE, plan: {} };
  assert.equal(TraceBuffer.headOf({ spec: SPEC, trace: null }, [operation]), null);
  const calls = { ...operation, plan: { traced: [] } };
  const head = TraceBuffer.headOf({ spec: SPEC, trace: null }, [calls]);
  assert.deepEqual([...(head ?? [])], Array(HEAD_WORDS).fill(0));
});

test("a traced job asks for nine storage buffers, never for more than there are", () => {
  const job = { want: [{ name: "trace", dtype: "u32", shape: [8], bytes: 32 }] };
  assert.deepEqual(traceLimits(job, { maxStorageBuffersPerShaderStage: 10 }), {
    maxStorageBuffersPerShaderStage: 9,
  });
  assert.deepEqual(traceLimits(job, { maxStorageBuffersPerShaderStage: 8 }), {
    maxStorageBuffersPerShaderStage: 8,
  });
  assert.deepEqual(traceLimits({ want: [] }, { maxStorageBuffersPerShaderStage: 8 }), {});
});

const output = (ratio, index, tile) => ({ worst_ratio: ratio, worst: { index, tile } });

test("the form begins with the tile of the worst element", () => {
  const sizes = sizesOf("backward:T=70,H=4,Hkv=2,D=8");
  assert.deepEqual(sizes, { op: "backward", B: 1, H: 4, Hkv: 2 });
  const report = {
    outputs: {
      o: output(0.2, [0, 33, 3, 1], [1]),
      lse: output("NaN", [0, 2, 5], [0]),
      dk: output(7, [0, 40, 1, 2], [2]),
    },
  };
  assert.deepEqual(worstTile(report, "o", sizes), { b: 0, h: 3, i_tile: 1 });
  assert.deepEqual(worstTile(report, "dk", sizes), { b: 0, h: 2, j_tile: 2 });
  assert.deepEqual(worstTile(report, "", sizes), { b: 0, h: 2, j_tile: 2 });
  assert.deepEqual(worstTile(null, "", sizes), { b: 0, h: 0 });
});

test("the step where they part is marked by a word, a mark and a colour", () => {
  const quantity = (bad, told = 4) => ({
    S: { worst: 0, bad, told, unknown: 4 - told, total: 4 },
  });
  const steps = [quantity(0), quantity(2), quantity(1), quantity(0, 3), quantity(0, 0)].map(
    (quantities) => ({ quantities }),
  );
  const trace = { steps, departure: { step: 1 } };
  assert.deepEqual(
    [0, 1, 2, 3, 4].map((n) => stateOf(trace, n).word),
    ["right", "parts here", "wrong too", "told in part", "not told"],
  );
  assert.equal(firstStep(trace), 1);
  assert.equal(firstStep({ steps, departure: null }), 4);
});

test("a trace that does not reach the end of the keys is right only so far", () => {
  const right = {
    departure: null,
    failed: false,
    left_out: null,
    lost: 0,
    steps: [{ quantities: {} }],
  };
  assert.deepEqual(badgeOf(right), ["pass", "✓ right"]);
  assert.deepEqual(badgeOf({ ...right, left_out: [1, 4] }), ["pass", "✓ right so far"]);
  assert.deepEqual(badgeOf({ ...right, lost: 7 }), ["pass", "✓ right so far"]);
  assert.deepEqual(badgeOf({ ...right, failed: true }), ["vacuous", "∅ not in these steps"]);
  assert.deepEqual(badgeOf({ ...right, failed: true, steps: [] }), ["skip", "– not told"]);
  const departure = { step: 0, quantity: "S", rows: [0], row: 0, column: 0 };
  assert.deepEqual(badgeOf({ ...right, departure, left_out: [1, 4] }), ["fail", "✗ parts"]);
});
