// @ts-check
// The training section's view, on a page of elements that remember what is set.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { PAUSE_MS } from "../../static/js/lazy.js";
import { TrainingView } from "../../static/js/ui/training.js";

const global = /** @type {any} */ (globalThis);
const element = () => ({
  ...{ value: "tiny", textContent: "", hidden: true, clientWidth: 0, dataset: {}, children: [] },
  ...{ addEventListener() {}, setAttribute() {}, append() {}, replaceChildren() {} },
});
/** @type {Map<string, ReturnType<typeof element>>} */
const elements = new Map();
let whole = false;
global.document = {
  createElement: element,
  createElementNS: element,
  /** @param {string} id */
  getElementById(id) {
    // What draws a training cannot be made without it.
    if (id === "train-table" && !whole) return null;
    if (!elements.has(id)) elements.set(id, element());
    return elements.get(id);
  },
};
global.ResizeObserver = class {
  observe() {}
};
global.requestAnimationFrame = (/** @type {() => void} */ draw) => draw();
after(() => {
  const names = ["document", "ResizeObserver", "requestAnimationFrame"];
  for (const name of names) Reflect.deleteProperty(global, name);
});

const NAME = "a verdict that could not be drawn is drawn later, though nothing more is heard";
test(NAME, { timeout: 10_000 }, async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const turns = () => new Promise((resolve) => setImmediate(resolve));
  const view = new TrainingView({ onStart() {}, onStop() {} });
  const headline = () => elements.get("train-headline")?.textContent;
  const what = { preset: "tiny", gate: "drift", attention: "fa2" };
  const report = { training: "t1", state: "pass", status: "pass", message: "fine", losses: [] };
  view.show(
    /** @type {any} */ ({
      ...{ training: "t1", what, state: "done", losses: [], twin: [], times: [] },
      ...{ progress: null, report: { ...report, twin: [] }, problem: "", stopped: false },
    }),
  );
  while (headline() !== "NOT SHOWN") await turns();
  whole = true;
  for (let n = 0; n < 20 && headline() !== "PASS"; n++) {
    t.mock.timers.tick(PAUSE_MS / 2);
    await turns();
  }
  assert.equal(headline(), "PASS");
});
