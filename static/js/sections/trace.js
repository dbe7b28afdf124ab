// @ts-check
import { lazy, loaded } from "../lazy.js";
import { asRunError } from "../run-error.js";
import { sizesOf, worstTile } from "../trace-view.js";
import { byId } from "../ui/dom.js";

/** @typedef {import("../context.js").Context} Context */
/** @typedef {import("../context.js").Section} Section */
/** @typedef {import("../trace-view.js").Trace} Trace */

/** Of a kernel of one's own that calls dbg(). */
const TOLD = "what its calls of dbg() told is below.";

/**
 * See why: the state of one tile, step by step, and what dbg() told.
 *
 * @implements {Section}
 */
export class TraceSection {
  busy = false;
  used = false;
  #form = /** @type {HTMLFormElement} */ (byId("trace-form"));
  #button = /** @type {HTMLButtonElement} */ (byId("trace-start"));
  #status = byId("trace-status");
  #ready = false;
  #running = false;
  /** The run on show. */
  #run = "";
  /** The name of its kernel, if that is not ours. */
  #own = "";
  /** Its case was judged again since. */
  #earlier = false;
  /** @type {Trace | null} */
  #trace = null;
  /** Counts traces asked for: a late answer is dropped. */
  #turn = 0;
  /** What the form was filled from last, so that it does not undo what was typed. */
  #filledFrom = "";

  #view = lazy(async () => {
    const { TraceView } = await loaded("what draws it", import("../ui/trace.js"));
    return new TraceView(this.context.transport);
  });

  /** @param {Context} context */
  constructor(context) {
    this.context = context;
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#start();
    });
  }

  /** @type {NonNullable<Section["enable"]>} */
  enable({ ready, running }) {
    this.#ready = ready;
    this.#running = running;
    this.#look();
  }

  /** @type {NonNullable<Section["chosen"]>} */
  chosen(entry, check) {
    this.#look();
    if (!entry?.report || this.busy) return;
    const key = `${entry.run} ${check}`;
    if (this.#filledFrom === key) return;
    this.#filledFrom = key;
    this.#turn += 1; // a trace that is on its way is of another check
    const { b, h, ...tiles } = worstTile(entry.report, check, sizesOf(entry.case));
    this.#fill({ b, h, ...(entry.own ? {} : tiles) }); // the tiles of ours are others
    if (entry.report.told && entry.run !== this.#run) this.#load(entry.run, entry.own);
  }

  /** @type {NonNullable<Section["judged"]>} */
  judged(entry) {
    if (this.busy || entry.run === this.#run) return;
    if (entry.report?.told && this.context.session.entries.length === 1) {
      this.#load(entry.run, entry.own); // a kernel that calls dbg()
    } else if (this.#trace?.case === entry.case && this.#own === (entry.own ?? "")) {
      this.#earlier = true;
      this.#look();
    }
  }

  #look() {
    const id = this.context.caseOnShow();
    const { op } = sizesOf(id);
    byId("trace-j-field").hidden = op !== "backward";
    byId("trace-case").textContent = id || "Choose a check, or name a case above.";
    this.#button.disabled = !this.#ready || this.#running || this.busy || !id;
    const { own = "", report } = this.context.detail.entry ?? {};
    this.#button.textContent = own ? "Trace ours instead" : "Trace";
    byId("trace-own").hidden = !own;
    byId("trace-own").textContent =
      own && `${own} tells no tiles; ${report?.told ? TOLD : "call dbg() in it, or trace ours."}`;
    const why = this.#otherThan(id, own);
    byId("trace-of").hidden = !why;
    byId("trace-of").textContent = why && `The trace below is ${why}.`;
  }

  /**
   * What the trace on show is of, if that is not the check on show.
   *
   * @param {string} id  of the check's case
   * @param {string} own  the name of its kernel, if that is not ours
   */
  #otherThan(id, own) {
    if (!this.#trace) return "";
    const { case: of, traced, kernel } = this.#trace;
    if (of !== id) return `of ${of}${this.#own && `, told by your kernel ${this.#own}`}`;
    if (this.#own && own !== this.#own) return `of your kernel ${this.#own}`;
    if (own !== this.#own) return `of our ${traced.join(", ") || kernel}, not of ${own}`;
    return this.#earlier ? "of an earlier run of this case" : "";
  }

  /** @param {import("../trace-buffer.js").Wanted} wanted */
  #fill(wanted) {
    for (const name of /** @type {const} */ (["b", "h", "i_tile", "j_tile"])) {
      const field = /** @type {HTMLInputElement} */ (this.#form.elements.namedItem(name));
      field.value = wanted[name] === undefined ? "" : String(wanted[name]);
    }
  }

  async #start() {
    const { caseOnShow, choiceOnShow, editor, transport } = this.context;
    const id = caseOnShow();
    const numbers = Object.fromEntries(
      [...new FormData(this.#form)]
        .filter(([name, text]) => text !== "" && (name !== "j_tile" || id.startsWith("backward")))
        .map(([name, text]) => [name, Number(text)]),
    );
    const shaders = editor?.shaders() ?? {};
    const { entry } = this.context.detail;
    const again = entry?.case === id && !entry.own && entry.report?.edited?.length;
    const like = again ? entry.run : "";
    this.busy = true;
    this.#say("Tracing …");
    this.context.refresh();
    try {
      const { runs } = await transport.requestRuns({
        case: id,
        ...choiceOnShow(),
        ...(Object.keys(shaders).length ? { shaders } : like && { like }),
        trace: { b: 0, h: 0, ...numbers },
      });
      const report = await transport.report(runs[0]);
      if (report.told) await this.#load(runs[0]);
      else this.#say(`Not traced: ${report.message || "the run told nothing"}`);
    } catch (error) {
      this.#say(`Not traced: ${asRunError(error).message}`);
    }
    this.busy = false;
    this.context.refresh();
  }

  /** @param {string} run @param {string} [own]  the name of its kernel, if that is not ours */
  async #load(run, own = "") {
    const turn = ++this.#turn;
    try {
      const asked = this.context.transport.get(`/api/runs/${run}/trace`);
      const [view, trace] = await Promise.all([this.#view(), asked]);
      if (turn !== this.#turn) return;
      this.used = true;
      this.#run = run;
      this.#own = own;
      this.#trace = trace;
      this.#earlier = false;
      this.#look();
      view.show(run, trace);
      this.#tell(trace.mark ? `Parts here: ${trace.mark}` : trace.sentence);
    } catch (error) {
      if (turn === this.#turn) this.#say(`No trace: ${asRunError(error).message}`);
    }
  }

  /** @param {string} text */
  #say(text) {
    this.#status.textContent = text;
    this.#status.classList.remove("visually-hidden");
  }

  /** For those who do not see the sentence appear. @param {string} text */
  #tell(text) {
    this.#say(text);
    this.#status.classList.add("visually-hidden");
  }
}
