// @ts-check
import { BenchSession } from "../bench-session.js";
import { lazy, loaded } from "../lazy.js";
import { asRunError } from "../run-error.js";
import { SpeedView } from "../ui/speed.js";

/** @typedef {import("../context.js").Context} Context */
/** @typedef {import("../context.js").Section} Section */

/** Times the case on show, with the kernel of its check. @implements {Section} */
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
    const { caseOnShow, detail } = this.context;
    this.view.enable(ready, this.busy, caseOnShow(), detail.entry?.own ?? "");
  }

  resync() {
    return this.bench.resync();
  }

  async #start() {
    const { caseOnShow, choiceOnShow, editor } = this.context;
    try {
      const own = this.#own();
      const texts = own ? { own } : { shaders: editor?.shaders() ?? {} };
      await this.bench.start({ case: caseOnShow(), ...choiceOnShow(), ...texts });
    } catch (error) {
      this.view.refused(asRunError(error).message);
    }
  }
  /** The kernel of the check on show, if it is not ours: what is timed is what a run would run. */
  #own() {
    const { detail, ownKernel } = this.context;
    const ran = detail.entry?.ownKernel;
    const now = ran && ownKernel?.();
    return now?.name === ran?.name ? now : ran;
  }
}
