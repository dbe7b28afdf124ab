// @ts-check
import { checksOf, STATUS_WORD } from "../checks.js";
import { toNumber } from "../format.js";
import { sentenceOf } from "../sentence.js";
import { Anatomy } from "./anatomy.js";
import { downloads } from "./anatomy-downloads.js";
import { circumstances, figures } from "./detail-figures.js";
import { breakable, byId, h } from "./dom.js";
import { HeatMap } from "./heatmap.js";
import { shareMenu } from "./share.js";

/** @typedef {import("../checks.js").Entry} Entry */
/** @typedef {import("../checks.js").Report} Report */
/** @typedef {import("./heatmap.js").Wanted} Wanted */
/** @typedef {{entry: Entry, report: Report | null, check: string, output: string}} Shown */

/**
 * One check in full: the sentence, where the error lies, what the judge said, and its arrays.
 */
export class Detail {
  #title = byId("detail-title");
  #body = byId("detail-body");
  /** @type {Shown | null} */
  #shown = null;
  #heatmap = new HeatMap((wanted) => this.#fetchHead(wanted));
  #anatomy = new Anatomy({
    onHead: (b, head) => this.#fetchHead({ b, h: head }),
    onElement: (worst) => this.#goTo(worst),
  });
  #suspects = h("p", { class: "suspects", "aria-live": "polite" });
  /** Counts the requests: an answer that is late for what is shown now is dropped. */
  #request = { head: 0, output: 0 };
  #transport;

  /** @param {import("../transport.js").Transport} transport */
  constructor(transport) {
    this.#transport = transport;
  }

  /** The entry on show. */
  get entry() {
    return this.#shown?.entry ?? null;
  }

  /** Back to nothing. */
  clear() {
    this.#show(null);
    this.#title.textContent = "Check";
    this.#body.replaceChildren(
      h(
        "p",
        { class: "empty" },
        "Choose a line: where its error lies and what the judge said appear here.",
      ),
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
    const same = this.#shown?.entry === entry && this.#shown.check === name;
    if (same && report && this.#shown?.report === report) return;
    this.#show({ entry, report, check: name, output: worstOutput(report, judged) });
    this.#title.replaceChildren(
      h("span", { class: "badge", "data-status": check.status }, STATUS_WORD[check.status]),
      " ",
      h("code", {}, check.outputs.join(", ")),
      " ",
      h("code", { class: "case-id" }, breakable(entry.case)),
    );
    const parts = [];
    if (report) parts.push(sentence(sentenceOf(report, check.outputs), check.status));
    this.#suspects.textContent = "";
    if (report?.status === "fail" && judged.length) parts.push(this.#suspects);
    if (judged.length) {
      parts.push(this.#outputChoice(judged), this.#anatomy.above, this.#heatmap.element);
      parts.push(this.#anatomy.below);
    }
    const text = report?.message || problem;
    if (text) parts.push(h("pre", { class: "message", "data-status": check.status }, text));
    if (report && judged.length) parts.push(figures(report, judged), this.#downloads(entry.run));
    if (report) parts.push(shareMenu(entry), circumstances(report));
    if (!parts.length) parts.push(h("p", { class: "empty" }, "This case has not been run."));
    this.#body.replaceChildren(...parts);
    this.#body.ariaBusy = String(judged.length > 0);
    if (judged.length) this.#fetchOutput();
  }

  /** @param {Shown | null} shown */
  #show(shown) {
    this.#shown = shown;
    this.#request.head += 1;
    this.#request.output += 1;
  }

  /**
   * Which of the check's outputs is looked at.
   *
   * @param {string[]} outputs
   */
  #outputChoice(outputs) {
    const choices = outputs.map((output) => {
      const radio = h("input", {
        type: "radio",
        name: "detail-output",
        value: output,
        checked: output === this.#shown?.output,
      });
      radio.addEventListener("change", () => {
        if (this.#shown) this.#show({ ...this.#shown, output });
        this.#fetchOutput();
      });
      return h("label", {}, radio, h("span", {}, output));
    });
    return h(
      "fieldset",
      { class: "segmented", hidden: outputs.length < 2 },
      h("legend", {}, "Output"),
      ...choices,
    );
  }

  /** @param {string} run */
  #downloads(run) {
    const list = h("div", { class: "downloads" });
    const details = h("details", {}, h("summary", {}, "Download the arrays"), list);
    details.addEventListener("toggle", async () => {
      if (!details.open || list.childElementCount) return;
      try {
        list.replaceChildren(
          ...downloads(run, await this.#transport.get(`/api/runs/${run}/arrays`)),
        );
      } catch (error) {
        list.textContent = error instanceof Error ? error.message : String(error);
      }
    });
    return details;
  }

  /** The output from its worst head on, then all of it. */
  async #fetchOutput() {
    if (!this.#shown) return;
    const { entry, output } = this.#shown;
    const request = ++this.#request.output;
    const late = () => request !== this.#request.output;
    this.#suspects.textContent = "";
    await this.#fetchHead({});
    if (late()) return;
    try {
      const found = await this.#transport.get(`/api/runs/${entry.run}/anatomy/${output}`);
      if (late()) return;
      this.#anatomy.show(found);
      this.#mark();
      if (found.wrong && entry.report?.finding?.check === "bounded") {
        this.#suspects.textContent = "Comparing with known mistakes …";
        const suspects = await this.#transport.get(`/api/runs/${entry.run}/suspects/${output}`);
        if (!late()) this.#suspects.textContent = looks(output, suspects);
      }
    } catch (error) {
      if (!late()) this.#anatomy.fail(error);
    }
    if (!late()) this.#body.ariaBusy = "false";
  }

  /** @param {Partial<Wanted>} wanted  what it leaves open is that of the worst element */
  async #fetchHead(wanted) {
    if (!this.#shown) return;
    const { entry, output } = this.#shown;
    const request = ++this.#request.head;
    const query = Object.fromEntries(
      Object.entries(wanted).map(([key, value]) => [key, String(value)]),
    );
    try {
      const file = await this.#transport.fetchHeatMap(entry.run, output, query);
      if (request !== this.#request.head) return;
      this.#heatmap.show(output, file);
      this.#mark();
    } catch (error) {
      if (request === this.#request.head) this.#heatmap.fail(error);
    }
  }

  #mark() {
    const head = this.#heatmap.head;
    if (head) this.#anatomy.mark(head.b, head.h);
  }

  /** @param {import("./anatomy-numbers.js").Worst} worst */
  async #goTo({ index }) {
    const { b, h: head } = this.#heatmap.head ?? { b: -1, h: -1 };
    const wanted = { b: index.b, h: index.h ?? index.hkv };
    if (b !== wanted.b || head !== wanted.h) await this.#fetchHead(wanted);
    const [row, column = 0] = ["i", "j", "d"].flatMap((axis) => index[axis] ?? []);
    this.#heatmap.goTo(row, column);
  }
}

/**
 * @param {string} text
 * @param {string} status
 */
function sentence(text, status) {
  return h("p", { class: "sentence", "data-status": status }, text);
}

/**
 * @param {string} output
 * @param {string[]} suspects
 */
function looks(output, suspects) {
  if (!suspects.length) return `${output} looks like none of the mistakes that this page knows.`;
  const [first] = suspects;
  if (!first.startsWith("as if")) return `In ${output}, ${first}.`;
  return `${output} looks ${suspects.join(", or ")}.`;
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
