// @ts-check
import { checksOf, STATUS_WORD } from "../checks.js";
import { toNumber } from "../format.js";
import { lazy, loaded } from "../lazy.js";
import { sentenceOf } from "../sentence.js";
import { downloads } from "./anatomy-downloads.js";
import { circumstances, figures } from "./detail-figures.js";
import { breakable, byId, h } from "./dom.js";
import { shareMenu } from "./share.js";

/** @typedef {import("../checks.js").Entry} Entry */
/** @typedef {import("../checks.js").Report} Report */
/** @typedef {{entry: Entry, report: Report | null, check: string, output: string}} Shown */

/**
 * One check in full: the sentence, where the error lies, what the judge said, and its arrays.
 */
export class Detail {
  #title = byId("detail-title");
  #body = byId("detail-body");
  /** @type {Shown | null} */
  #shown = null;
  #suspects = h("p", { class: "suspects", "aria-live": "polite" });
  /** Of `Where`, which is loaded for the first check that was judged. */
  #place = h("div", { class: "where" });
  #where = lazy(async () => {
    const { Where } = await loaded("the heat map", import("./where.js"));
    const where = new Where(this.#transport, (text) => {
      this.#suspects.textContent = text;
    });
    this.#place.replaceChildren(...where.elements);
    this.#loaded = where;
    return where;
  });
  /** @type {import("./where.js").Where | null} */
  #loaded = null;
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
      parts.push(this.#outputChoice(judged), this.#place);
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
    this.#loaded?.leave();
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

  async #fetchOutput() {
    const shown = this.#shown;
    if (!shown) return;
    const { entry, report, output } = shown;
    this.#suspects.textContent = "";
    try {
      const where = await this.#where();
      if (shown !== this.#shown) return;
      const compares = report?.finding?.check === "bounded";
      await where.show({ run: entry.run, output, compares });
    } catch (error) {
      this.#place.textContent = `Not shown: ${error instanceof Error ? error.message : error}`;
    }
    if (shown === this.#shown) this.#body.ariaBusy = "false";
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
