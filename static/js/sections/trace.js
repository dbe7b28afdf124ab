// @ts-check
import { plural } from "../format.js";
import { asRunError } from "../run-error.js";
import { readSafetensors } from "../safetensors.js";
import { firstStep, sizesOf, symbol, worstTile } from "../trace-view.js";
import { byId, h } from "../ui/dom.js";
import { LEGEND, matrixFigure } from "../ui/trace-matrices.js";
import { rowTable } from "../ui/trace-rows.js";
import { TraceSteps } from "../ui/trace-steps.js";
import { showValues } from "../ui/trace-values.js";

/** @typedef {import("../context.js").Context} Context */
/** @typedef {import("../context.js").Section} Section */
/** @typedef {import("../checks.js").Entry} Entry */
/** @typedef {import("../trace-view.js").Trace} Trace */

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
  #steps = new TraceSteps(byId("trace-steps"), (n) => this.#showStep(n));
  #ready = false;
  #running = false;
  /** The run whose trace is waited for. */
  #awaited = "";
  /** The run on show. */
  #run = "";
  /** @type {Trace | null} */
  #trace = null;
  /** Counts steps shown: a late answer is dropped. */
  #turn = 0;
  /** What the form was filled from last, so that it does not undo what was typed. */
  #filledFrom = "";

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
    this.#fill(worstTile(entry.report, check, sizesOf(entry.case)));
    if (entry.report.told && entry.run !== this.#run) this.#load(entry.run);
  }

  /** @type {NonNullable<Section["judged"]>} */
  judged(entry) {
    if (entry.run === this.#awaited) {
      this.#awaited = "";
      this.#over(entry);
    } else if (entry.report?.told && !this.busy && this.context.session.entries.length === 1) {
      this.#load(entry.run); // a kernel that calls dbg()
    }
  }

  /** The run may have been forgotten while nobody told this page. */
  async resync() {
    if (this.#awaited && !this.context.session.entries.some(({ run }) => run === this.#awaited)) {
      this.#end("The server was restarted: trace again.");
    }
  }

  #look() {
    const id = this.context.caseOnShow();
    const { op } = sizesOf(id);
    byId("trace-j-field").hidden = op !== "backward";
    byId("trace-case").textContent = id || "Choose a check, or name a case above.";
    this.#button.disabled = !this.#ready || this.#running || this.busy || !id;
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
    const like = entry?.case === id && entry.report?.edited?.length ? entry.run : "";
    this.busy = true;
    this.#say("Tracing …");
    this.context.refresh();
    try {
      const request = transport.requestRuns({
        case: id,
        ...choiceOnShow(),
        ...(Object.keys(shaders).length ? { shaders } : like && { like }),
        trace: { b: 0, h: 0, ...numbers },
      });
      const { runs } = await request;
      this.#awaited = runs[0];
      const known = this.context.session.entries.find(({ run }) => run === runs[0]);
      if (known?.report) this.judged(known); // a verdict may come before this answer
    } catch (error) {
      this.#end(`Not traced: ${asRunError(error).message}`);
    }
  }

  /** @param {Entry} entry of the run that was asked for */
  async #over(entry) {
    const { report, problem } = entry;
    if (!report?.told) {
      const why = report?.message ?? problem;
      return this.#end(`Not traced: ${why || "the run told nothing"}`);
    }
    await this.#load(entry.run);
    this.#end("");
  }

  /** @param {string} why "" = it is on show */
  #end(why) {
    this.busy = false;
    this.#awaited = "";
    if (why) this.#say(why);
    this.context.refresh();
  }

  /** @param {string} run */
  async #load(run) {
    try {
      this.#show(run, await this.context.transport.get(`/api/runs/${run}/trace`));
    } catch (error) {
      this.#say(`No trace: ${asRunError(error).message}`);
    }
  }

  /** @param {string} run @param {Trace} trace */
  #show(run, trace) {
    this.#run = run;
    this.#trace = trace;
    this.used = true;
    const { steps, rows, traced, lost, told } = trace;
    byId("trace-result").hidden = steps.length === 0;
    const [status, word] = trace.departure
      ? ["fail", "✗ parts"]
      : trace.failed
        ? ["vacuous", "∅ not in these steps"]
        : ["pass", "✓ right"];
    byId("trace-sentence").replaceChildren(
      h("span", { class: "badge", "data-status": status }, word),
      ` ${trace.sentence}`,
    );
    byId("trace-facts").textContent =
      `b=${trace.b}, h=${trace.h}, rows ${rows[0]}–${rows[1] - 1}, told by ${traced.join(", ")}: ` +
      `${plural(told, "value")}${lost ? `, of which ${lost} found no room` : ""}. Bounds: κ u W of the rows so far.`;
    this.#tell(trace.mark ? `Parts here: ${trace.mark}` : trace.sentence);
    const downloads = byId("trace-downloads");
    downloads.hidden = steps.length === 0;
    downloads.replaceChildren(
      h("a", { href: `/api/runs/${run}/trace.npz`, download: "" }, "All steps as .npz"),
      h("a", { href: `/api/runs/${run}/trace`, download: `${run}-trace.json` }, "Rows as JSON"),
    );
    showValues(byId("trace-values"), trace, run);
    if (!steps.length) return;
    const chosen = firstStep(trace);
    this.#steps.show(trace, chosen);
    this.#showStep(chosen);
  }

  /** @param {number} n */
  async #showStep(n) {
    const trace = this.#trace;
    if (!trace) return;
    const step = trace.steps[n];
    const host = byId("trace-step");
    const turn = ++this.#turn;
    const departs = trace.departure?.step === n;
    const here = departs
      ? h("p", { class: "trace-here", "data-status": "fail" }, `▶ parts here: ${trace.mark}`)
      : h("p", { class: "trace-here" }, worstOf(step));
    const old = host.querySelector(".trace-matrices");
    const matrices = old ?? h("div", { class: "trace-matrices" });
    const legend = h("p", { class: "hint" }, LEGEND);
    host.replaceChildren(h("h3", {}, step.title), here, rowTable(trace, step), legend, matrices);
    try {
      const path = `/api/runs/${this.#run}/trace/steps/${n}`;
      const { tensors } = readSafetensors(await this.context.transport.bytes(path));
      if (turn !== this.#turn) return;
      const rows = trace.rows[1] - trace.rows[0];
      const names = Object.keys(step.quantities).filter((name) => `${name}.actual` in tensors);
      matrices.replaceChildren(
        ...names.map((name) => {
          const across = name === "O" ? "channel" : "key";
          const planes = /** @type {import("../ui/trace-matrices.js").Matrix["planes"]} */ ({
            actual: tensors[`${name}.actual`],
            expected: tensors[`${name}.expected`],
            ratio: tensors[`${name}.ratio`],
          });
          const columns = planes.actual.length / rows;
          const column0 = name === "O" ? 0 : step.keys[0];
          return matrixFigure({
            name,
            rows,
            columns,
            row0: trace.rows[0],
            column0,
            across,
            planes,
          });
        }),
      );
    } catch (error) {
      if (turn === this.#turn)
        matrices.replaceChildren(`No matrices: ${asRunError(error).message}`);
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

/** @param {import("../trace-view.js").Step} step */
function worstOf(step) {
  const parts = Object.entries(step.quantities).map(
    ([name, { worst }]) =>
      `${symbol(name)} ${typeof worst === "number" ? worst.toFixed(2) : worst}`,
  );
  return `worst error / allowed: ${parts.join(" · ")}`;
}
