// @ts-check
import { inOrder } from "../diagnostics.js";
import { lineChange } from "../edit-buffers.js";
import { plural } from "../format.js";
import { changeOf } from "../report-change.js";
import { breakable, byId, h } from "./dom.js";

/** @typedef {import("../attention/index.js").Message} Message */
/** @typedef {import("../checks.js").Report} Report */

/** A shape beside each word, since colour never says it alone. */
const MARK = { error: "✗ error", warning: "! warning", info: "i info" };
const STATES = { shipped: "as on disk", edited: "✎ edited", contested: "✎ edited, saved since" };

/**
 * @typedef {object} Listeners
 * @property {(name: string) => void} onFile   a file was chosen
 * @property {(path: string) => void} onRevert
 * @property {() => void} onRun
 * @property {(message: Message) => void} onMessage  its place is asked for
 * @property {() => void} onTake  what was saved on disk replaces the edits
 * @property {() => void} onKeep  the edits stay
 * @property {() => void} onVisible  once: the section came into view
 */

/** Everything of the section but the editor itself. */
export class EditorPanel {
  #file = /** @type {HTMLSelectElement} */ (byId("kernel-file"));
  #state = byId("kernel-state");
  #revert = /** @type {HTMLButtonElement} */ (byId("kernel-revert"));
  #run = /** @type {HTMLButtonElement} */ (byId("kernel-run"));
  #contested = byId("kernel-contested");
  #says = byId("kernel-says");
  #messages = byId("kernel-messages");
  #rerun = /** @type {HTMLInputElement} */ (byId("kernel-rerun"));
  host = byId("kernel-editor");

  /** @param {Listeners} listeners */
  constructor(listeners) {
    this.listeners = listeners;
    const { onFile, onRevert, onRun, onTake, onKeep, onVisible } = listeners;
    this.#file.addEventListener("change", () => onFile(this.#file.value));
    this.#revert.addEventListener("click", () => onRevert(this.#file.value));
    this.#run.addEventListener("click", onRun);
    byId("kernel-take").addEventListener("click", onTake);
    byId("kernel-keep").addEventListener("click", onKeep);
    const seen = new IntersectionObserver((entries) => {
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
      seen.disconnect();
      onVisible();
    });
    seen.observe(byId("kernel"));
  }

  /** Whether a saved file makes the case on show run again. */
  get rerun() {
    return this.#rerun.checked;
  }

  /** @param {boolean} can something is there to be run, and nothing runs */
  enable(can) {
    this.#run.disabled = !can;
  }

  /**
   * What there is to choose from.
   *
   * @param {{used: readonly string[], all: readonly string[], own: readonly string[],
   *   edited: (path: string) => boolean}} files used: by the case on show; own: of other parts
   * @param {string} shown
   */
  files({ used, all, own, edited }, shown) {
    const option = (/** @type {string} */ path) =>
      h("option", { value: path }, `${path}${edited(path) ? " ✎" : ""}`);
    const group = (/** @type {string} */ label, /** @type {readonly string[]} */ paths) =>
      paths.length ? [h("optgroup", { label }, ...paths.map(option))] : [];
    const rest = all.filter((path) => !used.includes(path));
    const groups = [
      ...group("Yours", own),
      ...group("Used by the case on show", used),
      ...group(used.length ? "All other files" : "All files", rest),
    ];
    if (!shown) groups.unshift(h("option", { value: "" }, "none is open"));
    this.#file.replaceChildren(...groups);
    this.#file.value = shown;
    this.#file.disabled = !groups.length;
  }

  /**
   * The file on show.
   *
   * @param {"shipped" | "edited" | "contested" | "own"} state
   * @param {string} path
   */
  state(state, path) {
    this.#state.dataset.state = state;
    this.#state.textContent = state === "own" ? "" : STATES[state];
    this.#revert.disabled = state === "shipped" || state === "own";
    this.#contested.hidden = state !== "contested";
    if (state === "contested") byId("kernel-contested-file").textContent = path;
  }

  /** @param {string} text the state of affairs, in a sentence or two; it is also announced */
  say(text) {
    if (this.#says.textContent !== text) this.#says.textContent = text;
  }

  /** @param {readonly Message[]} messages */
  messages(messages) {
    const line = (/** @type {Message} */ message) => {
      const { type, file, line, column, text } = message;
      const place = line > 0 ? `${file}:${line}:${column}` : file;
      const button = h("button", { type: "button", class: "quiet small" }, place);
      button.addEventListener("click", () => this.listeners.onMessage(message));
      return h(
        "li",
        { "data-type": type },
        h("span", { class: "badge" }, MARK[type], " ", button),
        h("span", { class: "kernel-message-text" }, text),
      );
    };
    this.#messages.replaceChildren(...inOrder(messages).map(line));
  }

  /**
   * The files whose text is not the one on disk.
   *
   * @param {{path: string, disk: string, text: string}[]} edited
   */
  edits(edited) {
    byId("kernel-edits").hidden = edited.length === 0;
    const line = (/** @type {typeof edited[number]} */ { path, disk, text }) => {
      const { first, added, removed } = lineChange(disk, text);
      const open = h("button", { type: "button", class: "quiet small" }, path);
      open.addEventListener("click", () =>
        this.listeners.onMessage({
          ...{ type: "info", text: "", file: path, line: first, column: 1, length: 0 },
        }),
      );
      const back = h("button", { type: "button", class: "small" }, "Revert");
      back.setAttribute("aria-label", `Revert ${path}`);
      back.addEventListener("click", () => this.listeners.onRevert(path));
      const size = h("span", { class: "muted mono nowrap" }, `+${added} −${removed}`);
      size.title = `from line ${first}: ${plural(added, "line")} for ${plural(removed, "line")}`;
      return h("li", {}, open, size, back);
    };
    byId("kernel-edited").replaceChildren(...edited.map(line));
  }

  /**
   * A case before and after; null = there is nothing to compare.
   *
   * @param {{before: Report, now: Report} | null} change
   */
  change(change) {
    byId("kernel-change").hidden = change === null;
    if (!change) return;
    const { before, now } = change;
    const text = (/** @type {Report} */ { edited = [] }) =>
      edited.length ? `edited ${edited.join(", ")}` : "on disk";
    byId("kernel-change-case").replaceChildren(
      breakable(now.case),
      ` · before: ${text(before)} · now: ${text(now)}`,
    );
    const rows = changeOf(before, now).map(({ name, before, now, change, way }) =>
      h(
        "tr",
        {},
        h("th", { scope: "row" }, name),
        h("td", { class: "number" }, before),
        h("td", { class: "number" }, now),
        h("td", { class: "number", "data-way": way || null }, change || "–"),
      ),
    );
    byId("kernel-change-rows").replaceChildren(...rows);
  }
}
