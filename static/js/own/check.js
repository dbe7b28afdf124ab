// @ts-check
/** What can be said of a kernel before it runs: how it is understood, and what the compiler says. */

import { compilerMessages } from "../attention/diagnose.js";
import { SHADER_BASE, ShaderSources } from "../attention/shader-sources.js";
import { librarySpec } from "../case-spec.js";
import { Unreadable } from "./errors.js";
import { planOwn } from "./plan.js";
import { rowsOf } from "./understood.js";

/** @typedef {import("../attention/index.js").Message} Message */

/**
 * @typedef {object} Checked
 * @property {import("./understood.js").Row[]} rows  how it is understood
 * @property {Message[]} messages  of the compiler
 * @property {string} said  the state of affairs in a sentence
 * @property {"" | "wrong" | "right"} state
 */

/**
 * @param {GPUDevice} device
 * @param {import("./types.js").Own} own
 * @param {import("../runner.js").Spec} spec of the case that it would run on
 * @returns {Promise<Checked>}
 */
export async function checkOwn(device, own, spec) {
  const sources = new ShaderSources(SHADER_BASE, own.files);
  const closure = (/** @type {string} */ file) => sources.closure(file);
  const { op = "forward", outputs } = own.manifest;
  const all = op === "backward" ? ["dq", "dk", "dv"] : ["o", "lse"];
  const want = outputs ? all.filter((name) => outputs.includes(name)) : all;
  try {
    const plan = await planOwn(own, librarySpec(spec), { limits: device.limits, want, closure });
    const texts = new Map(plan.passes.map((pass) => [pass.composed.text, pass]));
    const found = await Promise.all(
      [...texts.values()].map((pass) => compilerMessages(device, pass.file, pass.composed)),
    );
    return judged(
      rowsOf(plan, own.manifest),
      found.flat(),
      `${plan.name} is understood and compiles.`,
    );
  } catch (error) {
    if (error instanceof Unreadable) {
      const messages = await compilerMessages(device, error.file, error.composed);
      if (messages.some(({ type }) => type === "error")) return judged([], messages, "");
    }
    const { message } = /** @type {Error} */ (error);
    return { rows: [], messages: [], said: message, state: "wrong" };
  }
}

/**
 * @param {import("./understood.js").Row[]} rows
 * @param {Message[]} messages
 * @param {string} fine what is said when there is no error
 * @returns {Checked}
 */
function judged(rows, messages, fine) {
  const first = messages.find(({ type }) => type === "error");
  if (first === undefined) return { rows, messages, said: fine, state: "right" };
  const { file, line, column, text } = first;
  const said = `${file}:${line}:${column}: ${text}`;
  return { rows, messages, said, state: "wrong" };
}
