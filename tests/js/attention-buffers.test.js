// Buffers that WebGPU would not bind: refused by name, before there is a pass.
import assert from "node:assert/strict";
import test from "node:test";
import { createAttention, SpecError } from "../../static/js/attention/index.js";
import { fakeBuffer, fakeDevice } from "./attention-device.js";
import { SHADERS } from "./attention-files.js";

const SPEC = { B: 1, H: 2, Tq: 64, D: 16 };
const BYTES = 4 * 64 * 32; // of q, k, v and o

/** @param {object} [changes] @param {object} [options] */
async function prepared(changes = {}, options = {}) {
  const device = fakeDevice();
  const fa = createAttention(device, { shaders: SHADERS });
  const op = await fa.prepare({ ...SPEC, ...changes }, options);
  const encoder = { begun: 0, ...device.createCommandEncoder() };
  const { beginComputePass } = encoder;
  encoder.beginComputePass = () => {
    encoder.begun++;
    return beginComputePass();
  };
  const own = Object.fromEntries(
    Object.entries(op.plan.buffers).map(([name, size]) => [name, fakeBuffer(size)]),
  );
  const encode = (/** @type {object} */ buffers) => op.encode(encoder, { ...own, ...buffers });
  return { op, own, encoder, encode };
}

/** @param {any} prepared @param {object} buffers @param {RegExp} text */
function refuses({ encode, encoder }, buffers, text) {
  const before = encoder.begun;
  assert.throws(
    () => encode(buffers),
    (error) => {
      assert.ok(error instanceof SpecError, `${error}`);
      assert.match(error.message, text);
      return true;
    },
  );
  assert.equal(encoder.begun, before, "no pass may be left open");
}

test("what is no buffer is refused by what it is", async () => {
  const one = await prepared();
  one.encode({});
  for (const [q, said] of /** @type {const} */ ([
    [new Float32Array(4), "Float32Array"],
    [{}, "Object {}"],
    [{ buffer: new ArrayBuffer(BYTES) }, "Object {buffer}"],
    [{ buffer: null }, "Object {buffer}"],
    [new Map(), "Map {}"],
    [7, "7"],
    ["q", '"q"'],
  ])) {
    refuses(one, { q }, new RegExp(`buffer q is ${said}: must be a GPUBuffer, or {buffer, offset`));
  }
  refuses(one, { q: null }, /buffer q is missing: this operation binds q, k, v, o, lse/);
});

test("a part that lies beyond its buffer or is counted in no bytes is refused", async () => {
  const one = await prepared();
  const large = fakeBuffer(BYTES + 1024);
  one.encode({ q: { buffer: large, offset: 1024 } });
  const of = (/** @type {object} */ part, buffer = large) => ({ q: { buffer, ...part } });
  refuses(one, of({ size: BYTES }, fakeBuffer(16)), /from byte 0 to 8192, and ends at 16; bind/);
  refuses(one, of({ offset: 1280, size: BYTES }), /from byte 1280 to 9472, and ends at 9216/);
  refuses(one, of({ offset: -256 }), /offset=-256, .* 9216 bytes; offset must be a whole number/);
  refuses(
    one,
    of({ offset: 99_840 }),
    /offset=99840, size=-90624, .*; size must be a whole number/,
  );
  refuses(one, of({ offset: Number.NaN }), /offset must be a whole number, 0 and up/);
  refuses(one, of({ size: "8192" }), /size must be a whole number, 0 and up/);
});

test("a whole that is no multiple of 4, or more than a binding holds, may be bound in part", async () => {
  const one = await prepared();
  const way = /bind the 8192 that are needed, \{buffer, offset, size: 8192\}/;
  const odd = fakeBuffer(BYTES + 2);
  refuses(one, { q: odd }, /buffer q has 8194 bytes bound, which must be a multiple of 4/);
  refuses(one, { q: odd }, way);
  one.encode({ q: { buffer: odd, size: BYTES } });
  const huge = fakeBuffer(200 * 2 ** 20);
  refuses(one, { q: huge }, /has 209715200 bytes bound, .* up to 134217728 \(maxStorageBuffer/);
  refuses(one, { q: huge }, way);
  one.encode({ q: { buffer: huge, size: BYTES } });
});

test("a buffer that shaders may not see is refused with its usage", async () => {
  const one = await prepared();
  refuses(one, { lse: fakeBuffer(BYTES, 0x44) }, /lse has usage 68: create it with .*STORAGE/);
  one.encode({ lse: fakeBuffer(BYTES, 0x84) });
});

test("what is written shares no buffer with what is read, in whichever dispatch, nor bytes with another", async () => {
  const one = await prepared({ attn: true }, { kernel: "fa2_forward" });
  const read = /buffer o is written, and q, which is read, lies in the same GPUBuffer; create/;
  refuses(one, { o: one.own.q }, read);
  const both = fakeBuffer(2 * BYTES);
  const half = (/** @type {number} */ n, size = BYTES) => ({
    buffer: both,
    offset: n * BYTES,
    size,
  });
  refuses(one, { q: half(0), o: half(1) }, read);
  // Written by the last dispatch alone, which does not read v.
  const wide = fakeBuffer(2 ** 16);
  refuses(one, { attn: wide, v: wide }, /attn is written, and v, which is read/);
  // Both written, each by one dispatch, side by side.
  const lse = { buffer: wide, offset: 2 ** 15, size: 512 };
  one.encode({ attn: { buffer: wide, size: 2 ** 15 }, lse });
  one.encode({ o: { buffer: wide, size: BYTES }, lse });
  one.encode({ q: half(0), k: half(1), v: half(0) });
  const back = await prepared({ op: "backward" }, { kernel: "fa2_backward" });
  back.encode({ dk: half(0), dv: half(1) });
  const shared = /buffers d[kv] and d[kv] are both written and share bytes 8192 to 16384 of one/;
  refuses(back, { dk: half(0, 2 * BYTES), dv: half(1) }, shared);
  refuses(back, { dq: back.own.o }, /buffer dq is written, and o, which is read/);
});
