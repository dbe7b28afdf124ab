// @ts-check
import { checksOf } from "../checks.js";
import { CompareSession } from "../compare-session.js";
import { groupsOf, labelOf } from "../compare-sides.js";
import { RunError } from "../run-error.js";
import { CompareView } from "../ui/compare.js";
import { byId } from "../ui/dom.js";

/** @typedef {import("../context.js").Context} Context */
/** @typedef {import("../context.js").Section} Section */
/** @typedef {import("../compare-session.js").Side} Side */
/** @typedef {import("../compare-session.js").SideBody} SideBody */

/** As many runs of the history as a list can show without a search of its own. */
const MOST_KEPT = 40;

/** Two kernels on the case on show. @implements {Section} */
export class CompareSection {
  /** @type {{name: string, op: string}[]} */
  #kernels = [];
  /** @type {import("../compare-sides.js").KeptRun[]} */
  #kept = [];
  /** @type {import("../compare-sides.js").Group[]} */
  #groups = [];
  #asked = runOf(location.search);
  #seen = false;

  /** @param {Context} context */
  constructor(context) {
    this.context = context;
    this.view = new CompareView({
      onStart: () => this.#start(),
      onStop: () => this.session.stop(),
      onShow: (run) => this.#show(run),
    });
    this.session = new CompareSession(context.transport, () => {
      if (this.session.shown) this.view.show(this.session.shown);
      context.refresh();
    });
    const seen = new IntersectionObserver((entries) => {
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
      seen.disconnect();
      this.#seen = true;
      this.#loadHistory();
    });
    seen.observe(byId("compare"));
    if (this.#asked) byId("compare").scrollIntoView();
  }

  get busy() {
    return this.session.busy;
  }

  get used() {
    return this.session.shown !== null;
  }

  /** @type {NonNullable<Section["enable"]>} */
  enable({ ready, running }) {
    const id = this.context.caseOnShow();
    this.view.enable(ready && (!running || this.busy), this.busy, id);
    this.#offer(id);
  }

  /** @type {NonNullable<Section["listed"]>} */
  listed(kernels) {
    this.#kernels = kernels;
    this.#offer(this.context.caseOnShow());
  }

  async resync() {
    if (this.#seen) await this.#loadHistory();
  }

  async #loadHistory() {
    try {
      const found = await this.context.transport.get(`/api/history?limit=${MOST_KEPT}`);
      this.#kept = found.runs.filter((/** @type {{kind: string}} */ { kind }) => kind === "run");
    } catch {
      this.#kept = []; // a server without a history has nothing to offer
    }
    this.#offer(this.context.caseOnShow());
  }

  /** @param {string} id of the case on show */
  #offer(id) {
    const { editor, ownKernel } = this.context;
    this.#groups = groupsOf({
      kernels: this.#kernels,
      op: id.split(":", 1)[0],
      edited: Object.keys(editor?.shaders() ?? {}),
      own: String(ownKernel?.()?.name ?? ""),
      kept: this.#kept,
      asked: this.#asked,
    });
    const other = this.#asked ? `run:${this.#asked}` : "kernel:baseline";
    this.view.offer(this.#groups, ["kernel:auto", other]);
  }

  async #start() {
    const { caseOnShow, choiceOnShow } = this.context;
    const { seed } = choiceOnShow();
    const [a, b] = this.view.chosen.map((value) => ({
      label: labelOf(value, this.#groups),
      load: () => this.#load(value),
    }));
    const what = { case: caseOnShow(), ...(seed && { seed }) };
    await this.session.start(what, [a, b], this.view.timed);
    await this.#loadHistory();
  }

  /**
   * @param {string} value  of an option
   * @returns {ReturnType<Side["load"]>}
   */
  async #load(value) {
    const { editor, ownKernel, transport } = this.context;
    const side = (/** @type {SideBody} */ body) => ({ notes: [], body });
    if (value.startsWith("kernel:")) return side({ kernel: value.slice(7) });
    if (value === "edited") return side({ shaders: editor?.shaders() ?? {} });
    if (value === "own") {
      const own = ownKernel?.();
      if (!own) throw new RunError("page", "no kernel of your own is loaded");
      return side({ kernel: "auto", own });
    }
    const kept = await transport.get(`/api/compare/sides/${value.slice(4)}`);
    const { kernel, shaders, own } = kept;
    return {
      label: kept.label,
      notes: kept.notes,
      body: { kernel, ...(Object.keys(shaders).length && { shaders }), ...(own && { own }) },
    };
  }

  /** The check of a side, where its error is shown. @param {string} run */
  #show(run) {
    const entry = this.context.session.entries.find((one) => one.run === run);
    if (!entry) return this.view.say("That run is not in the list of checks any more.");
    const checks = checksOf(entry);
    const wrong = checks.find(({ status }) => status !== "pass") ?? checks[0];
    this.context.choose(entry, wrong.name);
    byId("detail").focus();
  }
}

/** The run that the URL wants compared; "" = none. @param {string} search */
function runOf(search) {
  const run = new URLSearchParams(search).get("compare") ?? "";
  return /^[0-9a-f]{6,32}$/.test(run) ? run : "";
}
