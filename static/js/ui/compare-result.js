// @ts-check
import { STATUS_MARK, STATUS_WORD } from "../checks.js";
import { formatSpan, rowsOf, sentenceOf, spanOf, timeRatio } from "../comparison.js";
import { formatTime } from "../speed-curves.js";
import { CompareChart } from "./compare-chart.js";
import { breakable, byId, h } from "./dom.js";

/** @typedef {import("../compare-session.js").Comparison} Comparison */
/** @typedef {import("../compare-session.js").SideState} SideState */

/** What came of two kernels on one case: their verdicts, errors and times side by side. */
export class CompareResult {
  #result = byId("compare-result");
  #sides = byId("compare-sides");
  #rows = byId("compare-rows");
  #chart = new CompareChart(byId("compare-chart"));
  #onShow;

  /** @param {(run: string) => void} onShow  the check of a side is wanted */
  constructor(onShow) {
    this.#onShow = onShow;
  }

  /**
   * @param {Comparison} shown
   * @returns {string} the same in a sentence
   */
  show(shown) {
    const [a, b] = shown.sides;
    if (a.report) this.#draw(shown, a, b); // what was compared before stays until then
    return sentenceOf(shown);
  }

  /**
   * @param {Comparison} shown
   * @param {SideState} a
   * @param {SideState} b
   */
  #draw(shown, a, b) {
    this.#result.hidden = false;
    this.#sides.replaceChildren(...shown.sides.map((side, n) => this.#side("AB"[n], side)));
    const rows = rowsOf(a.report, b.report, shown.outputs);
    const cells = (/** @type {string[]} */ ...texts) =>
      texts.map((text) => h("td", { class: "number" }, text));
    this.#rows.replaceChildren(
      ...rows.map(({ name, ...row }) =>
        h(
          "tr",
          {},
          h("th", { scope: "row" }, name),
          ...cells(row.a, row.b, row.factor, row.bad, row.maxAbs, row.ulp, row.differ),
        ),
      ),
      timeRow(a, b, cells),
    );
    this.#chart.show(shown);
  }

  /**
   * @param {string} letter
   * @param {SideState} side
   */
  #side(letter, { label, notes, run, report }) {
    const status = report?.status ?? "queued";
    const mark = STATUS_MARK[report?.status ?? "queued"];
    const kernel = report && !label.includes(report.kernel) ? ` (${report.kernel})` : "";
    const where = h("button", { type: "button", class: "small quiet" }, "Show the check");
    where.addEventListener("click", () => this.#onShow(run));
    return h(
      "li",
      { "data-status": status },
      h(
        "p",
        { class: "row" },
        h("strong", {}, `${letter} = `, breakable(label), kernel),
        h(
          "span",
          { class: "badge" },
          h("span", { class: "mark", "aria-hidden": "true" }, mark),
          report ? STATUS_WORD[report.status] : "not yet",
        ),
        report ? where : null,
      ),
      ...notes.map((text) => h("p", { class: "hint" }, text)),
      report && report.status !== "pass"
        ? h("pre", { class: "message" }, report.message.split("\n").slice(0, 4).join("\n"))
        : null,
    );
  }
}

/**
 * @param {SideState} a
 * @param {SideState} b
 * @param {(...texts: string[]) => HTMLElement[]} cells
 */
function timeRow(a, b, cells) {
  const spans = [spanOf(a.benches), spanOf(b.benches)];
  const texts = [a, b].map((side, n) => timeText(side, spans[n]));
  const ratio = formatSpan(timeRatio(spans[0], spans[1]));
  const factor = h("td", { colspan: 5, class: "compare-ratio" }, ratio);
  return h("tr", {}, h("th", { scope: "row" }, "time"), ...cells(...texts), factor);
}

/**
 * @param {SideState} side
 * @param {import("../comparison.js").Span | null} span
 */
function timeText({ report, benches }, span) {
  if (span) return formatTime(span.median);
  if (report && report.status !== "pass") return "not timed";
  const last = benches[benches.length - 1];
  if (!last) return "–";
  return last.status === "timed" ? "below resolution" : String(last.status);
}
