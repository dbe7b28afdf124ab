// @ts-check
import { quoted } from "../share-links.js";
import { byId, h } from "./dom.js";

/** @typedef {import("../pages-list.js").Device} Device */

/** The section of the page that lists the browsers connected. */
export class DevicesView {
  #form = /** @type {HTMLFormElement} */ (byId("devices-form"));
  #runOn = /** @type {HTMLSelectElement} */ (byId("run-on"));
  #name = /** @type {HTMLInputElement} */ (byId("page-name"));
  #command = byId("devices-command");
  #announcer = byId("devices-announcer");
  #list = byId("devices-list");
  #drawn = "";

  /** @param {{onTarget: (page: string) => void, onRename: (name: string) => void}} listeners */
  constructor({ onTarget, onRename }) {
    this.#runOn.addEventListener("change", () => onTarget(this.#runOn.value));
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      onRename(this.#name.value);
    });
  }

  /** For a look at the list as soon as somebody looks at the choice. @param {() => void} then */
  onOpening(then) {
    this.#runOn.addEventListener("focus", then);
  }

  /** @param {string} name */
  named(name) {
    this.#name.value = name;
    const word = /^[\w.-]*$/.test(name) ? name || "NAME" : quoted(name);
    this.#command.textContent = `fa2 run --page ${word}`;
  }

  /** @param {string} text read aloud */
  say(text) {
    this.#announcer.textContent = text;
  }

  /**
   * @param {Device[]} devices
   * @param {string} target  id of the page that does the runs; "" = this one
   */
  show(devices, target) {
    const drawn = JSON.stringify([devices, target]);
    if (drawn === this.#drawn) return; // a select that is open closes when it is filled anew
    this.#drawn = drawn;
    const others = devices.filter(({ here }) => !here);
    const gone = target && !others.some(({ page }) => page === target);
    this.#runOn.replaceChildren(
      h("option", { value: "" }, "this page"),
      ...others.map(({ page, name, usable }) =>
        h("option", { value: page, disabled: !usable }, usable ? name : `${name}: no WebGPU`),
      ),
      ...(gone ? [h("option", { value: target }, "no longer connected")] : []),
    );
    this.#runOn.value = target;
    this.#list.replaceChildren(
      ...devices.map((device) =>
        card(device, device.here ? target === "" : device.page === target),
      ),
    );
    if (!devices.length) this.#list.append(h("li", { class: "empty" }, "No page is connected."));
  }
}

/**
 * @param {Device} device
 * @param {boolean} chosen  runs go to it
 */
function card({ page, name, engine, adapter, software, usable, why, doing, here }, chosen) {
  const badges = [here && "this page", chosen && !here && "runs go here"].filter(Boolean);
  const kind = software ? h("span", { class: "badge device-software" }, "! software") : null;
  return h(
    "li",
    { class: "card device", "data-page": page, "aria-current": chosen ? "true" : null },
    h(
      "h3",
      {},
      name,
      ...badges.map((text) => h("span", { class: "badge device-badge" }, String(text))),
    ),
    h("p", {}, engine || "has not said what it is", adapter ? ` · ${adapter} ` : "", kind),
    usable
      ? h(
          "p",
          { class: "badge", "data-status": doing ? "running" : "pass" },
          h("span", { class: "mark", "aria-hidden": "true" }, doing ? "▶" : "○"),
          h("span", { class: "device-doing" }, doing ? `busy: ${doing}` : "idle"),
        )
      : h("p", { class: "device-why", "data-status": "error" }, `✗ ${why}`),
  );
}
