// @ts-check
import { AXES, checksOf, STATUS_WORD } from "../checks.js";
import { formatDuration, formatRatio, formatTolerance, formatValue, toNumber } from "../format.js";
import { breakable, byId, h } from "./dom.js";
import { HeatMap } from "./heatmap.js";

/** @typedef {import("../checks.js").Entry} Entry */
/** @typedef {import("../checks.js").Report} Report */

/** One check in full: its figures, what the judge said, and where the error lies. */
export class Detail {
  #title = byId("detail-title");
  #body = byId("detail-body");
  /** @type {{entry: Entry, check: string, output: string} | null} */
  #shown = null;
  #heatmap = new HeatMap((b, head) => this.#fetch({ b: String(b), h: String(head) }));
  /** Counts the requests: an answer that is late for the output shown now is dropped. */
  #request = 0;

  /** @param {(run: string, output: string, head: Record<string, string>) => Promise<ArrayBuffer>} fetchHeatMap */
  constructor(fetchHeatMap) {
    this.fetchHeatMap = fetchHeatMap;
  }

  /** The entry on show. */
  get entry() {
    return this.#shown?.entry ?? null;
  }

  /** Back to nothing. */
  clear() {
    this.#shown = null;
    this.#request += 1;
    this.#title.textContent = "Check";
    this.#body.replaceChildren(
      hint("Choose a line: where its error lies and what the judge said appear here."),
    );
  }

  /** The same check again, of an entry that has changed. */
  refresh() {
    if (this.#shown) this.show(this.#shown.entry, this.#shown.check);
  }

  /**
   * @param {Entry} entry
   * @param {string} name of the check
   */
  show(entry, name) {
    const check = checksOf(entry).find((other) => other.name === name);
    if (!check) return;
    const { report, problem } = entry;
    const judged = check.outputs.filter((output) => report?.outputs[output]);
    this.#shown = { entry, check: name, output: worstOutput(report, judged) };
    this.#request += 1;
    this.#title.replaceChildren(
      h("span", { class: "badge", "data-status": check.status }, STATUS_WORD[check.status]),
      " ",
      h("code", {}, check.outputs.join(", ")),
      " ",
      h("code", { class: "case-id" }, breakable(entry.case)),
    );
    const text = report?.message || problem;
    const parts = [];
    if (text) parts.push(message(text, check.status));
    if (report && judged.length) parts.push(figures(report, judged), this.#outputChoice(judged));
    if (judged.length) parts.push(this.#heatmap.element);
    if (report) parts.push(circumstances(report));
    if (!parts.length) parts.push(hint("This case has not been run."));
    this.#body.replaceChildren(...parts);
    if (judged.length) this.#fetch({});
  }

  /**
   * Which of the check's outputs the heat map shows.
   *
   * @param {string[]} outputs
   */
  #outputChoice(outputs) {
    const radios = outputs.map((output) => {
      const radio = h("input", {
        type: "radio",
        name: "heatmap-output",
        checked: output === this.#shown?.output,
      });
      radio.addEventListener("change", () => {
        if (this.#shown) this.#shown.output = output;
        this.#fetch({});
      });
      return h("label", {}, radio, ` ${output}`);
    });
    return h(
      "fieldset",
      { class: "choice", hidden: outputs.length < 2 },
      h("legend", {}, "Heat map of"),
      ...radios,
    );
  }

  /** @param {Record<string, string>} head batch and head; {} = those of the worst element */
  async #fetch(head) {
    if (!this.#shown) return;
    const { entry, output } = this.#shown;
    const request = ++this.#request;
    try {
      const file = await this.fetchHeatMap(entry.run, output, head);
      if (request === this.#request) this.#heatmap.show(output, file);
    } catch (error) {
      if (request === this.#request) this.#heatmap.fail(error);
    }
  }
}

/** @param {string} text */
function hint(text) {
  return h("p", { class: "hint" }, text);
}

/**
 * @param {string} text
 * @param {string} status
 */
function message(text, status) {
  return h("pre", { class: "message", "data-status": status }, text);
}

/**
 * The output to look at first.
 *
 * @param {Report | null} report
 * @param {string[]} outputs
 */
function worstOutput(report, outputs) {
  const ratio = (/** @type {string} */ output) => {
    const r = toNumber(report?.outputs[output].worst_ratio) ?? -1;
    return Number.isNaN(r) ? Infinity : r;
  };
  return outputs.reduce(
    (best, output) => (ratio(output) > ratio(best) ? output : best),
    outputs[0],
  );
}

/**
 * The numbers of the outputs, a row each.
 *
 * @param {Report} report
 * @param {string[]} outputs
 */
function figures(report, outputs) {
  const heads = [
    "Output",
    "Worst",
    "Over limit",
    "NaN, inf",
    "Worst at",
    "Actual",
    "Expected",
    "Allowed",
  ];
  const row = (/** @type {string} */ output) => {
    const { worst_ratio, worst, bad, total, nan, inf } = report.outputs[output];
    const cells = [
      formatRatio(worst_ratio),
      `${bad} / ${total}`,
      `${nan}, ${inf}`,
      worst ? worst.index.map((n, axis) => `${AXES[output][axis]}=${n}`).join(" ") : "–",
      formatValue(worst?.actual),
      formatValue(worst?.expected),
      worst ? `±${formatTolerance(worst.allowed)}` : "–",
    ];
    return h(
      "tr",
      { "data-status": bad > 0 ? "fail" : null },
      h("th", { scope: "row" }, output),
      ...cells.map((text) => h("td", { class: "number" }, text)),
    );
  };
  return h(
    "div",
    { class: "scroll", tabindex: 0, role: "group", "aria-label": "Figures of the outputs" },
    h(
      "table",
      { class: "figures" },
      h("thead", {}, h("tr", {}, ...heads.map((head) => h("th", { scope: "col" }, head)))),
      h("tbody", {}, ...outputs.map(row)),
    ),
  );
}

/**
 * What the run was made of, the same for all its outputs.
 *
 * @param {Report} report
 */
function circumstances(report) {
  const facts = /** @type {[string, string][]} */ ([
    ["Kernel", report.kernel],
    ["Time on the page", formatDuration(report.elapsed_ns)],
    ["Compiled in", formatDuration(report.compile_ns)],
    ["First result after", formatDuration(report.first_result_ns)],
    ["κ", String(report.kappa)],
    ["Inputs SHA-256", report.input_sha256],
    ["Shader SHA-256", report.shader_sha256],
    ...Object.entries(report.controls).map(([name, result]) => [`Control ${name}`, said(result)]),
    ...report.warnings.map((warning) => ["Warning", warning]),
  ]).filter(([, text]) => text);
  return h("details", { class: "circumstances" }, h("summary", {}, "Circumstances"), list(facts));
}

/** @param {[string, string][]} facts */
function list(facts) {
  return h(
    "dl",
    { class: "facts" },
    ...facts.map(([term, text]) => h("div", {}, h("dt", {}, term), h("dd", {}, text))),
  );
}

/**
 * What a negative control showed: a wrong answer that the bounds must tell from the right one.
 *
 * @param {Report["controls"][string]} control
 */
function said({ changes, caught, ratio }) {
  if (!changes) return "changes nothing in this case";
  return `${caught ? "caught" : "NOT caught"}, ${formatRatio(ratio)} times the bound`;
}
