import assert from "node:assert/strict";
import test from "node:test";
import { compose } from "../../static/js/attention/compose.js";

/** @param {string} body @param {Record<string, number>} [constants] */
const composed = (body, constants = {}) =>
  compose("k.wgsl", constants, { "k.wgsl": body }, { params: null }).text;

const ALIAS = "alias Sums = array<vec4<f32>, N * 2u>;  // @registers\n";

test("an array whose indices are all constants becomes a structure, also behind a pointer", () => {
  const text = composed(
    `${ALIAS}fn add(sums: ptr<function, Sums>) {
  for (var n = 0u; n < N; n++) { // @unroll
    (*sums)[n * 2u] += A[n].xxxx;
  }
}
fn k() { var S = Sums(); S[2u * N - 1u].x = 1.0; add(&S); }`,
    { N: 2 },
  );
  assert.match(
    text,
    /^struct Sums \{ m0: vec4<f32>, m1: vec4<f32>, m2: vec4<f32>, m3: vec4<f32> \}/,
  );
  assert.match(text, /const n = 0u;\s+\(\*sums\)\.m0 \+= A\[n\]\.xxxx/);
  assert.match(text, /const n = 1u;\s*\(\*sums\)\.m2 \+= A\[n\]/);
  assert.match(text, /S\.m3\.x = 1\.0/);
});

test("an index that is a variable leaves the array one, everywhere", () => {
  const body = `${ALIAS}fn k(i: u32) { var S = Sums(); S[0u] = S[i % N]; }`;
  assert.equal(composed(body, { N: 1 }), `${body}\nconst N: u32 = 1u;`);
});

test("other arrays, other names and members of the same name are let alone", () => {
  const text = composed(
    `${ALIAS}var<workgroup> XS: array<f32, N>; alias Other = array<f32, N>;
fn k(i: u32) { var S: Sums; XS[i] = a.S[i] + S[0u].x; }`,
    { N: 1 },
  );
  assert.match(text, /XS\[i\] = a\.S\[i\] \+ S\.m0\.x/);
  assert.match(text, /alias Other = array<f32, N>;/);
});

test("a constant ends with the block that declares it", () => {
  const body = `${ALIAS}fn k() { var S = Sums(); { const n = 0u; S[n].x = 1.0; } S[n].x = 2.0; }`;
  assert.match(composed(body, { N: 1 }), /S\[n\]\.x = 1\.0; \} S\[n\]\.x = 2\.0/);
});

test("a constant that hides another gives way to it at the end of its block", () => {
  const body = `${ALIAS}fn k() { const n = 1u; var S = Sums(); { const n = 0u; const n = 0u; S[n].x = 1.0; } S[n].x = 2.0; } } fn l(S: Sums) { const m = 1u; S[m]; }`;
  const text = composed(body, { N: 1 });
  assert.match(text, /S\.m0\.x = 1\.0; \} S\.m1\.x = 2\.0/);
  assert.match(text, /S\.m1; \}/); // also behind a brace too many, of which the compiler will tell
});
