// @ts-check
import { BenchSession } from "../bench-session.js";
import { lazy, loaded } from "../lazy.js";
import { asRunError } from "../run-error.js";
import { SpeedView } from "../ui/speed.js";

/** @typedef {import("../context.js").Context} Context */
/** @typedef {import("../context.js").Section} Section */

/** Times the case on show. @implements {Section} */
export class SpeedSection {
  /** @param {Context} context */
  constructor(context) {
    const { transport, runner, describeEnvironment, refresh } = context;
    this.context = context;
    this.view = new SpeedView({ onStart: () => this.#start(), onStop: () => this.bench.stop() });
    this.bench = new BenchSession(
      transport,
      lazy(async () => {
        const { BenchRunner } = await loaded("what times kernels", import("../bench-runner.js"));
        return new BenchRunner(await runner());
      }),
      {
        onChange: () => {
          this.view.show(this.bench.all);
          refresh();
        },
        onDone: describeEnvironment,
      },
    );
  }

  get busy() {
    return this.bench.busy;
  }

  get used() {
    return this.bench.all.length > 0;
  }

  /** @type {NonNullable<Section["enable"]>} */
  enable({ ready }) {
    this.view.enable(ready, this.busy, this.context.caseOnShow());
  }

  resync() {
    return this.bench.resync();
  }

  async #start() {
    const { caseOnShow, choiceOnShow, editor } = this.context;
    try {
      const shaders = editor?.shaders() ?? {}; // what is timed is what a run would run
      await this.bench.start({ case: caseOnShow(), ...choiceOnShow(), shaders });
    } catch (error) {
      this.view.refused(asRunError(error).message);
    }
  }
}
