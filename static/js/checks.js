// @ts-check
import { formatRatio, plural, toNumber } from "./format.js";

/**
 * From reports to the lines and the headline of the page.
 *
 * A check is one output of one case: what a person reads as one line. The judge's report decides
 * everything; here it is only counted and laid out.
 */

/** @typedef {"pass" | "fail" | "vacuous" | "error" | "skip"} Status */
/** @typedef {import("./format.js").Number_} Number_ */

/**
 * @typedef {object} Output
 * @property {Number_} worst_ratio  largest |error| / allowed
 * @property {{index: number[], tile: number[] | null, actual: Number_, expected: Number_,
 *   allowed: Number_} | null} worst  index along AXES, whatever the layout
 * @property {number} bad
 * @property {number} total
 * @property {number} nan
 * @property {number} inf
 * @property {string} where  where the elements beyond their bound lie; "" if there are none
 */

/** What the numbers of an index count, for each output. @type {Record<string, string[]>} */
export const AXES = {
  o: ["b", "i", "h", "d"],
  lse: ["b", "h", "i"],
  attn: ["b", "h", "i", "j"],
  dq: ["b", "i", "h", "d"],
  dk: ["b", "j", "hkv", "d"],
  dv: ["b", "j", "hkv", "d"],
  dbias: ["b", "h", "i", "j"],
};

/**
 * @typedef {object} Report
 * @property {string} case
 * @property {string} kernel
 * @property {Status} status
 * @property {string} message
 * @property {Record<string, Output>} outputs
 * @property {Record<string, {changes: boolean, caught: boolean, ratio: Number_}>} controls
 * @property {number} kappa
 * @property {string} input_sha256
 * @property {string} shader_sha256
 * @property {Partial<import("./device.js").AdapterFacts> | null} adapter
 * @property {string} engine
 * @property {number | null} elapsed_ns
 * @property {number | null} compile_ns
 * @property {number | null} first_result_ns
 * @property {number | null} [gpu_ns]  of the first pass; null without timestamps
 * @property {string[]} [edited]  paths of the shader files whose text was not the one on disk
 * @property {{kind: string, file: string | null, line: number | null,
 *   column: number | null} | null} [error]
 * @property {number} [told]  values that the kernels told: a trace, or dbg()
 * @property {string[]} warnings
 * @property {{check: string, output: string, sentence: string} | null} finding  of a failed run: the
 *   first check that failed
 */

/**
 * @typedef {object} Entry one case of the list
 * @property {string} case
 * @property {string} run  "" until the server gave it an id
 * @property {"planned" | "queued" | "running" | "done"} state
 * @property {Report | null} report
 * @property {string} problem  why there is no report although the case is over
 * @property {string} [own]  the name of a kernel that is not ours
 * @property {import("./own/types.js").Own} [ownKernel]  that kernel, as it was sent
 */

/**
 * @typedef {object} Check
 * @property {string} name      of the output that it is named after
 * @property {string[]} outputs  what it covers; of a report, what of that was judged
 * @property {Status | "planned" | "queued" | "running"} status
 * @property {Number_} ratio    worst |error| / allowed among them
 */

/**
 * The checks of a case, from its id: the lines that a case will have are known before it runs,
 * so nothing moves when it does. The log-sum-exp has no line of its own: the pass that computes o
 * computes it, and the command line counts the two as one check as well.
 *
 * @param {string} id
 * @returns {{name: string, outputs: string[]}[]}
 */
export function checkNames(id) {
  const colon = id.indexOf(":"); // the first one: window=l:r has another
  const op = id.slice(0, colon);
  const keys = id.slice(colon + 1).split(",");
  const has = (/** @type {RegExp} */ key) => keys.some((part) => key.test(part));
  const names = [];
  if (has(/^attn=1$/)) names.push("attn");
  if (op === "backward") names.push("dq", "dk", "dv");
  if (op === "backward" && has(/^bias=(?!none$)/)) names.push("dbias");
  return [
    { name: "o", outputs: ["o", "lse"] },
    ...names.map((name) => ({ name, outputs: [name] })),
  ];
}

/** A report does not change, and a page may show thousands. @type {WeakMap<Report, Check[]>} */
const known = new WeakMap();

/**
 * @param {Entry} entry
 * @returns {Check[]}
 */
export function checksOf(entry) {
  const { report, state } = entry;
  if (!report) {
    const status = state === "done" ? "error" : state;
    return checkNames(entry.case).map((check) => ({ ...check, status, ratio: null }));
  }
  const checks = known.get(report) ?? judgedChecks(entry.case, report);
  known.set(report, checks);
  return checks;
}

/**
 * @param {string} id
 * @param {Report} report
 * @returns {Check[]}
 */
function judgedChecks(id, report) {
  const located = Object.values(report.outputs).some(({ bad }) => bad > 0);
  return checkNames(id).map(({ name, outputs }) => {
    const told = outputs.filter((output) => report.outputs[output]);
    const judged = told.map((output) => report.outputs[output]);
    const ratios = judged.flatMap(({ worst_ratio }) => toNumber(worst_ratio) ?? []);
    // A failure that lies in no element (guard words, unwritten words) concerns the whole case.
    const spared = report.status === "fail" && located && judged.every(({ bad }) => bad === 0);
    return {
      name,
      outputs: told.length ? told : outputs,
      status: spared && judged.length ? "pass" : report.status,
      // Math.max gives NaN if one of them is: no number is worse than any.
      ratio: ratios.length ? Math.max(...ratios) : null,
    };
  });
}

/** A shape beside each word, since colour never says it alone. */
export const STATUS_MARK = Object.freeze({
  pass: "✓",
  fail: "✗",
  vacuous: "∅",
  error: "!",
  skip: "–",
  running: "▸",
  queued: "·",
  planned: "·",
});

/** How a status is written at the head of a line; the letters of "ok" and "FAIL" as in TAP. */
export const STATUS_WORD = Object.freeze({
  pass: "ok",
  fail: "FAIL",
  vacuous: "vacuous",
  error: "error",
  skip: "skip",
  running: "running",
  queued: "queued",
  planned: "not run",
});

/**
 * One line of text, as the command line prints it.
 *
 * @param {Check} check
 * @param {Entry} entry
 */
export function lineOf(check, entry) {
  const ratio = check.ratio === null ? "" : ` worst |error|/allowed ${formatRatio(check.ratio)}`;
  return `${STATUS_WORD[check.status]} ${check.outputs.join(", ")} ${entry.case}${ratio}`;
}

/**
 * @typedef {object} Summary
 * @property {"planned" | "running" | "pass" | "fail" | "nothing" | "stopped"} verdict
 * @property {string} headline
 * @property {string} detail
 * @property {number} done   cases that are over
 * @property {number} cases
 */

/**
 * The verdict over a list. ALL PASS needs every check to have run or to have been refused by
 * name, at least one of them to have passed, and none to have failed, erred or proved nothing.
 *
 * @param {Entry[]} entries
 * @returns {Summary}
 */
export function summarise(entries) {
  /** @type {Record<string, number>} */
  const count = {};
  const ratios = [];
  let checks = 0;
  for (const entry of entries) {
    for (const check of checksOf(entry)) {
      checks += 1;
      count[check.status] = (count[check.status] ?? 0) + 1;
      const ratio = toNumber(check.ratio);
      if (ratio !== null) ratios.push(ratio);
    }
  }
  const of = (/** @type {string} */ status) => count[status] ?? 0;
  const done = entries.filter(({ state }) => state === "done").length;
  const wrong = of("fail") + of("vacuous") + of("error");
  const pending = of("queued") + of("running");
  const size = `${plural(checks, "check")} in ${plural(entries.length, "case")}`;

  const detail = [
    size,
    `${of("pass")} ok`,
    `${of("fail")} failed`,
    ...(of("vacuous") ? [`${of("vacuous")} vacuous`] : []),
    ...(of("error") ? [plural(of("error"), "error")] : []),
    ...(of("skip") ? [`${of("skip")} skipped`] : []),
  ];
  if (of("planned") && done + pending) detail.push(`${of("planned")} not run`);
  if (ratios.length) detail.push(`worst |error|/allowed ${formatRatio(Math.max(...ratios))}`);

  const state = () => {
    if (pending) return { verdict: "running", headline: `RUNNING ${done} / ${entries.length}` };
    if (!done) return { verdict: "planned", headline: "NOT RUN" };
    if (wrong) return { verdict: "fail", headline: `${wrong} FAILED` };
    if (!of("pass")) return { verdict: "nothing", headline: "NOTHING RAN" };
    if (of("planned")) return { verdict: "stopped", headline: "STOPPED" };
    return { verdict: "pass", headline: "ALL PASS" };
  };
  const { verdict, headline } = state();
  return {
    verdict: /** @type {Summary["verdict"]} */ (verdict),
    headline,
    detail: verdict === "planned" ? size : detail.join(" · "),
    done,
    cases: entries.length,
  };
}
