// Which rows of the registry apply: conditions on the request, on the device, on alignment.
import assert from "node:assert/strict";
import test from "node:test";
import { CONDITION_NAMES, unmet } from "../../static/js/attention/conditions.js";
import { factsOf, usefulFeatures, withoutSubgroups } from "../../static/js/attention/facts.js";
import { DEFAULT_LIMITS } from "../../static/js/attention/limits.js";
import { buildPlan } from "../../static/js/attention/plan.js";
import { completeSpec } from "../../static/js/attention/spec.js";
import { fitTile } from "../../static/js/attention/tiles.js";

const MATRIX = { componentType: "f16", resultComponentType: "f32", M: 16, N: 16, K: 16 };

/** A GPU with everything. @param {object} [changes] */
const gpu = (changes = {}) =>
  factsOf({
    limits: DEFAULT_LIMITS,
    features: new Set(["subgroups", "shader-f16", "chromium-experimental-subgroup-matrix"]),
    info: {
      vendor: "nvidia",
      subgroupMinSize: 32,
      subgroupMaxSize: 32,
      subgroupMatrixConfigs: [MATRIX],
      ...changes,
    },
  });

const SPEC = { B: 2, H: 4, Hkv: 2, Tq: 100, Tk: 300, D: 64 };

/** @param {object} conditions @param {object} [spec] */
const why = (conditions, spec = {}, facts = gpu(), tensors = ["q", "k", "v", "o", "lse"]) =>
  unmet(/** @type {any} */ (conditions), completeSpec({ ...SPEC, ...spec }), facts, tensors);

test("every bound of the request holds at its value and not beyond it", () => {
  const values = { D: 64, T: 300, Tq: 100, Tk: 300, Heads: 8, Rows: 800 };
  for (const [name, value] of Object.entries(values)) {
    assert.equal(why({ [`min${name}`]: value, [`max${name}`]: value }), null);
    assert.equal(why({ [`min${name}`]: value + 1 }), `${name}=${value}: takes ${value + 1} and up`);
    assert.equal(why({ [`max${name}`]: value - 1 }), `${name}=${value}: takes up to ${value - 1}`);
  }
  assert.equal(why({ minT: 400 }, { Tq: 400, Tk: 10 }), null);
  assert.match(why({ causal: false }) ?? "", /causal=1: takes causal=0 only/);
  assert.match(why({ dtype: ["f16"] }) ?? "", /dtype=f32: takes f16/);
  assert.equal(why({ causal: true, dtype: ["f16", "f32"] }), null);
});

test("alignment asks the head size and every stride and offset of the tensors in use", () => {
  assert.equal(why({ align: 4 }), null);
  assert.equal(why({ align: 4 }, { D: 66 }), "D=66: takes multiples of 4");
  const rows = { batch: 40000, row: 400, head: 100, offset: 0 };
  for (const name of ["offset", "batch", "row", "head"]) {
    const strides = { v: { ...rows, [name]: rows[name] + 2 } };
    const text = `strides.v.${name}=${rows[name] + 2}: takes multiples of 4`;
    assert.equal(why({ align: 4 }, { strides }), text);
    assert.equal(why({ align: 2 }, { strides }), null);
    assert.equal(why({ align: 4 }, { strides }, gpu(), ["q", "k", "o"]), null, "v is not bound");
  }
});

test("conditions on the device name what it lacks", () => {
  const every = { adapter: "nvidia", features: ["subgroups"], subgroups: 32, maxSubgroups: 32 };
  assert.equal(why({ ...every, matrix: "f16:f32:16x16x16" }), null);
  assert.equal(why({ adapter: "hardware" }), null);
  assert.match(why({ adapter: "software" }) ?? "", /hardware \(nvidia\): takes software/);
  assert.match(why({ adapter: "amd" }) ?? "", /takes amd/);
  assert.match(why({ features: ["subgroups", "odd"] }) ?? "", /lacks the feature odd/);
  assert.match(why({ subgroups: 64 }) ?? "", /as small as 32 .*takes 64 and up/);
  assert.match(why({ maxSubgroups: 16 }) ?? "", /as large as 32: takes up to 16/);
  assert.match(why({ matrix: "f32:f32:8x8x8" }) ?? "", /it has f16:f32:16x16x16/);
  const none = withoutSubgroups(gpu());
  assert.match(why({ subgroups: 4 }, {}, none) ?? "", /as small as 0/);
  assert.match(why({ matrix: "f16:f32:16x16x16" }, {}, none) ?? "", /it has none/);
});

test("facts: no sizes without the feature, software by name or flag", () => {
  const plain = factsOf({ limits: DEFAULT_LIMITS, info: { subgroupMinSize: 32 } });
  assert.deepEqual([plain.subgroupMinSize, plain.features, plain.software], [0, [], false]);
  const limits = DEFAULT_LIMITS;
  assert.ok(factsOf({ limits, info: { isFallbackAdapter: true } }).software);
  assert.ok(factsOf({ limits, info: { description: "llvmpipe (LLVM 15)" } }).software);
  assert.ok(factsOf({ limits, adapterInfo: { architecture: "swiftshader" } }).software);
  const wanted = usefulFeatures(["bgra8unorm-storage", "shader-f16", "subgroups"]);
  assert.deepEqual(wanted, ["subgroups", "shader-f16"]);
});

/** A kernel of one array of 16 N bytes. */
const row = (changes = {}) =>
  /** @type {import("../../static/js/attention/registry.js").KernelRow} */ ({
    name: "k",
    file: "k.wgsl",
    bindings: { q: "read", o: "write" },
    roles: { storage: ["common/storage_f32.wgsl"] },
    tiles: [
      { maxD: 128, minT: 200, N: 2000, FAST: true, chunk: 3, why: "much" },
      { maxD: 128, N: 500, chunk: 2 },
    ],
    derived: { C: "chunk * HEAD_DIM * group" },
    invocations: "64",
    workgroupMemory: { A: "16 * N" },
    workgroups: "1",
    work: "1",
    ...changes,
  });

test("the first tile row that holds and fits is taken, its capitals become constants", () => {
  const spec = completeSpec(SPEC);
  const wide = gpu();
  const roomy = { ...wide, limits: { ...DEFAULT_LIMITS, maxComputeWorkgroupStorageSize: 32000 } };
  const first = fitTile(row(), spec, roomy);
  const constants = { HEAD_DIM: 64, N: 2000, C: 3 * 64 * 2, FAST: true, CAUSAL: true };
  assert.ok(typeof first !== "string");
  assert.deepEqual(first.constants, constants);
  assert.deepEqual(first.roles, { storage: "common/storage_f32.wgsl" });
  assert.deepEqual(first.workgroupBytes, { A: 32000 });
  const second = fitTile(row(), spec, wide); // 32000 bytes are too many
  assert.ok(typeof second !== "string");
  assert.deepEqual([second.constants.N, second.constants.FAST], [500, undefined]);
  const short = fitTile(row(), { ...spec, Tk: 100 }, roomy);
  assert.ok(typeof short !== "string" && short.constants.N === 500);
});

test("what does not fit says why: needs, tiles, roles", () => {
  const spec = completeSpec(SPEC);
  const text = (/** @type {object} */ changes, request = spec) =>
    String(fitTile(row(changes), request, gpu()));
  assert.match(text({ needs: { subgroups: 64 } }), /kernel k does not fit, subgroups of this/);
  assert.match(text({}, { ...spec, D: 256 }), /kernel k has no tile for this, D=256: .* to 128/);
  const half = completeSpec({ ...SPEC, dtype: "f16" });
  assert.match(text({}, half), /nothing can play storage: dtype=f16: takes f32/);
  const large = { tiles: [{ maxD: 64, N: 5000, chunk: 1 }] };
  assert.match(text(large), /kernel k with HEAD_DIM=64 needs 80000 bytes .* offers 16384 and 256/);
});

test("auto passes over a kernel that does not fit; named, it is refused with its reason", () => {
  const limits = { ...DEFAULT_LIMITS, maxComputeWorkgroupStorageSize: 1024 };
  const facts = factsOf({ limits });
  const plan = (/** @type {string} */ kernel) => buildPlan({ Tq: 8, D: 64 }, facts, { kernel });
  assert.equal(plan("auto").kernel, "attn_fused_sv");
  assert.throws(() => plan("fa2"), /kernel fa2_forward .* offers 1024 .*; use kernel=auto/);
});

test("the names of conditions are told apart from constants", () => {
  for (const name of ["minHeads", "maxRows", "maxTk", "align", "matrix"]) {
    assert.ok(CONDITION_NAMES.includes(name));
  }
  assert.ok(CONDITION_NAMES.every((name) => /^[a-z]/.test(name)));
});
