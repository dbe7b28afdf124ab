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
 * @property {() => void} onChanges  what differs from disk is to be shown, or no longer
 * @property {() => void} onVisible  once: the section came into view, or was asked for
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
  #changes = /** @type {HTMLInputElement} */ (byId("kernel-changes"));
  #main = /** @type {HTMLElement} */ (document.querySelector("main"));
  #listed = "";
  #told = "";
  #edited = "";
  /** @type {Report | null} */
  #compared = null;
  host = byId("kernel-editor");

  /** @param {Listeners} listeners */
  constructor(listeners) {
    this.listeners = listeners;
    const { onFile, onRevert, onRun, onTake, onKeep, onChanges, onVisible } = listeners;
    this.#file.addEventListener("change", () => onFile(this.#file.value));
    this.#revert.addEventListener("click", () => onRevert(this.#file.value));
    this.#run.addEventListener("click", onRun);
    this.#changes.addEventListener("change", onChanges);
    byId("kernel-take").addEventListener("click", onTake);
    byId("kernel-keep").addEventListener("click", onKeep);
    const section = byId("kernel");
    const wanted = () => {
      seen.disconnect();
      section.removeEventListener("focusin", wanted); // else the first key would load it again
      onVisible();
    };
    const seen = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) wanted();
    });
    seen.observe(this.host);
    // Its link was followed: what is above may have grown meanwhile, and have pushed it out of view.
    section.addEventListener("focusin", wanted);
  }

  /** Whether a saved file makes the case on show run again. */
  get rerun() {
    return this.#rerun.checked;
  }

  /** @param {boolean} can something is there to be run, and nothing runs */
  enable(can) {
    this.#run.disabled = !can;
  }

  /** What differs from disk is to be shown in the text. */
  get changes() {
    return this.#changes.checked;
  }

  /**
   * Everything but what the compiler says.
   *
   * @param {object} now
   * @param {import("../edit-buffers.js").EditBuffers} now.buffers
   * @param {readonly string[]} now.used  files of the case on show
   * @param {readonly string[]} now.all
   * @param {readonly string[]} now.own   texts of other parts
   * @param {string} now.shown            what the editor holds
   * @param {boolean} now.stale           the results on show are of an earlier text
   * @param {{before: Report, now: Report} | null} now.change
   * @param {boolean} now.runnable
   */
  draw({ buffers, used, all, own, shown, stale, change, runnable }) {
    const edited = Object.keys(buffers.edited());
    this.#files(used, all, own, edited, shown);
    this.#stateOf(buffers, shown);
    this.#edits(edited.map((path) => [path, buffers.disk(path), buffers.text(path)]));
    this.#compare(change);
    this.enable(runnable);
    this.#main.toggleAttribute("data-stale", stale);
    this.#main.toggleAttribute("data-edited", edited.length > 0);
  }

  /**
   * What there is to choose from; the list is touched only when it is another one.
   *
   * @param {readonly string[]} used
   * @param {readonly string[]} all
   * @param {readonly string[]} own
   * @param {readonly string[]} edited
   * @param {string} shown
   */
  #files(used, all, own, edited, shown) {
    const key = JSON.stringify([used, all, own, edited, shown]);
    if (key === this.#listed) return;
    this.#listed = key;
    const option = (/** @type {string} */ path) =>
      h("option", { value: path }, `${path}${edited.includes(path) ? " ✎" : ""}`);
    const group = (/** @type {string} */ label, /** @type {readonly string[]} */ paths) =>
      paths.length ? [h("optgroup", { label }, ...paths.map(option))] : [];
    const known = new Set([...all, ...edited, ...(shown && !own.includes(shown) ? [shown] : [])]);
    const rest = [...known].filter((path) => !used.includes(path)).sort();
    const groups = [
      ...group("Yours", own),
      ...group("Used by the case on show", used),
      ...group(used.length ? "All other files" : "All files", rest),
    ];
    if (!shown) groups.unshift(h("option", { value: "" }, "none is open"));
    this.#file.replaceChildren(...groups);
    this.#file.value = shown;
    this.#file.disabled = !own.length && !used.length && !rest.length;
  }

  /**
   * @param {import("../edit-buffers.js").EditBuffers} buffers
   * @param {string} shown
   */
  #stateOf(buffers, shown) {
    const contested = buffers.isContested(shown);
    const state = contested ? "contested" : buffers.isEdited(shown) ? "edited" : "shipped";
    this.#state.dataset.state = state;
    this.#state.textContent = buffers.has(shown) ? STATES[state] : "";
    this.#revert.disabled = state === "shipped";
    this.#contested.hidden = !contested;
    if (contested) byId("kernel-contested-file").textContent = shown;
  }

  /** @param {string} text the state of affairs, in a sentence or two; it is also announced */
  say(text) {
    if (this.#says.textContent !== text) this.#says.textContent = text;
  }

  /** @param {readonly Message[]} messages */
  messages(messages) {
    const key = JSON.stringify(messages);
    if (key === this.#told) return; // a button keeps the focus
    this.#told = key;
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
   * The files whose text is not the one on disk: name, text there, text here.
   *
   * @param {[path: string, disk: string, text: string][]} edited
   */
  #edits(edited) {
    const key = JSON.stringify(edited);
    if (key === this.#edited) return;
    this.#edited = key;
    byId("kernel-edits").hidden = edited.length === 0;
    const line = (/** @type {typeof edited[number]} */ [path, disk, text]) => {
      const { first, added, removed } = lineChange(disk, text);
      const open = h("button", { type: "button", class: "quiet small" }, path);
      open.addEventListener("click", () => {
        const at = { file: path, line: first, column: 1, length: 0 };
        this.listeners.onMessage({ type: "info", text: "", ...at });
      });
      const back = h("button", { type: "button", class: "small" }, "Revert");
      back.setAttribute("aria-label", `Revert ${path}`);
      back.addEventListener("click", () => this.listeners.onRevert(path));
      const file = path.split("/").at(-1);
      const save = h("a", { class: "button small", href: "#kernel", download: file }, "Download");
      save.setAttribute("aria-label", `Download ${path} as edited`);
      save.addEventListener("click", () => {
        const url = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
        save.href = url;
        setTimeout(() => URL.revokeObjectURL(url), 10_000);
      });
      const size = h("span", { class: "muted mono nowrap" }, `+${added} −${removed}`);
      size.title = `${plural(added, "line")} for ${plural(removed, "line")}, from line ${first}`;
      return h("li", {}, open, size, save, back);
    };
    byId("kernel-edited").replaceChildren(...edited.map(line));
  }

  /** @param {{before: Report, now: Report} | null} change a case before and after an edit */
  #compare(change) {
    byId("kernel-change").hidden = change === null;
    if (!change || change.now === this.#compared) return;
    this.#compared = change.now;
    const { before, now } = change;
    const text = (/** @type {Report} */ { edited = [], shader_sha256: sha }) =>
      `${sha.slice(0, 8)}${edited.length ? ` (${edited.join(", ")} edited)` : ", as on disk"}`;
    byId("kernel-change-case").replaceChildren(
      breakable(now.case),
      `. Before: shader ${text(before)}. Now: ${text(now)}.`,
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
