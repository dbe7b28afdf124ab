// @ts-check
/** The numbers of AdamW that change from step to step; server/adamw.py has the same bits. */
import { OPTIMIZER } from "./config.js";

export class Schedule {
  #rate;
  // β to the power of t as a running product: pow() of two languages need not agree in every bit.
  #power1 = 1;
  #power2 = 1;

  /** @param {number} rate learning rate */
  constructor(rate) {
    this.#rate = rate;
  }

  /** The members of `Update` in train/adamw.wgsl for the next step. */
  next() {
    const { beta1, beta2, epsilon, decay } = OPTIMIZER;
    this.#power1 *= beta1;
    this.#power2 *= beta2;
    return new Float32Array([
      this.#rate,
      decay,
      1 - beta1,
      1 - beta2,
      epsilon,
      1 / (1 - this.#power1),
      1 / (1 - this.#power2),
    ]);
  }
}
