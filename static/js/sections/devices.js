// @ts-check
import { Awake } from "../awake.js";
import { keepName, pageName, storageOf, tidy } from "../page-name.js";
import { devicesOf } from "../pages-list.js";
import { asRunError, RunError } from "../run-error.js";
import { DevicesView } from "../ui/devices.js";
import { byId } from "../ui/dom.js";

/** @typedef {import("../context.js").Context} Context */
/** @typedef {import("../context.js").Section} Section */

/** Between two looks at who is connected; only while somebody can see it, or runs go elsewhere. */
const LOOK_MS = 2000;

/** Who is connected, and which of them does the runs of this page. @implements {Section} */
export class DevicesSection {
  /** @type {import("../pages-list.js").Device[]} */
  #devices = [];
  /** The page that does the runs; "" = this one. */
  #target = "";
  #targetName = "";
  #visible = false;
  #running = false;
  #awake = new Awake(navigator.wakeLock);
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;

  /** @param {Context} context */
  constructor(context) {
    const { transport, session, addToRuns } = context;
    this.context = context;
    this.view = new DevicesView({
      onTarget: (page) => this.#choose(page),
      onRename: (name) => this.#rename(name),
    });
    this.view.named(pageName(location.search, storageOf(window)));
    this.view.onOpening(() => this.#look());
    transport.listen("progress", ({ run, progress }) =>
      session.progressed(run, progress, this.#targetName),
    );
    addToRuns((body) => this.#sendElsewhere(body));
    new IntersectionObserver((entries) => {
      this.#visible = entries[entries.length - 1].isIntersecting;
      this.#look();
    }).observe(byId("devices"));
    document.addEventListener("visibilitychange", () => {
      if (this.#running) this.#awake.keep(true); // a page that is hidden loses the lock
      this.#look();
    });
  }

  get elsewhere() {
    return this.#target !== "";
  }

  /** @type {NonNullable<Section["enable"]>} */
  enable({ running }) {
    if (running !== this.#running) this.#awake.keep(running);
    this.#running = running;
  }

  resync() {
    return this.#look();
  }

  /** @param {import("../context.js").RunBody} body */
  #sendElsewhere(body) {
    if (!this.#target) return body;
    if (!this.#devices.some(({ page }) => page === this.#target)) {
      throw new RunError("page", `${this.#targetName} is not connected; choose another page`);
    }
    return { ...body, page: this.#target };
  }

  /** @param {string} page  "" = this one */
  #choose(page) {
    const { notices, refresh } = this.context;
    this.#target = page;
    this.#targetName = this.#devices.find((one) => one.page === page)?.name ?? "";
    if (page) {
      notices.show(
        "target",
        "warn",
        `Runs go to ${this.#targetName}.`,
        "This page asks and shows; choose “this page” under Devices to run here again.",
      );
    } else notices.clear("target");
    this.view.say(page ? `Runs go to ${this.#targetName}` : "Runs are done on this page");
    this.#show();
    this.#look();
    refresh();
  }

  /** @param {string} text */
  async #rename(text) {
    const { transport, notices, engine } = this.context;
    const name = tidy(text);
    keepName(name, storageOf(window));
    this.view.named(name);
    try {
      await transport.rename(name || (await engine));
      this.view.say(name ? `This page is called ${name}` : "This page has no name of its own");
    } catch (error) {
      notices.show("server", "warn", `Not renamed: ${asRunError(error).message}`);
    }
    await this.#look();
  }

  /** Asks who is connected, now and, while it matters, every so often. */
  async #look() {
    clearTimeout(this.#timer);
    const shown = this.#visible && document.visibilityState === "visible";
    if (!shown && !this.#target) return;
    try {
      const { transport } = this.context;
      this.#devices = devicesOf(await transport.get("/api/pages"), transport.page);
      this.#show();
    } catch {
      // The page says elsewhere that the server does not answer.
    }
    clearTimeout(this.#timer); // another look may have begun meanwhile
    this.#timer = setTimeout(() => this.#look(), LOOK_MS);
  }

  #show() {
    this.view.show(this.#devices, this.#target);
  }
}
