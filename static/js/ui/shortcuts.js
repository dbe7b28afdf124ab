// @ts-check
import { storageOf } from "../page-name.js";
import { byId } from "./dom.js";

/** Where the choice about keys without Ctrl is remembered. */
const REMEMBERED = "fa2-single-keys";

/**
 * The keys that work anywhere on the page, and the dialog that lists them.
 *
 * Keys without Ctrl can be switched off: who speaks to the computer says letters all day long
 * (WCAG 2.1.4).
 */
export class Shortcuts {
  #dialog = /** @type {HTMLDialogElement} */ (byId("keys"));
  #single = /** @type {HTMLInputElement} */ (byId("single-keys"));

  /**
   * @param {object} actions
   * @param {() => void} actions.run
   * @param {Record<string, () => void>} actions.keys by the key's name
   */
  constructor({ run, keys }) {
    this.run = run;
    /** @type {Record<string, () => void>} */
    this.keys = { ...keys, "?": () => this.#dialog.showModal() };
    const storage = storageOf(window);
    this.#single.checked = storage?.getItem(REMEMBERED) !== "off";
    this.#single.addEventListener("change", () => {
      storage?.setItem(REMEMBERED, this.#single.checked ? "on" : "off");
    });
    byId("help").addEventListener("click", () => this.#dialog.showModal());
    this.#dialog.addEventListener("click", ({ target }) => {
      if (target === this.#dialog) this.#dialog.close(); // the ground around it
    });
    document.addEventListener("keydown", (event) => this.#press(event));
  }

  /** @param {KeyboardEvent} event */
  #press(event) {
    if (event.defaultPrevented || event.isComposing || this.#dialog.open) return;
    if ((event.ctrlKey || event.metaKey) && event.key === "Enter") {
      event.preventDefault();
      this.run();
      return;
    }
    const action = this.keys[event.key];
    if (!action || !this.#single.checked || event.ctrlKey || event.metaKey || event.altKey) return;
    if (isWritten(event.target)) return;
    event.preventDefault();
    action();
  }
}

/**
 * Whether keys have a meaning of their own where they are pressed.
 *
 * @param {EventTarget | null} target
 */
function isWritten(target) {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable) return true;
  if (target instanceof HTMLInputElement) return !["radio", "checkbox"].includes(target.type);
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
}
