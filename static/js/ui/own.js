// @ts-check
import { byId, h } from "./dom.js";

/**
 * The part of the page where a kernel of one's own is given, and told how it was understood.
 *
 * @typedef {object} OwnHooks
 * @property {(files: Iterable<File>) => void} onFiles
 * @property {(text: string) => void} onPaste
 * @property {() => void} onNew
 * @property {(name: string) => void} onOpen
 * @property {(name: string) => void} onRemove
 * @property {(name: string) => void} onChoose  it is to be the kernel
 * @property {(suite: boolean) => void} onRun
 * @property {() => void} onCase  another case was written
 */

export class OwnPanel {
  #list = byId("own-list");
  #kernel = byId("own-kernel");
  /** What the list shows: it is made anew only for something else, so that the focus stays. */
  #listed = "";
  #says = byId("own-says");
  #case = /** @type {HTMLInputElement} */ (byId("own-case"));
  #buttons = ["own-run", "own-suite"].map((id) => /** @type {HTMLButtonElement} */ (byId(id)));

  /** @param {OwnHooks} hooks */
  constructor(hooks) {
    this.hooks = hooks;
    const picker = /** @type {HTMLInputElement} */ (byId("own-files"));
    byId("own-pick").addEventListener("click", () => picker.click());
    picker.addEventListener("change", () => {
      hooks.onFiles(picker.files ?? []);
      picker.value = ""; // the same file again is a change, too
    });
    byId("own-new").addEventListener("click", hooks.onNew);
    byId("own-form").addEventListener("submit", (event) => {
      event.preventDefault();
      hooks.onRun(false);
    });
    byId("own-suite").addEventListener("click", () => hooks.onRun(true));
    this.#case.addEventListener("input", hooks.onCase);
    this.#receive(byId("own-drop"));
  }

  /** @param {HTMLElement} zone */
  #receive(zone) {
    zone.addEventListener("paste", (event) => {
      const { files } = event.clipboardData ?? new DataTransfer();
      const text = event.clipboardData?.getData("text/plain") ?? "";
      if (files.length) this.hooks.onFiles(files);
      else if (text.trim()) this.hooks.onPaste(text);
      else return;
      event.preventDefault();
    });
    const over = (/** @type {boolean} */ is) => {
      zone.dataset.over = String(is);
    };
    zone.addEventListener("dragover", (event) => {
      event.preventDefault();
      over(true);
    });
    zone.addEventListener("dragleave", () => over(false));
    zone.addEventListener("drop", (event) => {
      event.preventDefault();
      over(false);
      const { files } = event.dataTransfer ?? new DataTransfer();
      const text = event.dataTransfer?.getData("text/plain") ?? "";
      if (files.length) this.hooks.onFiles(files);
      else if (text) this.hooks.onPaste(text);
    });
  }

  get case() {
    return this.#case.value.trim();
  }

  set case(text) {
    this.#case.value = text;
  }

  /** Where one gives files, or what edits one of them. @param {string} [name] */
  focus(name) {
    const edits = [...this.#list.querySelectorAll("button")];
    (edits.find(({ textContent }) => textContent === `Edit ${name}`) ?? byId("own-pick")).focus();
  }

  /** @param {boolean} runnable */
  enable(runnable) {
    for (const button of this.#buttons) button.disabled = !runnable;
  }

  /** @param {string} text @param {"" | "wrong" | "right"} state */
  say(text, state = "") {
    this.#says.textContent = text;
    this.#says.dataset.state = state;
  }

  /**
   * @param {readonly string[]} names of the files
   * @param {import("../own/files.js").Roles & {kernels: string[]}} roles  kernels: texts with an
   *   entry point
   */
  showFiles(names, roles) {
    const shown = JSON.stringify([names, roles]);
    if (shown === this.#listed) return;
    this.#listed = shown;
    this.#kernel.replaceChildren(...kernelLine(roles));
    const { kernel, parts, kernels } = roles;
    const choices = kernels.filter((name) => name !== kernel && !parts.includes(name));
    const button = (
      /** @type {string} */ text,
      /** @type {() => void} */ onClick,
      /** @type {string} */ quiet = "",
    ) => {
      const made = h("button", { type: "button", class: `small${quiet}` }, text);
      made.addEventListener("click", onClick);
      return made;
    };
    this.#list.replaceChildren(
      ...names.map((name) =>
        h(
          "li",
          {},
          button(`Edit ${name}`, () => this.hooks.onOpen(name)),
          button(`Remove ${name}`, () => this.hooks.onRemove(name), " quiet"),
          ...(choices.includes(name)
            ? [button(`Make ${name} the kernel`, () => this.hooks.onChoose(name))]
            : []),
        ),
      ),
    );
  }

  /** @param {readonly import("../own/understood.js").Row[]} rows */
  showRows(rows) {
    byId("own-understood").hidden = rows.length === 0;
    byId("own-rows").replaceChildren(
      ...rows.map(({ text, meaning, from }) =>
        h("tr", {}, h("td", {}, text), h("td", {}, meaning), h("td", {}, from)),
      ),
    );
  }
}

/**
 * Which file is run, with what, and what only lies there.
 *
 * @param {import("../own/files.js").Roles} roles
 */
function kernelLine({ kernel, manifest, parts, others }) {
  if (!kernel) return others.length || manifest ? ["Kernel: none yet."] : [];
  const namesake = manifest === kernel.replace(/\.wgsl$/, ".json");
  const list = (/** @type {string[]} */ names) =>
    names.flatMap((name, n) => [n ? ", " : "", h("code", {}, name)]);
  return [
    "Kernel: ",
    h("strong", {}, h("code", {}, kernel)),
    ...(manifest ? [", manifest: ", h("code", {}, manifest)] : [", without a manifest"]),
    ...(manifest && !namesake ? [" (has another name)"] : []),
    ...(parts.length ? [", uses ", ...list(parts)] : []),
    ".",
    ...(others.length ? [" Also there, not run: ", ...list(others), "."] : []),
  ];
}
