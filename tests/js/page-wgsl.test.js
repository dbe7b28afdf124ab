import assert from "node:assert/strict";
import { test } from "node:test";
import { token } from "../../static/js/ui/editor-wgsl.js";
import { StreamLanguage } from "../../static/js/vendor/codemirror.js";
import { SHADERS } from "./attention-files.js";

/** Tokens as CodeMirror cuts them: text and class of each. */
function tokens(text) {
  const found = [];
  const language = StreamLanguage.define({
    startState: () => ({ comments: 0, depth: 0 }),
    token: (stream, state) => {
      const kind = token(stream, state);
      if (kind) found.push([kind, stream.current()]);
      return null;
    },
  });
  language.parser.parse(text);
  return found;
}
const classes = (text) => tokens(text).map(([kind]) => kind);

test("a declaration is cut into its tokens", () => {
  assert.deepEqual(tokens("@group(0) var<storage, read> Q: array<vec4f>;").slice(0, 8), [
    ["attribute", "@group"],
    ["bracket", "("],
    ["number", "0"],
    ["bracket", ")"],
    ["keyword", "var"],
    ["operator", "<"],
    ["space", "storage"],
    ["bracket", ","],
  ]);
  assert.deepEqual(classes("const BR = max(4u, 0x1Fu) + 1.5e-3f;"), [
    ...["keyword", "constant", "operator", "call", "bracket", "number", "bracket", "number"],
    ...["bracket", "operator", "number", "bracket"],
  ]);
});

test("block comments nest and reach over lines, and what the composer reads stands out", () => {
  assert.deepEqual(tokens("/* a /* b\n c */ d */ let"), [
    ["comment", "/* a /* b"],
    ["comment", " c */ d */"],
    ["keyword", "let"],
  ]);
  assert.deepEqual(tokens("// @use storage"), [["mark", "// @use storage"]]);
  assert.deepEqual(classes("// it does not @use anything"), ["comment"]);
});

test("the shipped files are cut without an unknown sign, each to its end", () => {
  const signs = /^[-+*/%&|^~!<>=.:]$/;
  for (const [path, text] of Object.entries(SHADERS)) {
    const found = tokens(text);
    const odd = found.filter(([kind, sign]) => kind === "operator" && !signs.test(sign));
    assert.deepEqual(odd, [], path);
    assert.ok(found.length > 0, path);
  }
});
