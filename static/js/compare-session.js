// @ts-check
import { asRunError, RunError } from "./run-error.js";

/** @typedef {import("./checks.js").Report} Report */
/** @typedef {import("./bench-session.js").BenchReport} BenchReport */
/** @typedef {import("./comparison.js").Difference} Difference */
/** @typedef {import("./transport.js").Transport} Transport */

/**
 * @typedef {object} SideBody what a side adds to the request for a run or a benchmark
 * @property {string} [kernel]
 * @property {Record<string, string>} [shaders]
 * @property {Record<string, unknown>} [own]
 *
 * @typedef {object} Side
 * @property {string} label
 * @property {() => Promise<{label?: string, notes: string[], body: SideBody}>} load  the rest of
 *   it, and a better name
 *
 * @typedef {object} SideState
 * @property {string} label
 * @property {string[]} notes
 * @property {SideBody} body
 * @property {string} run  "" until the server gave it an id
 * @property {Report | null} report
 * @property {BenchReport[]} benches  a report a round
 *
 * @typedef {object} Comparison
 * @property {string} case
 * @property {[SideState, SideState]} sides
 * @property {Record<string, Difference>} outputs
 * @property {string} apart     why there are no differences to show; "" if there are
 * @property {string} doing     "" = it is over
 * @property {string} problem   why it ended early
 */

/** Between two looks at a benchmark. */
const LOOK_MS = 250;
/** A second round, in the other order, if the first one took no longer. */
const CHEAP_MS = 20_000;

/** Runs two kernels on one case on this page, then times those that are right. */
export class CompareSession {
  /** @type {Comparison | null} */
  shown = null;
  #halted = false;
  /** What Stop has to cancel. */
  #path = "";

  /**
   * @param {Transport} transport
   * @param {() => void} onChange
   */
  constructor(transport, onChange) {
    this.transport = transport;
    this.onChange = onChange;
  }

  get busy() {
    return Boolean(this.shown?.doing);
  }

  /**
   * Never throws: what went wrong is `problem`. While something is compared (a double press) it
   * does nothing.
   *
   * @param {{case: string, seed?: string}} what
   * @param {[Side, Side]} sides
   * @param {boolean} timed
   */
  async start(what, sides, timed) {
    if (this.busy) return;
    const [a, b] = sides.map(({ label }) => ({
      ...{ label, notes: /** @type {string[]} */ ([]), body: {}, run: "" },
      report: /** @type {Report | null} */ (null),
      benches: /** @type {BenchReport[]} */ ([]),
    }));
    this.#halted = false;
    const shown = {
      ...{ case: what.case, sides: /** @type {[SideState, SideState]} */ ([a, b]) },
      ...{ outputs: {}, apart: "", doing: "asking", problem: "" },
    };
    this.shown = shown;
    this.onChange();
    try {
      const load = async (/** @type {SideState} */ side, /** @type {number} */ n) =>
        Object.assign(side, await sides[n].load());
      await Promise.all(shown.sides.map(load));
      for (const side of shown.sides) await this.#judge(shown, what, side);
      await this.#differences(shown);
      if (timed) await this.#time(shown, what);
    } catch (error) {
      shown.problem = this.#halted ? "stopped" : asRunError(error).message;
    }
    this.#path = "";
    this.#say(shown, "");
  }

  /** Calls off what is under way; nothing follows it. */
  async stop() {
    this.#halted = true;
    if (this.#path) await this.transport.post(`${this.#path}/cancel`).catch(() => {}); // over by now
  }

  /**
   * @param {Comparison} shown
   * @param {object} what
   * @param {SideState} side
   */
  async #judge(shown, what, side) {
    this.#check();
    this.#path = "";
    this.#say(shown, `${side.label}: judged`);
    const { runs, cases } = await this.transport.requestRuns({ ...what, ...side.body });
    side.run = runs[0];
    await this.#began(`/api/runs/${side.run}`);
    if (!shown.sides[1].run) shown.case = cases[0].replace(/,kernel=[^,]*/, "");
    side.report = await this.transport.report(side.run);
  }

  /** @param {Comparison} shown */
  async #differences(shown) {
    this.#check();
    this.#say(shown, "how far they are apart");
    const [a, b] = shown.sides;
    try {
      const found = await this.transport.get(`/api/compare?a=${a.run}&b=${b.run}`);
      shown.outputs = found.outputs;
    } catch (error) {
      shown.apart = asRunError(error).message; // one of them gave no outputs
    }
  }

  /**
   * A, B and, if that did not take long, B, A: who is first may have a cold or a warm machine.
   *
   * @param {Comparison} shown
   * @param {object} what
   */
  async #time(shown, what) {
    const began = performance.now();
    const [a, b] = shown.sides;
    for (const side of [a, b]) await this.#bench(shown, what, side);
    if (performance.now() - began > CHEAP_MS) return;
    for (const side of [b, a]) await this.#bench(shown, what, side);
  }

  /**
   * @param {Comparison} shown
   * @param {object} what
   * @param {SideState} side
   */
  async #bench(shown, what, side) {
    if (side.report?.status !== "pass") return;
    this.#check();
    this.#path = "";
    this.#say(shown, `${side.label}: timed`);
    const body = { ...what, ...side.body, page: this.transport.page };
    const { bench } = await this.transport.post("/api/benches", body);
    await this.#began(`/api/benches/${bench}`);
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      const report = await this.transport.get(this.#path);
      if (!report.status) continue;
      side.benches.push(report);
      this.onChange();
      return;
    }
  }

  /** What Stop cancels from now on; it may have been pressed already. @param {string} path */
  async #began(path) {
    this.#path = path;
    if (this.#halted) await this.stop();
    this.#check();
  }

  #check() {
    if (this.#halted) throw new RunError("stopped", "the comparison was stopped");
  }

  /**
   * @param {Comparison} shown
   * @param {string} doing
   */
  #say(shown, doing) {
    shown.doing = doing;
    this.onChange();
  }
}
