// @ts-check
import { formatDuration, formatLoss, formatRatio, toNumber } from "../format.js";
import { curvesOf } from "../train-curves.js";
import { h } from "../ui/dom.js";
import { LossChart } from "../ui/loss-chart.js";
import { commonFacts, factList, textList } from "./facts.js";

/** @typedef {import("./report.js").Kept} Kept */
/** @typedef {number | string} Loss  a word where it is no number */

/**
 * What came of a training, as server/training_report.py tells it.
 *
 * @typedef {object} Trained
 * @property {string} preset
 * @property {{layers: number, C: number, T: number, B: number, H: number, D: number}} config
 * @property {string} gate
 * @property {string} attention
 * @property {string} seed
 * @property {number} steps  that were asked for
 * @property {Loss[]} losses
 * @property {Loss[]} twin   of NumPy
 * @property {number | null} worst_step
 * @property {number | null} steps_per_s
 * @property {string[]} kernels
 * @property {number} size_bytes
 * @property {string[]} [warnings]  not in what was kept before there were any
 */

/**
 * A training: its losses as a curve, and what it was.
 *
 * @param {Kept} kept
 * @returns {(Node | null)[]}
 */
export function trainingParts(kept) {
  const report = /** @type {Trained} */ (/** @type {unknown} */ (kept.report));
  const { config, gate, losses } = report;
  const step = report.worst_step ? `, at step ${report.worst_step}` : "";
  return [
    losses.length > 1 ? drawn(report) : null,
    factList([
      ...commonFacts({ ...kept, kernel: `attention ${report.attention}` }),
      ["Preset", `${report.preset}: ${model(config)}`],
      ["Gate", `${gate}, seed ${report.seed}`],
      ["Steps", `${losses.length} of ${report.steps}`],
      ["Last loss", losses.length ? formatLoss(losses[losses.length - 1]) : ""],
      ["Worst / allowed", kept.worst === null ? "" : `${formatRatio(kept.worst)}${step}`],
      ["A step", kept.median_ns === null ? "" : `${formatDuration(kept.median_ns)} (median)`],
      ["Steps a second", report.steps_per_s ? report.steps_per_s.toPrecision(3) : ""],
      ["Kernels", report.kernels.join(", ")],
      ["Buffers", report.size_bytes ? `${(report.size_bytes / 1e6).toFixed(1)} MB` : ""],
      ["Warning", (report.warnings ?? []).join(" ")],
      ["Again", command(report)],
    ]),
    textList(kept),
  ];
}

/** @param {Trained} report */
function drawn({ steps, losses, twin, gate }) {
  const numbers = (/** @type {Loss[]} */ values) => values.map((value) => Number(toNumber(value)));
  const place = h("div", { class: "chart train-chart" });
  new LossChart(place).show(
    curvesOf({ steps, losses: numbers(losses), twin: numbers(twin), gate }),
  );
  const both = gate === "drift" ? "Thin: the page. Wide: NumPy with the same weights." : "";
  return h("figure", {}, h("h3", {}, "Losses"), place, both && h("p", { class: "hint" }, both));
}

/** @param {Trained["config"]} config */
function model({ layers, C, T, B, H, D }) {
  return `${layers} blocks, C ${C}, context ${T}, batch ${B}, ${H} heads of ${D}`;
}

/** What trains the same on a terminal. @param {Trained} report */
function command({ preset, gate, attention, seed, steps, config }) {
  const asked = gate === "bench" ? "--bench" : `--gate ${gate}`;
  const own = gate === "bench" || gate === "none" ? ` --steps ${steps}` : "";
  const rest = `--attention ${attention} --context ${config.T} --seed ${seed}`;
  return `fa2 train ${asked} --preset ${preset}${own} ${rest}`;
}
