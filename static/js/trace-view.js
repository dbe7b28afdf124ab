// @ts-check
import { AXES } from "./checks.js";
import { toNumber } from "./format.js";

/** From what the server says of a trace to what the page shows of it. Nothing here touches the DOM. */

/** @typedef {import("./checks.js").Report} Report */
/** @typedef {import("./format.js").Number_} Number_ */
/** @typedef {import("./trace-buffer.js").Wanted} Wanted */
/** @typedef {{actual: Number_[], expected: Number_[], ratio: Number_[]}} Rows */

/**
 * @typedef {object} Step
 * @property {string} kind
 * @property {string} title
 * @property {number | null} number
 * @property {[number, number]} keys  first and end
 * @property {Record<string, Rows>} rows  what a row has one of
 * @property {Record<string, {worst: Number_, bad: number, told: number, unknown: number,
 *   total: number}>} quantities
 */

/**
 * @typedef {object} Trace what GET /api/runs/{run}/trace answers
 * @property {string} case
 * @property {string} kernel
 * @property {string[]} traced
 * @property {number} b
 * @property {number} h
 * @property {[number, number]} rows
 * @property {[number, number]} keys
 * @property {number} told
 * @property {number} lost
 * @property {number} room
 * @property {string} sentence
 * @property {string} mark
 * @property {[number, number] | null} left_out  first and end of the key tiles that have no step
 * @property {boolean} failed  the judge found the outputs wrong
 * @property {{step: number, quantity: string, rows: number[], row: number, column: number | null}
 *   | null} departure
 * @property {Step[]} steps
 * @property {{count: number, shown: [number, number, number, number | null, Number_][]}} values
 */

/** How people write the names of the wire. @type {Record<string, string>} */
export const SYMBOLS = { m: "m_i", l: "l_i" };

/** @param {string} name */
export const symbol = (name) => SYMBOLS[name] ?? name;

/**
 * The tile of the worst element of a report, or of one of its outputs.
 *
 * @param {Report | null} report
 * @param {string} output  "" = the worst of all
 * @param {{H: number, Hkv: number, op: string}} sizes of its case
 * @returns {Wanted}
 */
export function worstTile(report, output, { H, Hkv, op }) {
  const outputs = Object.entries(report?.outputs ?? {}).filter(([, { worst }]) => worst !== null);
  const ratio = (/** @type {typeof outputs[number]} */ [, { worst_ratio }]) =>
    toNumber(worst_ratio) ?? Infinity;
  const chosen =
    outputs.find(([name]) => name === output) ??
    outputs.reduce((a, b) => (ratio(b) > ratio(a) ? b : a), outputs[0]);
  if (!chosen) return { b: 0, h: 0 };
  const [name, { worst }] = chosen;
  if (worst === null) return { b: 0, h: 0 };
  const axes = AXES[name];
  const at = (/** @type {string} */ axis) => worst.index[axes.indexOf(axis)] ?? 0;
  const tiled = axes.filter((axis) => axis === "i" || axis === "j");
  const tile = (/** @type {"i" | "j"} */ axis) => worst.tile?.[tiled.indexOf(axis)];
  const head = axes.includes("h") ? at("h") : at("hkv") * (H / Hkv);
  /** @type {Wanted} */
  const wanted = { b: at("b"), h: head };
  const [i, j] = [tile("i"), tile("j")];
  if (i !== undefined) wanted.i_tile = i;
  if (j !== undefined && op === "backward") wanted.j_tile = j;
  return wanted;
}

/**
 * The sizes in a case's id that a trace asks about.
 *
 * @param {string} id
 */
export function sizesOf(id) {
  const [op, settings = ""] = id.split(":");
  const values = Object.fromEntries(settings.split(",").map((part) => part.split("=")));
  const H = Number(values.H ?? 1);
  return { op, B: Number(values.B ?? 1), H, Hkv: Number(values.Hkv ?? H) };
}

/**
 * Whether a step is right, as a mark and a word: colour never says it alone.
 *
 * @param {Trace} trace
 * @param {number} n
 * @returns {{status: "pass" | "fail" | "skip", mark: string, word: string}}
 */
export function stateOf(trace, n) {
  const { departure, steps } = trace;
  const wrong = Object.values(steps[n].quantities).some(({ bad }) => bad > 0);
  if (departure?.step === n) return { status: "fail", mark: "▶", word: "parts here" };
  if (wrong) return { status: "fail", mark: "✗", word: "wrong too" };
  const quantities = Object.values(steps[n].quantities);
  if (!quantities.some(({ told }) => told > 0)) {
    return { status: "skip", mark: "–", word: "not told" };
  }
  return quantities.some(({ unknown }) => unknown > 0)
    ? { status: "skip", mark: "–", word: "told in part" }
    : { status: "pass", mark: "✓", word: "right" };
}

/**
 * What a trace comes to, as a status and a word.
 *
 * @param {Pick<Trace, "departure" | "failed" | "left_out" | "lost" | "steps">} trace
 * @returns {["pass" | "fail" | "skip" | "vacuous", string]}
 */
export function badgeOf({ departure, failed, left_out, lost, steps }) {
  if (departure) return ["fail", "✗ parts"];
  if (steps.length === 0) return ["skip", "– not told"];
  if (failed) return ["vacuous", "∅ not in these steps"];
  return ["pass", left_out || lost ? "✓ right so far" : "✓ right"];
}

/** Where the trace begins to be of interest. @param {Trace} trace */
export const firstStep = (trace) => trace.departure?.step ?? Math.max(trace.steps.length - 1, 0);
