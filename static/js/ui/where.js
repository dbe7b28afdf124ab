// @ts-check
import { Anatomy } from "./anatomy.js";
import { HeatMap } from "./heatmap.js";

/** @typedef {import("./heatmap.js").Wanted} Wanted */
/** @typedef {{run: string, output: string, compares: boolean}} Shown compares: with known mistakes */

/** Where the error of an output lies: its heads, the map of one of them, its figures. */
export class Where {
  #heatmap = new HeatMap((wanted) => this.#fetchHead(wanted));
  #anatomy = new Anatomy({
    onHead: (b, head) => this.#fetchHead({ b, h: head }),
    onElement: (worst) => this.#goTo(worst),
  });
  /** @type {Shown} */
  #shown = { run: "", output: "", compares: false };
  /** Counts the requests: an answer that is late for what is shown now is dropped. */
  #request = { head: 0, output: 0 };
  /** Another head is on its way: closer looks at the one before are nobody's wish any more. */
  #leaving = false;
  #transport;
  #say;

  /**
   * @param {Pick<import("../transport.js").Transport, "get" | "fetchHeatMap">} transport
   * @param {(text: string) => void} say  what the output looks like
   */
  constructor(transport, say) {
    this.#transport = transport;
    this.#say = say;
  }

  /** In the order in which they are read. */
  get elements() {
    return [this.#anatomy.above, this.#heatmap.element, this.#anatomy.below];
  }

  /** Answers to what was asked so far are late. */
  leave() {
    this.#request.head += 1;
    this.#request.output += 1;
  }

  /**
   * The output from its worst head on, then all of it. Never throws.
   *
   * @param {Shown} shown
   */
  async show(shown) {
    this.#shown = shown;
    const { run, output, compares } = shown;
    const request = ++this.#request.output;
    const late = () => request !== this.#request.output;
    await this.#fetchHead({});
    if (late()) return;
    try {
      const found = await this.#transport.get(`/api/runs/${run}/anatomy/${output}`);
      if (late()) return;
      this.#anatomy.show(found);
      this.#mark();
      if (!found.wrong || !compares) return;
      this.#say("Comparing with known mistakes …");
      const suspects = await this.#transport.get(`/api/runs/${run}/suspects/${output}`);
      if (!late()) this.#say(looks(output, suspects));
    } catch (error) {
      if (!late()) this.#anatomy.fail(error);
    }
  }

  /** @param {Partial<Wanted>} wanted  what it leaves open is that of the worst element */
  async #fetchHead(wanted) {
    const closer = wanted.rows !== undefined;
    if (closer && this.#leaving) return;
    this.#leaving = !closer;
    const { run, output } = this.#shown;
    const request = ++this.#request.head;
    const query = Object.fromEntries(
      Object.entries(wanted).map(([key, value]) => [key, String(value)]),
    );
    try {
      const file = await this.#transport.fetchHeatMap(run, output, query);
      if (request !== this.#request.head) return;
      this.#heatmap.show(output, file);
      this.#mark();
    } catch (error) {
      if (request === this.#request.head) this.#heatmap.fail(error);
    }
    if (request === this.#request.head) this.#leaving = false;
  }

  #mark() {
    const head = this.#heatmap.head;
    if (head) this.#anatomy.mark(head.b, head.h);
  }

  /** @param {import("./anatomy-numbers.js").Worst} worst */
  async #goTo({ index }) {
    const wanted = { b: index.b, h: index.h ?? index.hkv };
    const there = () => this.#heatmap.head?.b === wanted.b && this.#heatmap.head.h === wanted.h;
    if (!there()) await this.#fetchHead(wanted);
    if (!there()) return; // something else was asked for meanwhile
    const [row, column = 0] = ["i", "j", "d"].flatMap((axis) => index[axis] ?? []);
    this.#heatmap.goTo(row, column);
  }
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
