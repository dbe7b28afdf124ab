// @ts-check
import { formatTflops, formatTime, speedCurves } from "../speed-curves.js";
import { breakable, byId, h } from "./dom.js";
import { SpeedChart, styleOf } from "./speed-chart.js";
import { svg } from "./svg.js";

/** @typedef {import("../bench-session.js").Shown} Shown */
/** @typedef {import("../bench-session.js").BenchReport} BenchReport */

const WORDS = { fail: "wrong", vacuous: "vacuous", error: "error", skip: "refused" };

/** What was timed: curves and a table. */
export class SpeedResult {
  #announcer = byId("speed-announcer");
  #result = byId("speed-result");
  #legend = byId("speed-legend");
  #peaks = byId("speed-peaks");
  #lines = byId("speed-lines");
  #chart = new SpeedChart(byId("speed-chart"));
  #shown = 0;

  /** @param {readonly Shown[]} over  benchmarks that are finished, the newest last */
  show(over) {
    if (over.length === this.#shown) return;
    this.#shown = over.length;
    const last = over[over.length - 1];
    this.#announcer.textContent = `${last.case}: ${spoken(last)}`;
    const reports = over.flatMap(({ report }) => report ?? []);
    const curves = speedCurves(reports);
    this.#result.hidden = false;
    this.#chart.show(curves);
    this.#legend.replaceChildren(
      ...curves.series.map(({ name, backward }, n) => sample(name, styleOf(n, backward))),
    );
    this.#peaks.textContent = peaksText(reports);
    this.#lines.replaceChildren(...over.map(row).reverse());
  }
}

/** @param {Shown} shown */
function spoken({ report, problem }) {
  if (!report) return problem;
  return report.status === "timed"
    ? `${formatTime(report.median_ns)}, ${formatTflops(report.tflops)} TFLOP/s`
    : (report.message ?? "");
}

/**
 * @param {string} name
 * @param {string} style
 */
function sample(name, style) {
  const picture = svg("svg", { width: 28, height: 10, "aria-hidden": "true" });
  picture.append(
    svg("path", { class: style, d: "M1 5H27" }),
    svg("circle", { class: style, cx: 14, cy: 5, r: 3.5 }),
  );
  return h("li", { class: "sample" }, picture, h("span", {}, breakable(name)));
}

/** @param {readonly BenchReport[]} reports */
function peaksText(reports) {
  const found = reports.findLast(({ peaks }) => peaks)?.peaks;
  if (!found) return "";
  const matrices = found.f16_matrix_tflops;
  const parts = [
    `f32 multiply-adds ${formatTflops(found.f32_tflops)} TFLOP/s`,
    ...(matrices ? [`f16 matrices ${formatTflops(matrices)} TFLOP/s`] : []),
    `copying ${Number(found.copy_gbps.toPrecision(3))} GB/s`,
  ];
  return `Peaks measured here: ${parts.join(", ")}.`;
}

/** @param {Shown} shown */
function row({ case: id, report, problem }) {
  const kernel = report?.status === "timed" ? (report.kernel ?? "") : "";
  const name = h("th", { scope: "row" }, breakable(id), h("span", { class: "hint" }, kernel));
  const numbers = (/** @type {string[]} */ ...texts) =>
    texts.map((one) => h("td", { class: "number" }, one));
  if (report?.status !== "timed") {
    const word = report?.status ? `${WORDS[report.status]}: ` : "";
    const why = `${word}${(report?.message ?? problem).split("\n")[0]}`;
    return h("tr", {}, name, h("td", { colspan: 5, class: "speed-untimed" }, why));
  }
  const { median_ns, p20_ns, p80_ns, wall_ns, tflops, share_of_peak } = report;
  const clock = report.clock === "wall" ? " (wall)" : "";
  const median = median_ns ? `${formatTime(median_ns)}${clock}` : "below resolution";
  const doubts = report.warnings?.length ? report.warnings.join(" ") : null;
  return h(
    "tr",
    { title: doubts, "data-doubt": doubts !== null },
    name,
    ...numbers(
      `${median}${doubts ? " *" : ""}`,
      p20_ns && p80_ns ? `${formatTime(p20_ns)} – ${formatTime(p80_ns)}` : "–",
      formatTime(wall_ns),
      formatTflops(tflops),
      share_of_peak ? `${Number((100 * share_of_peak).toPrecision(3))} %` : "–",
    ),
  );
}
