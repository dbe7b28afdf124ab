import assert from "node:assert/strict";
import test from "node:test";
import {
  CONSTANTS_FILE,
  compose,
  usesOf,
  withoutComments,
} from "../../static/js/attention/compose.js";
import { CompileError, ComposeError } from "../../static/js/attention/errors.js";

const MEMBERS = /** @type {const} */ ([["n", "u32"]]);
const PARAMS = "struct Params { n: u32 }";

/** @param {Record<string, string>} sources */
const composed = (sources, constants = {}, options = {}) =>
  compose("k.wgsl", constants, sources, { params: MEMBERS, ...options });

/** @param {() => unknown} act @param {Partial<CompileError>} place @param {RegExp} text */
function refuses(act, text, place) {
  assert.throws(act, (error) => {
    assert.ok(error instanceof ComposeError && error instanceof CompileError, String(error));
    assert.equal(error.kind, "compile");
    assert.match(error.message, text);
    for (const [key, value] of Object.entries(place)) assert.equal(error[key], value, key);
    return true;
  });
}

test("the kernel comes first, used files next, constants last", () => {
  const { text } = composed(
    {
      "k.wgsl": `// @use common/a.wgsl\n${PARAMS}\nfn k() { A; B; }`,
      "common/a.wgsl": "fn a() {}",
    },
    { A: 3, B: true },
  );
  assert.equal(
    text,
    "// @use common/a.wgsl\nstruct Params { n: u32 }\nfn k() { A; B; }\nfn a() {}\n" +
      "const A: u32 = 3u;\nconst B: bool = true;",
  );
});

test("a place in the composed text is mapped to file, line and column on disk", () => {
  const sources = {
    "k.wgsl": `${PARAMS} // one\n// @use common/a.wgsl\nlet three = A;`,
    "common/a.wgsl": "// @use common/b.wgsl\nlet two;",
    "common/b.wgsl": "let only;\n",
  };
  const { text, locate } = composed(sources, { A: 1 }, { enable: ["f16"] });
  const lines = text.split("\n");
  lines.forEach((line, n) => {
    const place = locate(n + 1, 1 + (n === 0 ? "enable f16; ".length : 0));
    assert.equal(place.column, 1);
    assert.equal(place.source, n === 0 ? line.slice("enable f16; ".length) : line);
    if (place.file !== CONSTANTS_FILE) {
      assert.equal(sources[place.file].split("\n")[place.line - 1], place.source);
    }
  });
  assert.deepEqual(locate(3, 13), {
    file: "k.wgsl",
    line: 3,
    column: 13,
    source: "let three = A;",
  });
  assert.equal(locate(5, 1).file, "common/a.wgsl");
  assert.equal(locate(5, 1).line, 2);
  assert.equal(locate(6, 1).file, "common/b.wgsl");
  assert.equal(locate(lines.length, 1).file, CONSTANTS_FILE);
  assert.deepEqual(locate(99, 1), { file: "k.wgsl", line: 0, column: 0 });
  assert.deepEqual(locate(0, 0), { file: "k.wgsl", line: 0, column: 0 });
});

test("a file that two others use is there once", () => {
  const { text } = composed({
    "k.wgsl": `// @use a.wgsl\n// @use b.wgsl\n${PARAMS}`,
    "a.wgsl": "// @use c.wgsl",
    "b.wgsl": "// @use c.wgsl\n// @use a.wgsl",
    "c.wgsl": "const here_once = 1;",
  });
  assert.equal(text.split("here_once").length, 2);
});

test("files that use each other end", () => {
  const { text } = composed({ "k.wgsl": `// @use a.wgsl\n${PARAMS}`, "a.wgsl": "// @use k.wgsl" });
  assert.equal(text, `// @use a.wgsl\n${PARAMS}\n// @use k.wgsl`);
});

test("a use of a file that is not there is refused where it stands", () => {
  const sources = { "k.wgsl": `${PARAMS}\n// @use a.wgsl`, "a.wgsl": "\n  // @use common/no.wgsl" };
  refuses(() => composed(sources), /@use "common\/no\.wgsl": no such file/, {
    file: "a.wgsl",
    line: 2,
    column: 6,
  });
  for (const path of ["../secret.wgsl", "/etc/passwd", "", "http://x/y.wgsl", "a.txt"]) {
    const there = { "k.wgsl": `${PARAMS}\n// @use ${path}`, [path]: "fn a() {}" };
    refuses(() => composed(there), /no such file/, { line: 2 });
  }
  refuses(() => compose("no.wgsl", {}, {}), /no such shader file/, { file: "no.wgsl" });
});

test("a role is played by the file that is given for it, and has no other", () => {
  const sources = {
    "k.wgsl": `// @use store\n${PARAMS}`,
    "common/one.wgsl": "// @use reduce\nconst one = 1;",
    "common/two.wgsl": "const two = 2;",
  };
  const roles = { store: "common/one.wgsl", reduce: "common/two.wgsl" };
  const { text } = composed(sources, {}, { roles });
  assert.match(text, /const one = 1;\nconst two = 2;$/);
  const other = composed(sources, {}, { roles: { store: "common/two.wgsl" } }).text;
  assert.ok(!other.includes("one"));
  refuses(() => composed(sources), /@use store: no file was chosen for this role/, { line: 1 });
  const half = { store: "common/one.wgsl" };
  const place = { file: "common/one.wgsl", line: 1 };
  refuses(() => composed(sources, {}, { roles: half }), /@use reduce: no file was chosen/, place);
  const missing = { store: "common/no.wgsl" };
  refuses(() => composed(sources, {}, { roles: missing }), /"common\/no\.wgsl": no such file/, {});
});

test("the same use twice in a file is refused", () => {
  const sources = { "k.wgsl": `// @use a.wgsl\n// @use a.wgsl\n${PARAMS}`, "a.wgsl": "" };
  refuses(() => composed(sources), /@use a\.wgsl comes twice/, { file: "k.wgsl", line: 2 });
});

test("a constant that the text never mentions is refused, comments not counting", () => {
  for (const text of ["", "// BC", "/* BC /* BC */ BC */", "let BCD = ABC;"]) {
    const sources = { "k.wgsl": `${PARAMS}\n${text}` };
    refuses(
      () => composed(sources, { BC: 16 }),
      /constant BC is given, but no line of k\.wgsl/,
      {},
    );
  }
  composed({ "k.wgsl": `${PARAMS}\n/* no */ let x = BC;` }, { BC: 16 });
});

test("a constant that the text declares too is refused where it does", () => {
  const sources = { "k.wgsl": `// @use a.wgsl\n${PARAMS}`, "a.wgsl": "\n  const BC = 8u;" };
  refuses(() => composed(sources, { BC: 16 }), /constant BC is declared here/, {
    file: "a.wgsl",
    line: 2,
    column: 3,
  });
});

test("a params struct that differs from the packing is refused at the member", () => {
  const wrong = "\nstruct Params {\n  n: u32,  // fine\n  m: f32,\n}";
  refuses(
    () => composed({ "k.wgsl": wrong }),
    /member 1: the shader has m: f32, .* packs nothing/,
    {
      line: 4,
      column: 3,
    },
  );
  refuses(
    () => composed({ "k.wgsl": "struct Params { n: i32 }" }),
    /has n: i32, .* packs n: u32/,
    {},
  );
  refuses(() => composed({ "k.wgsl": "struct Params { }" }), /has nothing, .* packs n: u32/, {});
  refuses(() => composed({ "k.wgsl": "// struct Params { n: u32 }" }), /no struct Params/, {});
});

test("the message of a compile error shows the line and a caret under the column", () => {
  const error = new CompileError("unresolved value 'BC'", {
    file: "k.wgsl",
    line: 12,
    column: 6,
    source: "\tlet x = BC;",
  });
  assert.equal(
    error.message,
    "k.wgsl:12:6: unresolved value 'BC'\n  12 | \tlet x = BC;\n     | \t    ^",
  );
  assert.equal(
    new CompileError("lost", { file: "k.wgsl", line: 0, column: 0 }).message.split("\n").length,
    1,
  );
});

test("comments are blanked without moving anything", () => {
  const text = "a // b /*\nc /* d /* e\n */ f // */ g";
  const blank = withoutComments(text);
  assert.equal(blank.replace(/ +/g, " "), "a \nc \n g");
  assert.equal(blank.length, text.length);
  assert.equal(blank.indexOf("g"), text.indexOf("g"));
  assert.equal(withoutComments("a / b * c"), "a / b * c");
});

test("uses are found in comments at the start of a line only", () => {
  const text = "// @use a.wgsl\n  //@use  b.wgsl  \nlet x; // @use c.wgsl\n// see @use d.wgsl";
  assert.deepEqual(
    usesOf(text).map(({ path, line }) => [path, line]),
    [
      ["a.wgsl", 1],
      ["b.wgsl", 2],
    ],
  );
});
