// @ts-check
import { formatTflops, formatTime, speedCurves } from "../speed-curves.js";
import { breakable, byId, h, showCase } from "./dom.js";
import { SpeedChart, styleOf } from "./speed-chart.js";
import { svg } from "./svg.js";

/** @typedef {import("../bench-session.js").Shown} Shown */
/** @typedef {import("../bench-session.js").BenchReport} BenchReport */

const WORDS = { fail: "wrong", vacuous: "vacuous", error: "error", skip: "refused" };
const PHASES = {
  prepare: "preparing",
  peaks: "measuring what the adapter can do",
  "warm-up": "warming up",
  samples: "timing",
  wall: "timing queued calls",
};

/** The section of the page that times: a button, curves, a table. */
export class SpeedView {
  #form = /** @type {HTMLFormElement} */ (byId("speed-form"));
  #start = /** @type {HTMLButtonElement} */ (byId("speed-start"));
  #stop = /** @type {HTMLButtonElement} */ (byId("speed-stop"));
  #case = byId("speed-case");
  #activity = byId("speed-activity");
  #announcer = byId("speed-announcer");
  #result = byId("speed-result");
  #legend = byId("speed-legend");
  #peaks = byId("speed-peaks");
  #lines = byId("speed-lines");
  #chart = new SpeedChart(byId("speed-chart"));
  #announced = 0;

  /** @param {{onStart: () => void, onStop: () => void}} listeners */
  constructor({ onStart, onStop }) {
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault(); // the CSP refuses form submission; it is asked for by fetch
      if (!this.#start.disabled) onStart();
    });
    this.#stop.addEventListener("click", onStop);
  }

  /**
   * @param {boolean} ready there is an adapter and a server
   * @param {boolean} busy  something is timed
   * @param {string} id     the case on show; "" if there is none
   */
  enable(ready, busy, id) {
    this.#start.disabled = !ready || busy || !id;
    this.#stop.disabled = !busy;
    showCase(this.#case, id);
  }

  /** @param {string} message why nothing was started */
  refused(message) {
    this.#say(`Not timed: ${message}`);
    this.#announcer.textContent = `Not timed: ${message}`;
  }

  /** @param {readonly Shown[]} all */
  show(all) {
    const over = all.filter(({ state }) => state === "done");
    const current = all.find(({ state }) => state !== "done");
    this.#say(current ? doing(current) : "");
    if (over.length === this.#announced) return;
    this.#announced = over.length;
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

  /** @param {string} text */
  #say(text) {
    this.#activity.textContent = text;
    this.#activity.hidden = !text;
  }
}

/** @param {Shown} shown */
function doing({ case: id, state, progress }) {
  if (state === "checking") return `${id}: judged first`;
  if (!progress) return `${id}: starting`;
  const { phase, done, total } = progress;
  const far = phase === "samples" || phase === "wall" ? `, ${done} of ${total}` : "";
  return `${id}: ${PHASES[phase]}${far}`;
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
