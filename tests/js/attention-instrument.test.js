import assert from "node:assert/strict";
import test from "node:test";
import { compose } from "../../static/js/attention/compose.js";
import { Unsupported } from "../../static/js/attention/errors.js";
import {
  callsDebug,
  DBG_FILE,
  hasHooks,
  instrumented,
  noteCaller,
  TRACE_FILE,
  withHooks,
} from "../../static/js/attention/instrument.js";
import { SHADERS } from "./attention-files.js";

const PARAMS = [["n", "u32"]];
const KERNEL = `struct Params { n: u32 }
@compute @workgroup_size(4)
fn k(@builtin(workgroup_id) workgroup: vec3<u32>) {
  let x = 1.0;
  // @trace trace_value(1u, 0u, 0u, 0u, x);
}`;

/** @param {string} text */
const lines = (text) => text.split("\n");

test("a @trace line is a comment, and code in the same columns where a trace is asked for", () => {
  const sources = { "k.wgsl": KERNEL, [TRACE_FILE]: "fn trace_value() {}" };
  const plain = compose("k.wgsl", {}, sources, { params: PARAMS });
  assert.equal(plain.text, KERNEL);
  const { text } = compose("k.wgsl", {}, sources, {
    params: PARAMS,
    trace: true,
    also: [TRACE_FILE],
  });
  assert.equal(lines(text)[4], "            trace_value(1u, 0u, 0u, 0u, x);");
  assert.equal(lines(text)[4].indexOf("trace_value"), lines(KERNEL)[4].indexOf("trace_value"));
  assert.deepEqual(lines(text).slice(0, 4), lines(KERNEL).slice(0, 4));
  assert.match(text, /fn trace_value/);
});

test("lines keep their numbers, whatever is added", () => {
  const text = lines(KERNEL).concat("fn more() { dbg(1u, 2.0); }").join("\n");
  const sources = { "k.wgsl": text, [DBG_FILE]: SHADERS[DBG_FILE] };
  const found = compose("k.wgsl", {}, sources, { params: PARAMS, also: [DBG_FILE] });
  assert.equal(lines(found.text)[6], "fn more() { dbg(1u, 2.0); }");
  assert.deepEqual(found.locate(7, 13), {
    file: "k.wgsl",
    line: 7,
    column: 13,
    source: "fn more() { dbg(1u, 2.0); }",
  });
});

test("every kernel of a trace tells S, P and O, or P, dP and dS", () => {
  const hooked = Object.entries(SHADERS).filter(([, text]) => hasHooks(text));
  assert.deepEqual(
    hooked.map(([path]) => path).sort(),
    [
      ...["dkdv", "dq", "forward"].flatMap((part) => [`fa2_${part}.wgsl`, `fa2_${part}_rows.wgsl`]),
      ...["common/dkdv_wide.wgsl", "common/dq_wide.wgsl", "fa2_forward_wide.wgsl"],
    ].sort(),
  );
  for (const [path, text] of hooked) {
    const named = path.includes("forward")
      ? ["S", "M", "ALPHA", "P", "L", "O"]
      : ["LSE", "DELTA", "WEIGHT", "DP", "DS"];
    const code = withHooks(text);
    for (const name of named) assert.match(code, new RegExp(`TRACE_${name}\\b`), `${path} ${name}`);
    assert.match(code, /^\s*trace_head\(/m, path);
    assert.equal(lines(code).length, lines(text).length);
  }
});

test("a call of dbg() is seen in code, not in comments, and not where the text has its own", () => {
  assert.equal(callsDebug("fn k() { dbg(1u, x); }"), true);
  assert.equal(callsDebug("fn k() { dbg4 (1u, v); }"), true);
  assert.equal(callsDebug("fn k() { dbg_u(1u, n); }"), true);
  assert.equal(callsDebug("// dbg(1u, x)\n/* dbg(1u, x) */"), false);
  assert.equal(callsDebug("fn dbg(x: f32) {} fn k() { dbg(1.0); }"), false);
  assert.equal(callsDebug("fn k() { mydbg(1u, x); dbg_record(1u); }"), false);
});

test("the entry point notes who calls, by the names that it has, and gets those that it lacks", () => {
  assert.equal(
    noteCaller("@compute @workgroup_size(1)\nfn k() { dbg(1u, 1.0); }"),
    "@compute @workgroup_size(1)\nfn k(@builtin(workgroup_id) dbg_workgroup_id: vec3<u32>, " +
      "@builtin(num_workgroups) dbg_num_workgroups: vec3<u32>, " +
      "@builtin(local_invocation_index) dbg_local_index: u32) { " +
      "dbg_workgroup = dbg_workgroup_id.x + dbg_num_workgroups.x * " +
      "(dbg_workgroup_id.y + dbg_num_workgroups.y * dbg_workgroup_id.z); " +
      "dbg_invocation = dbg_local_index; dbg(1u, 1.0); }",
  );
  const named = noteCaller(
    "@compute @workgroup_size(1)\nfn k(@builtin(local_invocation_index) lane: u32,) {}",
  );
  assert.match(named, /lane: u32,@builtin\(workgroup_id\)/);
  assert.match(named, /dbg_invocation = lane;/);
  const inStruct = noteCaller(
    "struct In { @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) all: vec3u, " +
      "@builtin(local_invocation_index) i: u32 }\n@compute @workgroup_size(1) fn k(given: In) { }",
  );
  assert.match(inStruct, /fn k\(given: In\) \{ dbg_workgroup = given\.group\.x \+ given\.all\.x/);
  assert.match(inStruct, /dbg_invocation = given\.i;/);
});

test("all entry points of a text note who calls", () => {
  const two = noteCaller("@compute fn a() {}\n@compute fn b() {}");
  assert.equal(two.match(/dbg_invocation = /g)?.length, 2);
});

test("lines that tell state may stand in any file of a kernel", () => {
  const pass = (/** @type {string} */ kernel) => ({ kernel, file: `${kernel}.wgsl`, bindings: [] });
  const texts = (/** @type {string[]} */ ...files) =>
    Object.fromEntries(files.map((file) => [file, SHADERS[file]]));
  const joint = texts("fa2_dqdkdv_wide.wgsl", "common/dq_wide.wgsl", "common/dkdv_wide.wgsl");
  const found = instrumented(pass("fa2_dqdkdv_wide"), joint, true, 9);
  assert.deepEqual([found?.trace, found?.also], [true, [TRACE_FILE]]);
  const terms = texts("fa2_row_terms.wgsl", "common/grid.wgsl");
  assert.equal(instrumented(pass("fa2_row_terms"), terms, true, 9), null);
});

test("a buffer too many for the device is refused by name, with both numbers", () => {
  const bindings = Array.from({ length: 8 }, (_, n) => ({ name: "q", binding: n, access: "read" }));
  const pass = { kernel: "fa2_dkdv", file: "k.wgsl", bindings };
  const texts = { "k.wgsl": KERNEL };
  assert.throws(
    () => instrumented(pass, texts, true, 8),
    (error) =>
      error instanceof Unsupported &&
      /kernel fa2_dkdv binds 9 storage buffers .* offers 8/.test(error.message),
  );
  assert.equal(instrumented(pass, texts, false, 8), null);
  const found = instrumented(pass, texts, true, 9);
  assert.deepEqual(found?.also, [TRACE_FILE]);
  assert.deepEqual(found?.pass.bindings[8], { name: "dbg", binding: 15, access: "write" });
  assert.equal(pass.bindings.length, 8);
});
