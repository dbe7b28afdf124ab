// @ts-check
import { lazy, loaded } from "../lazy.js";
import { asRunError } from "../run-error.js";
import { TrainSession } from "../train-session.js";
import { TrainingView } from "../ui/training.js";

/** @typedef {import("../context.js").Context} Context */
/** @typedef {import("../context.js").Section} Section */

/** Trains a small model. @implements {Section} */
export class TrainingSection {
  /** @param {Context} context */
  constructor({ transport, engine, devices, tables, describeEnvironment, refresh }) {
    this.view = new TrainingView({
      onStart: (what) => this.#start(what),
      onStop: () => this.training.stop(),
    });
    this.training = new TrainSession(
      transport,
      lazy(async () => {
        const { TrainRunner } = await loaded("what trains", import("../train-runner.js"));
        return new TrainRunner(devices, await engine, tables);
      }),
      {
        onChange: () => {
          if (this.training.shown) this.view.show(this.training.shown);
          refresh();
        },
        onDone: describeEnvironment,
      },
    );
  }

  get busy() {
    return this.training.busy;
  }

  get used() {
    return this.training.shown !== null;
  }

  /** @type {NonNullable<Section["enable"]>} */
  enable({ ready }) {
    this.view.enable(ready, this.busy);
  }

  resync() {
    return this.training.resync();
  }

  /** @param {import("../train-session.js").TrainRequest} what */
  async #start(what) {
    try {
      await this.training.start(what);
    } catch (error) {
      this.view.refused(asRunError(error).message);
    }
  }
}
