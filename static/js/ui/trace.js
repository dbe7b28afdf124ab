// @ts-check
import { plural } from "../format.js";
import { asRunError } from "../run-error.js";
import { readSafetensors } from "../safetensors.js";
import { badgeOf, firstStep, symbol } from "../trace-view.js";
import { byId, h } from "./dom.js";
import { LEGEND, matrixFigure } from "./trace-matrices.js";
import { rowTable } from "./trace-rows.js";
import { TraceSteps } from "./trace-steps.js";
import { showValues } from "./trace-values.js";

/** @typedef {import("../trace-view.js").Trace} Trace */

/** A trace on show: its sentence, its steps, the state after one of them, what dbg() told. */
export class TraceView {
  #steps = new TraceSteps(byId("trace-steps"), (n) => this.#showStep(n));
  #transport;
  #run = "";
  /** @type {Trace | null} */
  #trace = null;
  /** Counts steps shown: a late answer is dropped. */
  #turn = 0;

  /** @param {Pick<import("../transport.js").Transport, "bytes">} transport */
  constructor(transport) {
    this.#transport = transport;
  }

  /** @param {string} run @param {Trace} trace */
  show(run, trace) {
    this.#run = run;
    this.#trace = trace;
    const { steps, rows, traced, lost, told } = trace;
    byId("trace-result").hidden = traced.length === 0;
    const [status, word] = badgeOf(trace);
    byId("trace-sentence").replaceChildren(
      h("span", { class: "badge", "data-status": status }, word),
      ` ${trace.sentence}`,
    );
    byId("trace-facts").textContent =
      `b=${trace.b}, h=${trace.h}, rows ${rows[0]}–${rows[1] - 1}, told by ${traced.join(", ")}: ` +
      `${plural(told, "value")}${lost ? `, of which ${lost} found no room` : ""}. Bounds: κ u W of the rows so far.`;
    const downloads = byId("trace-downloads");
    downloads.hidden = steps.length === 0;
    downloads.replaceChildren(
      h("a", { href: `/api/runs/${run}/trace.npz`, download: "" }, "All steps as .npz"),
      h("a", { href: `/api/runs/${run}/trace`, download: `${run}-trace.json` }, "Rows as JSON"),
    );
    showValues(byId("trace-values"), trace, run);
    const chosen = firstStep(trace);
    this.#steps.show(trace, chosen);
    if (steps.length) this.#showStep(chosen);
    else this.#showNoStep();
  }

  /** A step of an earlier trace goes, one that is on its way as well. */
  #showNoStep() {
    this.#turn += 1;
    byId("trace-step").replaceChildren();
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
      const { tensors } = readSafetensors(await this.#transport.bytes(path));
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
}

/** @param {import("../trace-view.js").Step} step */
function worstOf(step) {
  const parts = Object.entries(step.quantities).map(
    ([name, { worst, unknown, total }]) =>
      `${symbol(name)} ${unknown === total ? "unknown" : typeof worst === "number" ? worst.toFixed(2) : worst}`,
  );
  return `worst error / allowed: ${parts.join(" · ")}`;
}
