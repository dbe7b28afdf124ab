import assert from "node:assert/strict";
import test from "node:test";
import { SpecError, Unsupported } from "../../static/js/attention/errors.js";
import { factsOf } from "../../static/js/attention/facts.js";
import { DEFAULT_LIMITS, requiredLimits } from "../../static/js/attention/limits.js";
import { buildPlan, visiblePairs } from "../../static/js/attention/plan.js";

const SWIFTSHADER = {
  ...DEFAULT_LIMITS,
  maxComputeWorkgroupStorageSize: 32768,
  maxStorageBufferBindingSize: 2 ** 30,
  maxBufferSize: 2 ** 30,
};
const H200 = {
  ...DEFAULT_LIMITS,
  maxComputeWorkgroupStorageSize: 49152,
  maxComputeInvocationsPerWorkgroup: 1024,
  maxComputeWorkgroupSizeX: 1024,
  maxStorageBuffersPerShaderStage: 16,
  maxStorageBufferBindingSize: 2 ** 31,
  maxBufferSize: 2 ** 32,
};
const DEVICES = { DEFAULT_LIMITS, SWIFTSHADER, H200 };

/** @param {object} spec @param {object} [options] */
const planOn = (spec, options = {}, limits = DEFAULT_LIMITS) =>
  buildPlan(/** @type {any} */ (spec), factsOf({ limits }), options);

/** @param {object} spec @param {new (...args: any[]) => Error} type @param {RegExp} text */
function refused(spec, type, text, options = {}, limits = DEFAULT_LIMITS) {
  assert.throws(
    () => planOn(spec, options, limits),
    (error) => {
      assert.ok(error instanceof type, `${error}`);
      assert.match(error.message, text);
      return true;
    },
  );
}

test("every head size from 1 to 256 fits every device, with and without tiles", () => {
  for (const limits of Object.values(DEVICES)) {
    for (const kernel of ["fa2", "baseline"]) {
      for (let D = 1; D <= 256; D++) {
        const plan = planOn({ Tq: 100, D, attn: true }, { kernel }, limits);
        assert.equal(plan.family, kernel);
        for (const pass of plan.passes) {
          const bytes = Object.values(pass.workgroupBytes).reduce((sum, n) => sum + n, 0);
          assert.ok(
            bytes <= limits.maxComputeWorkgroupStorageSize,
            `${pass.kernel} D=${D}: ${bytes}`,
          );
          assert.ok(pass.invocations <= limits.maxComputeInvocationsPerWorkgroup);
          assert.ok(pass.bindings.length <= limits.maxStorageBuffersPerShaderStage);
        }
      }
    }
  }
});

test("auto is fa2, a family and a kernel may be named, others are refused with the list", () => {
  assert.equal(planOn({ Tq: 4, D: 4 }).family, "fa2");
  assert.equal(planOn({ Tq: 4, D: 4 }, { kernel: "fa2" }).family, "fa2");
  assert.equal(planOn({ Tq: 4, D: 4 }, { kernel: "fa2_forward" }).kernel, "fa2_forward");
  assert.equal(planOn({ Tq: 4, D: 4 }, { kernel: "baseline" }).kernel, "attn_fused_sv");
  assert.equal(planOn({ Tq: 4, D: 4 }, { kernel: "attn_fused_sv" }).kernel, "attn_fused_sv");
  refused({ Tq: 4, D: 4 }, SpecError, /kernel=fast: must be one of auto, fa2, /, {
    kernel: "fast",
  });
  refused({ Tq: 4, D: 4 }, SpecError, /kernel=attn_writeback/, { kernel: "attn_writeback" });
});

test("tile, grid and dispatches of a forward", () => {
  const plan = planOn({ B: 2, H: 3, Tq: 100, D: 64 });
  const { Br, Bc } = plan.tile;
  assert.equal(plan.dispatches, 1);
  assert.equal(plan.passes[0].workgroups, 2 * 3 * Math.ceil(100 / Br));
  assert.equal(plan.passes[0].constants.HEAD_DIM, 64);
  assert.equal(plan.passes[0].constants.BC, Bc);
  assert.equal(plan.passes[0].constants.CAUSAL, true);
  assert.equal(planOn({ Tq: 100, D: 64, causal: false }).passes[0].constants.CAUSAL, false);
});

test("constants do not change with the sequence length, so nothing is compiled anew", () => {
  const constants = (spec) => planOn({ D: 64, attn: true, ...spec }).passes.map((p) => p.constants);
  const once = constants({ Tq: 8 });
  for (const spec of [{ Tq: 4096 }, { Tq: 3, Tk: 70 }, { Tq: 8, B: 3, H: 6, Hkv: 2, scale: -2 }]) {
    assert.deepEqual(constants(spec), once);
  }
});

test("bytes of each buffer, counted anew", () => {
  const { buffers, ownBytes, sizeBytes } = planOn({
    B: 2,
    H: 6,
    Hkv: 2,
    Tq: 7,
    Tk: 11,
    D: 5,
    attn: true,
  });
  const expected = {
    q: 4 * 2 * 7 * 6 * 5,
    k: 4 * 2 * 11 * 2 * 5,
    v: 4 * 2 * 11 * 2 * 5,
    o: 4 * 2 * 7 * 6 * 5,
    lse: 4 * 2 * 6 * 7,
    attn: 4 * 2 * 6 * 7 * 11,
  };
  assert.deepEqual(buffers, expected);
  assert.equal(
    sizeBytes,
    Object.values(expected).reduce((sum, n) => sum + n, ownBytes),
  );
  assert.ok(ownBytes > 0 && ownBytes < 1024);
});

test("f16 halves the tensors, to whole words; lse and attn stay f32", () => {
  const { buffers } = planOn({ H: 3, Tq: 7, Tk: 11, D: 5, dtype: "f16", attn: true });
  const words = (/** @type {number} */ elements) => 4 * Math.ceil(elements / 2);
  assert.deepEqual(buffers, {
    q: words(7 * 3 * 5),
    k: words(11 * 3 * 5),
    v: words(11 * 3 * 5),
    o: words(7 * 3 * 5),
    lse: 4 * 3 * 7,
    attn: 4 * 3 * 7 * 11,
  });
});

test("without attn nothing of size T by T is needed", () => {
  const plan = planOn({ Tq: 16384, D: 64 });
  assert.ok(Object.values(plan.buffers).every((bytes) => bytes <= 4 * 16384 * 64));
  assert.ok(plan.ownBytes < 1024);
});

test("layouts address the same elements that the arrays hold", () => {
  const shape = { B: 2, H: 4, Hkv: 2, Tq: 3, D: 8 };
  const { params, buffers } = planOn({ ...shape, layout: "packed" });
  const width = (4 + 2 + 2) * 8;
  assert.deepEqual(buffers, { qkv: 4 * 2 * 3 * width, o: 4 * 2 * 3 * 32, lse: 4 * 2 * 4 * 3 });
  assert.deepEqual([params.q_offset, params.k_offset, params.v_offset], [0, 32, 48]);
  assert.deepEqual([params.k_batch, params.k_row, params.k_head], [3 * width, width, 8]);
  assert.deepEqual([params.o_batch, params.o_row, params.o_head], [3 * 32, 32, 8]);
  const bhtd = planOn({ ...shape, Tk: 5, layout: "bhtd" }).params;
  assert.deepEqual([bhtd.q_batch, bhtd.q_row, bhtd.q_head], [4 * 3 * 8, 8, 3 * 8]);
  assert.deepEqual([bhtd.v_batch, bhtd.v_row, bhtd.v_head], [2 * 5 * 8, 8, 5 * 8]);
  const bthd = planOn({ ...shape, Tk: 5 }).params;
  assert.deepEqual([bthd.k_batch, bthd.k_row, bthd.k_head], [5 * 16, 16, 8]);
});

test("explicit strides replace the layout's and size the buffer", () => {
  const strides = { k: { offset: 7, batch: 1000, row: 100, head: 20 } };
  const { params, buffers } = planOn({ B: 2, H: 2, Tq: 3, D: 4, strides });
  assert.deepEqual(
    [params.k_offset, params.k_batch, params.k_row, params.k_head],
    [7, 1000, 100, 20],
  );
  assert.equal(buffers.k, 4 * (7 + 1000 + 2 * 100 + 20 + 4));
  assert.equal(buffers.v, 4 * 2 * 3 * 8);
  refused(
    { Tq: 3, D: 4, strides: { lse: strides.k } },
    SpecError,
    /strides\.lse: there is no such key, it has q, k/,
  );
  refused({ Tq: 3, D: 4, strides: { q: { batch: 1, row: -1, head: 0 } } }, SpecError, /q\.row=-1/);
});

test("a stride that no index can count is refused with both numbers, taken or not", () => {
  const batch = (/** @type {number} */ n) => ({
    Tq: 3,
    D: 4,
    strides: { k: { batch: n, row: 4, head: 4 } },
  });
  planOn(batch(2 ** 32 - 1)); // of one batch: multiplied by 0 only
  const text = /strides\.k\.batch=4294967296: kernels count up to 4294967295 .*give 0 where/;
  refused(batch(2 ** 32), Unsupported, text);
  // A single batch of 2^32 elements has indices; its stride has none.
  const endless = { ...H200, maxStorageBufferBindingSize: 2 ** 40, maxBufferSize: 2 ** 40 };
  const whole = { Tq: 2 ** 24, D: 256 };
  refused(whole, Unsupported, /strides\.q\.batch=4294967296: kernels count/, {}, endless);
});

test("scale is rounded to float32 and may be zero or negative", () => {
  assert.equal(planOn({ Tq: 3, D: 48 }).params.scale, Math.fround(1 / Math.sqrt(48)));
  assert.equal(planOn({ Tq: 3, D: 48, scale: null }).params.scale, Math.fround(1 / Math.sqrt(48)));
  assert.equal(planOn({ Tq: 3, D: 48, scale: 0.1 }).params.scale, Math.fround(0.1));
  assert.equal(planOn({ Tq: 3, D: 48, scale: 0 }).params.scale, 0);
  assert.equal(planOn({ Tq: 3, D: 48, scale: -3 }).params.scale, -3);
  refused(
    { Tq: 3, D: 48, scale: 1e39 },
    SpecError,
    /scale=1e\+39: must be a number that is finite in float32/,
  );
  assert.equal(planOn({ Tq: 3, D: 48, scale: -1e30 }).params.scale, Math.fround(-1e30));
  refused(
    { Tq: 3, D: 48, scale: -1e31 },
    SpecError,
    /scale=-1e\+31: must be between -1e\+30 and 1e\+30, or scores leave float32/,
  );
});

test("the causal corner becomes an offset", () => {
  assert.equal(planOn({ Tq: 3, Tk: 10, D: 4 }).params.causal_offset, 7);
  assert.equal(planOn({ Tq: 10, Tk: 3, D: 4 }).params.causal_offset, -7);
  assert.equal(planOn({ Tq: 10, Tk: 3, D: 4, align: "tl" }).params.causal_offset, 0);
});

test("visible pairs agree with counting them", () => {
  for (const causal of [true, false]) {
    for (const align of /** @type {const} */ (["br", "tl"])) {
      for (let Tq = 1; Tq < 9; Tq++) {
        for (let Tk = 1; Tk < 9; Tk++) {
          const offset = align === "br" ? Tk - Tq : 0;
          let count = 0;
          for (let i = 0; i < Tq; i++) {
            for (let j = 0; j < Tk; j++) count += Number(!causal || j <= i + offset);
          }
          const spec = /** @type {any} */ ({ B: 2, H: 3, Tq, Tk, causal, align });
          assert.equal(visiblePairs(spec), 6 * count, `${causal} ${align} ${Tq} ${Tk}`);
        }
      }
    }
  }
});

test("what no kernel takes is refused by name, with the value and the way out", () => {
  const shape = { Tq: 8, D: 8 };
  for (const kernel of ["auto", "fa2", "baseline"]) {
    refused({ ...shape, window: [3, -1] }, Unsupported, /window=3:-1: .*leave it open/, { kernel });
    refused({ ...shape, softcap: 30 }, Unsupported, /softcap=30: .*leave it at 0/, { kernel });
    refused({ ...shape, bias: "tt" }, Unsupported, /bias=tt: .*leave it out/, { kernel });
    refused({ Tq: 8, D: 257 }, Unsupported, /D=257: .*up to 256/, { kernel });
  }
  refused({ ...shape, dtype: "f16" }, Unsupported, /dtype=f16: kernel attn_fused_sv .* f32/, {
    kernel: "baseline",
  });
  refused({ ...shape, op: "sideways" }, SpecError, /op=sideways: must be one of forward, backward/);
});

test("what contradicts itself is refused with the value and the rule", () => {
  refused({ Tq: 8, D: 8, H: 4, Hkv: 3 }, SpecError, /H=4, Hkv=3: Hkv must divide H/);
  refused({ Tq: 8, Tk: 9, D: 8, layout: "packed" }, SpecError, /Tq=8, Tk=9: .*Tq = Tk/);
  refused({ Tq: 0, D: 8 }, SpecError, /Tq=0: must be a whole number, 1 to 2147483647/);
  refused({ Tq: 8, D: 2.5 }, SpecError, /D=2\.5/);
  refused({ D: 8 }, SpecError, /Tq=undefined/);
  refused({ Tq: 8, D: 8, align: "left" }, SpecError, /align=left: must be one of br, tl/);
  refused({ Tq: 8, D: 8, layout: "btd" }, SpecError, /layout=btd: must be one of/);
  refused({ Tq: 8, D: 8, dtype: "f64" }, SpecError, /dtype=f64: must be one of f32, f16/);
  refused({ Tq: 8, D: 8, window: [-2, 0] }, SpecError, /window=-2:0/);
  refused({ Tq: 8, D: 8, softcap: -1 }, SpecError, /softcap=-1/);
});

test("what the device cannot hold is refused with both numbers", () => {
  const attn = { Tq: 8192, D: 8, attn: true };
  refused(
    attn,
    Unsupported,
    /attn needs a buffer of 268435456 bytes, .* 134217728 .*leave attn out/,
  );
  planOn(attn, {}, SWIFTSHADER);
  refused({ Tq: 4_000_000, D: 256 }, Unsupported, /q needs .* 4096000000 bytes, .* 134217728/);
  const small = { ...DEFAULT_LIMITS, maxComputeWorkgroupStorageSize: 1024 };
  refused(
    { Tq: 8, D: 64 },
    Unsupported,
    /HEAD_DIM=64 needs \d+ bytes .* offers 1024/,
    { kernel: "fa2" },
    small,
  );
  planOn({ Tq: 8, D: 64 }, { kernel: "baseline" }, small);
  // 2^32 elements, one head more than indices reach; f16 packs twice as many into a byte.
  const endless = {
    ...DEFAULT_LIMITS,
    maxStorageBufferBindingSize: 2 ** 40,
    maxBufferSize: 2 ** 40,
  };
  for (const [dtype, bytes] of /** @type {const} */ ([
    ["f32", 4],
    ["f16", 2],
  ])) {
    const spec = { B: 256, Tq: 2 ** 16, D: 256, dtype };
    planOn(spec, {}, endless);
    const text = new RegExp(`q needs .* offers ${2 ** 32 * bytes} \\(32-bit element indices\\)`);
    refused({ ...spec, B: 257 }, Unsupported, text, {}, endless);
  }
  const narrow = { ...DEFAULT_LIMITS, maxComputeInvocationsPerWorkgroup: 16 };
  refused(
    { Tq: 8, D: 64 },
    Unsupported,
    /invocations, this device offers 16384 and 16/,
    {},
    narrow,
  );
  const few = { ...DEFAULT_LIMITS, maxStorageBuffersPerShaderStage: 4 };
  refused({ Tq: 8, D: 64 }, Unsupported, /binds 5 storage buffers, this device allows 4/, {}, few);
  const rows = { Tq: 1, D: 1, B: 2 ** 15, H: 2 ** 16 };
  planOn(rows, {}, endless);
  refused(
    { ...rows, B: 2 ** 15 + 1 },
    Unsupported,
    /2147549184 workgroups, kernels count up to 2147483648; split the batch/,
    {},
    endless,
  );
});

test("limits to request leave out what no pass binds", () => {
  const far = { offset: 2 ** 28, batch: 256, row: 8, head: 8 }; // O, which attn_backward does not read
  const spec = /** @type {const} */ ({ op: "backward", Tq: 32, D: 8, strides: { o: far } });
  const limits = { limits: DEFAULT_LIMITS };
  assert.deepEqual(requiredLimits(spec, limits, { kernel: "attn_backward" }), {});
  const named = () => requiredLimits(spec, limits, { kernel: "fa2_backward" });
  assert.throws(named, /o needs .* bytes/);
});

test("limits to request are those above the default, never more than the adapter has", () => {
  const adapter = { limits: SWIFTSHADER };
  const memory = { maxComputeWorkgroupStorageSize: 32768 };
  assert.deepEqual(requiredLimits({ Tq: 64, D: 64 }, { limits: DEFAULT_LIMITS }), {});
  assert.deepEqual(requiredLimits({ Tq: 64, D: 64 }, adapter), memory);
  assert.deepEqual(requiredLimits({ Tq: 64, D: 64 }, { limits: H200 }), {
    maxComputeWorkgroupStorageSize: 49152,
    maxComputeInvocationsPerWorkgroup: 1024,
    maxComputeWorkgroupSizeX: 1024,
  });
  const big = /** @type {const} */ ({ Tq: 8192, D: 8, attn: true });
  assert.deepEqual(requiredLimits(big, adapter), {
    ...memory,
    maxStorageBufferBindingSize: 268435456,
  });
  assert.deepEqual(requiredLimits(big, adapter, { extraBytes: 512 }), {
    ...memory,
    maxStorageBufferBindingSize: 268435968,
    maxBufferSize: 268435968,
  });
  const most = { ...memory, maxStorageBufferBindingSize: 2 ** 30, maxBufferSize: 2 ** 30 };
  assert.deepEqual(requiredLimits({ ...big, Tq: 16384 }, adapter), most);
  for (const [spec, extraBytes, text] of /** @type {const} */ ([
    [{ ...big, Tq: 16388 }, 0, /attn needs a buffer of 1074266176 bytes, .* offers 1073741824/],
    [{ ...big, Tq: 16384 }, 4, /attn needs a buffer of 1073741828 bytes, .*leave attn out/],
    [{ B: 8, H: 64, Tq: 2 ** 20, D: 128 }, 0, /q needs .* bytes, this device offers 1073741824/],
  ])) {
    const act = () => requiredLimits(spec, adapter, { extraBytes });
    assert.throws(act, (error) => error instanceof Unsupported && text.test(error.message));
  }
});
