// @ts-check
import { HighlightStyle, StreamLanguage, tags } from "../vendor/codemirror.js";

/**
 * WGSL for the editor, token by token: nothing here needs a whole parse, and a text that does not
 * compile yet is coloured all the same.
 *
 * @typedef {object} State
 * @property {number} comments  open block comments: they nest
 * @property {number} depth     open braces and parentheses
 *
 * @typedef {object} Stream as much of CodeMirror's as is used
 * @property {(pattern: RegExp) => any} match
 * @property {() => string | void} next
 * @property {() => boolean} eatSpace
 * @property {() => void} skipToEnd
 * @property {() => string} current
 */

const words = (/** @type {string} */ text) => new Set(text.split(" "));

const KEYWORDS = words(
  "alias break case const const_assert continue continuing default diagnostic discard else enable " +
    "fn for if let loop override requires return struct switch var while",
);
const TYPES = words(
  "array atomic bool f16 f32 i32 mat2x2 mat2x3 mat2x4 mat3x2 mat3x3 mat3x4 mat4x2 mat4x3 mat4x4 ptr " +
    "sampler u32 vec2 vec3 vec4 subgroup_matrix_left subgroup_matrix_right subgroup_matrix_result",
);
const SHORT_TYPES = /^(?:vec[234]|mat[234]x[234])[fhiu]$/;
const SPACES = words("function private workgroup uniform storage read write read_write");
const LITERALS = words("true false");

const NUMBER =
  /^(?:0[xX][\da-fA-F]*\.?[\da-fA-F]*(?:[pP][+-]?\d+)?|\d*\.?\d+(?:[eE][+-]?\d+)?|\d+\.)[fhiu]?/;
const NAME = /^[\p{XID_Start}_][\p{XID_Continue}]*/u;
/** What this project's composer reads in comments. */
const MARK = /^@(?:use|unroll)\b.*/;

/**
 * The class of the next token.
 *
 * @param {Stream} stream
 * @param {State} state
 * @returns {string | null}
 */
export function token(stream, state) {
  if (state.comments > 0) return comment(stream, state);
  if (stream.eatSpace()) return null;
  if (stream.match(/^\/\//)) {
    if (stream.match(/^\s*(?=@(?:use|unroll)\b)/) && stream.match(MARK)) return "mark";
    stream.skipToEnd();
    return "comment";
  }
  if (stream.match(/^\/\*/)) {
    state.comments = 1;
    return comment(stream, state);
  }
  if (stream.match(/^@\s*[a-z_]+/)) return "attribute";
  if (stream.match(NUMBER)) return "number";
  if (stream.match(NAME)) return nameClass(stream);
  const sign = stream.next() ?? "";
  if ("{(".includes(sign)) state.depth += 1;
  if ("})".includes(sign)) state.depth = Math.max(0, state.depth - 1);
  return "{}()[];,".includes(sign) ? "bracket" : "operator";
}

/**
 * @param {Stream} stream
 * @param {State} state
 */
function comment(stream, state) {
  while (state.comments > 0) {
    if (stream.match(/^\/\*/)) state.comments += 1;
    else if (stream.match(/^\*\//)) state.comments -= 1;
    else if (!stream.next()) break;
  }
  return "comment";
}

/** @param {Stream} stream */
function nameClass(stream) {
  const name = stream.current();
  if (KEYWORDS.has(name)) return "keyword";
  if (TYPES.has(name) || SHORT_TYPES.test(name)) return "type";
  if (LITERALS.has(name)) return "number";
  if (SPACES.has(name)) return "space";
  if (stream.match(/^(?=\s*\()/)) return "call";
  return /^[A-Z][A-Z0-9_]+$/.test(name) ? "constant" : "name";
}

export const wgsl = StreamLanguage.define({
  name: "wgsl",
  startState: () => ({ comments: 0, depth: 0 }),
  copyState: (state) => ({ ...state }),
  token: (stream, state) => token(stream, state),
  indent: (state, after, { unit }) =>
    unit * Math.max(0, state.depth - (/^\s*[})]/.test(after) ? 1 : 0)),
  languageData: {
    commentTokens: { line: "//", block: { open: "/*", close: "*/" } },
    indentOnInput: /^\s*[})]$/,
  },
  tokenTable: {
    mark: tags.annotation,
    attribute: tags.attributeName,
    number: tags.number,
    keyword: tags.keyword,
    type: tags.typeName,
    space: tags.modifier,
    call: tags.function(tags.variableName),
    constant: tags.constant(tags.variableName),
    name: tags.variableName,
    bracket: tags.bracket,
    operator: tags.operator,
    comment: tags.comment,
  },
});

/** Colours by the page's variables, light and dark; style/kernel.css sets them. */
export const colours = HighlightStyle.define([
  { tag: tags.comment, color: "var(--code-comment)" },
  { tag: tags.annotation, color: "var(--code-mark)", fontWeight: "bold" },
  { tag: tags.attributeName, color: "var(--code-attribute)" },
  { tag: tags.number, color: "var(--code-number)" },
  { tag: tags.keyword, color: "var(--code-keyword)" },
  { tag: [tags.typeName, tags.modifier], color: "var(--code-type)" },
  { tag: tags.function(tags.variableName), color: "var(--code-call)" },
  { tag: tags.constant(tags.variableName), color: "var(--code-constant)" },
]);
