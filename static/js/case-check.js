// @ts-check
import { hasErrors } from "./diagnostics.js";
import { plural } from "./format.js";
import { asRunError } from "./run-error.js";
import { ShaderCheck } from "./shader-check.js";

/** @typedef {import("./runner.js").Spec} Spec */
/** @typedef {import("./attention/index.js").Message} Message */

/** The case field is typed into: who types fast is not told of half a word. */
const CHOOSING_MS = 200;
/** So is a text. */
const TYPING_MS = 350;

/**
 * The case on show: what the server makes of its name, and what the compiler says of its shaders.
 * Answers that are late for the case or the text of now are dropped.
 */
export class CaseCheck {
  /** @type {{case: string, spec: Spec, kernel: string} | null} */
  job = null;
  /** @type {import("./shader-check.js").Checked | null} */
  checked = null;
  /** Why there is nothing to check; "" = there is. */
  refused = "";
  /** What the case was asked as. */
  key = "";
  /** @type {string[]} of the case that was checked: as it was asked, and in canonical form */
  #checkedKeys = [];
  #turn = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #choosing;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #typing;

  /**
   * @param {Pick<import("./context.js").Context,
   *   "transport" | "devices" | "tables" | "runner">} context
   * @param {object} hooks
   * @param {() => Record<string, string>} hooks.edited  texts by path
   * @param {() => Promise<void>} hooks.onChange  job, checked or refused are others
   */
  constructor(context, { edited, onChange }) {
    this.transport = context.transport;
    this.runner = context.runner;
    this.shaders = new ShaderCheck(context);
    this.edited = edited;
    this.onChange = onChange;
  }

  /** Whether a case, named by its key, is known not to compile. @param {string} key */
  isBroken(key) {
    return this.#checkedKeys.includes(key) && hasErrors(this.checked?.messages ?? []);
  }

  /** A text is another one: what is known is of the earlier. It is checked once nobody types. */
  touched() {
    this.#checkedKeys = [];
    clearTimeout(this.#typing);
    this.#typing = setTimeout(() => this.again(), TYPING_MS);
  }

  /** Another case may be on show. @param {string} key of it: see `keyOf` */
  look(key) {
    if (key === this.key) return;
    this.key = key;
    clearTimeout(this.#choosing);
    this.#choosing = setTimeout(() => this.#find(), this.job ? CHOOSING_MS : 0);
  }

  /**
   * Checks the texts of now.
   *
   * @returns {Promise<boolean>} false: they do not compile
   */
  async again() {
    clearTimeout(this.#typing);
    if (this.job === null && this.key) return this.#find();
    const turn = ++this.#turn;
    const keys = this.job ? [this.key, keyOf(this.job.case, {})] : [];
    let checked = null;
    let refused = this.job ? "" : this.refused;
    try {
      if (this.job) checked = await this.shaders.check(this.job, this.edited());
    } catch (error) {
      refused = asRunError(error).message;
    }
    if (turn === this.#turn) {
      this.checked = checked;
      this.#checkedKeys = keys;
      this.refused = refused;
      await this.onChange();
    }
    return checked === null || !hasErrors(checked.messages);
  }

  /** A file was saved: what is checked or run next is made of it. @param {string} [path] default: any */
  async forget(path) {
    this.shaders.forget(path);
    const nothing = () => {}; // was compiled yet, if the runner cannot even be loaded
    await this.runner().then((runner) => runner.reload(), nothing);
  }

  /** All shader files; [] when the server does not answer: it comes back. */
  async files() {
    const answer = await this.transport.get("/api/shaders").catch(() => ({ shaders: [] }));
    return answer.shaders.map((/** @type {{path: string}} */ { path }) => path);
  }

  /**
   * The state of affairs in a sentence or two.
   *
   * @param {readonly Message[]} messages
   * @param {boolean} stale the results on show are of an earlier text
   */
  summary(messages, stale) {
    if (this.refused) return this.refused;
    if (!this.checked) return "Asking the compiler.";
    const errors = messages.filter(({ type }) => type === "error").length;
    const rest = stale ? " The results on show are those of the earlier text." : "";
    if (errors)
      return `${plural(errors, "error")}: this does not compile, so it is not run.${rest}`;
    const { main, files } = this.checked;
    const others = plural(files.length - 1, "file");
    return `${main} and the ${others} with it compile on this device.${rest}`;
  }

  /** @returns {Promise<boolean>} */
  async #find() {
    clearTimeout(this.#choosing);
    const { key } = this;
    let job = null;
    let refused = "Choose a check, or write a case above: its shaders appear here.";
    try {
      if (key) job = await this.transport.get(`/api/cases/${key}`);
    } catch (error) {
      refused = asRunError(error).message;
    }
    if (key !== this.key) return true;
    this.job = job;
    this.refused = refused;
    if (job) return this.again();
    this.#turn += 1;
    this.checked = null;
    await this.onChange();
    return true;
  }
}

/**
 * @param {string} id of a case, as anybody may write it; "" = none
 * @param {{kernel?: string, seed?: string}} choice that goes with it
 */
export function keyOf(id, { kernel, seed }) {
  if (!id) return "";
  const choice = new URLSearchParams({ ...(kernel && { kernel }), ...(seed && { seed }) });
  return `${encodeURIComponent(id)}?${choice}`;
}
