// @ts-check
import { curvesOf, formatPercent, stepsPerSecond } from "../train-curves.js";
import { byId, h } from "./dom.js";
import { LossChart } from "./loss-chart.js";

/** @typedef {import("../train-session.js").Shown} Shown */

/** Steps of each gate; without one as many as the form says. */
const STEPS = { drift: 50, overfit: 150, bench: 1, none: 100 };

/** A step of this length is worth telling its progress. */
const SLOW_MS = 2000;

const WORDS = {
  queued: "WAITING",
  running: "TRAINING",
  judging: "JUDGING",
  pass: "PASS",
  fail: "FAIL",
  error: "ERROR",
  skip: "REFUSED",
  stopped: "STOPPED",
};

/** A training, step by step: figures, two curves, a table. */
export class TrainingProgress {
  #figures = byId("train-figures");
  #table = byId("train-table");
  #twinSample = byId("train-twin-sample");
  #chart = new LossChart(byId("train-chart"));
  #verdict;

  /** @param {(status: string, word: string, message: string) => void} verdict  says it */
  constructor(verdict) {
    this.#verdict = verdict;
  }

  /** @param {Shown} shown */
  draw(shown) {
    const { state, what, losses, twin, times, report, problem, progress } = shown;
    const steps = what.steps ?? STEPS[what.gate];
    const curves = curvesOf({ steps, losses, twin, gate: what.gate });
    const status = state === "done" ? outcome(shown) : state;
    const rate = stepsPerSecond(times);
    const speed = rate === null ? "–" : `${Number(rate.toPrecision(3))} steps/s`;
    const soFar = `step ${losses.length} of ${steps}, ${speed}`;
    const told = [report?.message ?? problem, ...(report?.warnings ?? [])].join(" ");
    this.#verdict(status, WORDS[status], state === "done" ? told : soFar);
    this.#figures.replaceChildren(
      ...figures([
        ["Training", `${what.preset}, ${gateName(what.gate)}, attention ${what.attention}`],
        ["Step", [`${losses.length} of ${steps}`, ...doing(progress, times)].join(" · ")],
        ["Loss", losses.length ? losses[losses.length - 1].toFixed(4) : "–"],
        ["NumPy", curves.compared ? lastOf(twin, steps) : "not part of this gate"],
        ["Apart", curves.worst ? `${formatPercent(curves.worst.value)} at most` : "–"],
        ["Speed", speed],
      ]),
    );
    this.#chart.show(curves);
    this.#twinSample.hidden = !curves.compared;
    this.#rows(losses, twin);
  }

  /**
   * The table beside the drawing: rows are only added, so that one can read on.
   *
   * @param {number[]} losses
   * @param {number[]} twin
   */
  #rows(losses, twin) {
    const rows = Math.max(losses.length, twin.length);
    const table = this.#table;
    while (table.children.length > rows) table.lastElementChild?.remove();
    // The last rows may lack a side that has come since.
    const from = Math.max(0, Math.min(table.children.length, losses.length, twin.length) - 100);
    for (let n = from; n < rows; n++) {
      const apart = n < losses.length && n < twin.length;
      const row = h(
        "tr",
        {},
        h("th", { scope: "row", class: "number" }, String(n + 1)),
        h("td", { class: "number" }, n < losses.length ? losses[n].toFixed(6) : "–"),
        h("td", { class: "number" }, n < twin.length ? twin[n].toFixed(6) : "–"),
        h(
          "td",
          { class: "number" },
          apart ? formatPercent(Math.abs(losses[n] - twin[n]) / twin[n]) : "–",
        ),
      );
      const before = table.children[n];
      if (before) before.replaceWith(row);
      else table.append(row);
    }
  }
}

/** @param {Shown} shown */
function outcome({ report, stopped }) {
  const status = report?.status ?? "error";
  return status === "error" && stopped ? "stopped" : status;
}

/** @param {string} gate */
function gateName(gate) {
  return { drift: "drift gate", overfit: "overfit gate", bench: "timing" }[gate] ?? "no gate";
}

/**
 * What is being done, where it takes long enough to be read.
 *
 * @param {import("../train-runner.js").TrainProgress | null} progress
 * @param {number[]} times
 */
function doing(progress, times) {
  if (progress === null) return [];
  if (progress.phase === "measure") return ["measuring the speed"];
  if (progress.phase === "prepare") return ["preparing"];
  const quick = times.length > 0 && times[times.length - 1] < SLOW_MS;
  return quick ? [] : [`${Math.round(100 * progress.done)} % of the next`];
}

/**
 * @param {number[]} twin
 * @param {number} steps
 */
function lastOf(twin, steps) {
  if (!twin.length) return "–";
  const at = twin.length < steps ? ` at step ${twin.length}` : "";
  return `${twin[twin.length - 1].toFixed(4)}${at}`;
}

/** @param {[string, string][]} facts */
function figures(facts) {
  return facts.map(([term, value]) => h("div", {}, h("dt", {}, term), h("dd", {}, value)));
}
