// @ts-check
import { STATUS_MARK, STATUS_WORD } from "../checks.js";
import { formatSpan, rowsOf, spanOf, threeDigits, timeRatio } from "../comparison.js";
import { formatTime } from "../speed-curves.js";
import { CompareChart } from "./compare-chart.js";
import { breakable, byId, h, showCase } from "./dom.js";

/** @typedef {import("../compare-session.js").Comparison} Comparison */
/** @typedef {import("../compare-session.js").SideState} SideState */
/** @typedef {import("../compare-sides.js").Group} Group */

/** The section of the page that sets two kernels against each other. */
export class CompareView {
  #form = /** @type {HTMLFormElement} */ (byId("compare-form"));
  #selects = ["compare-a", "compare-b"].map((id) => /** @type {HTMLSelectElement} */ (byId(id)));
  #timed = /** @type {HTMLInputElement} */ (byId("compare-timed"));
  #start = /** @type {HTMLButtonElement} */ (byId("compare-start"));
  #stop = /** @type {HTMLButtonElement} */ (byId("compare-stop"));
  #case = byId("compare-case");
  #says = byId("compare-says");
  #result = byId("compare-result");
  #sides = byId("compare-sides");
  #rows = byId("compare-rows");
  #chart = new CompareChart(byId("compare-chart"));
  #offered = "";
  #onShow;

  /** @param {{onStart: () => void, onStop: () => void, onShow: (run: string) => void}} listeners */
  constructor({ onStart, onStop, onShow }) {
    this.#onShow = onShow;
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault(); // the CSP refuses form submission; it is asked for by fetch
      if (!this.#start.disabled) onStart();
    });
    this.#stop.addEventListener("click", onStop);
  }

  /** @returns {[string, string]} the values of A and B */
  get chosen() {
    return [this.#selects[0].value, this.#selects[1].value];
  }

  get timed() {
    return this.#timed.checked;
  }

  /**
   * @param {Group[]} groups
   * @param {[string, string]} first  what is chosen before anybody chose
   */
  offer(groups, first) {
    const offered = JSON.stringify(groups);
    // A list that is open would close, and a choice that is being made would be lost.
    if (offered === this.#offered || this.#selects.some((one) => one === document.activeElement)) {
      return;
    }
    const chosen = this.#offered ? this.chosen : first;
    this.#offered = offered;
    for (const [n, select] of this.#selects.entries()) {
      select.replaceChildren(
        ...groups.map(({ label, options }) =>
          h(
            "optgroup",
            { label },
            ...options.map(({ value, label: text, disabled }) =>
              h("option", { value, disabled: Boolean(disabled) }, text),
            ),
          ),
        ),
      );
      const option = [...select.options].find(({ value }) => value === chosen[n]);
      if (option && !option.disabled) select.value = chosen[n];
    }
  }

  /**
   * @param {boolean} ready there is an adapter and a server
   * @param {boolean} busy  something is compared
   * @param {string} id     the case on show; "" if there is none
   */
  enable(ready, busy, id) {
    this.#start.disabled = !ready || busy || !id;
    this.#stop.disabled = !busy;
    showCase(this.#case, id);
  }

  /** @param {string} text */
  say(text) {
    if (this.#says.textContent !== text) this.#says.textContent = text;
  }

  /** @param {Comparison} shown */
  show(shown) {
    const [a, b] = shown.sides;
    this.say(sentence(shown));
    if (!a.report) return; // what was compared before stays until there is something new
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

/** @param {Comparison} shown */
function sentence(shown) {
  if (shown.doing) return `Running: ${shown.doing}.`;
  if (shown.problem) return `Ended early: ${shown.problem}`;
  const [a, b] = shown.sides;
  const parts = [];
  const outputs = Object.values(shown.outputs);
  if (shown.apart) parts.push(shown.apart);
  else if (outputs.length && outputs.every((one) => one.bit_equal))
    parts.push("The results are bit-equal");
  const ratio = timeRatio(spanOf(a.benches), spanOf(b.benches));
  if (ratio) parts.push(`A takes ${threeDigits(ratio.median)} times as long as B`);
  const wrong = [a, b].flatMap((side, n) => (side.report?.status === "pass" ? [] : "AB"[n]));
  if (wrong.length)
    parts.push(`${wrong.join(" and ")} ${wrong.length > 1 ? "are" : "is"} not right`);
  return `${shown.case}: ${parts.length ? parts.join(". ") : "both are right"}.`;
}
