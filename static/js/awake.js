// @ts-check

/**
 * Keeps the screen on while something runs: a phone that goes to sleep freezes its pages.
 *
 * A browser may refuse (battery saver), and takes the lock back when the page is hidden; then the
 * next call asks again.
 */
export class Awake {
  /** @type {WakeLockSentinel | null} */
  #lock = null;
  #wanted = false;

  /** @param {WakeLock | undefined} wakeLock  `navigator.wakeLock`, where there is one */
  constructor(wakeLock) {
    this.wakeLock = wakeLock;
  }

  /** @param {boolean} wanted  something runs on this page */
  async keep(wanted) {
    this.#wanted = wanted;
    if (!wanted) {
      const lock = this.#lock;
      this.#lock = null;
      await lock?.release().catch(() => {});
      return;
    }
    if (!this.wakeLock || (this.#lock && !this.#lock.released)) return;
    try {
      const lock = await this.wakeLock.request("screen");
      // Two calls may have asked, and it may be over by now.
      const held = this.#lock && !this.#lock.released;
      if (this.#wanted && !held) this.#lock = lock;
      else await lock.release();
    } catch {
      // It runs with a screen that may go off.
    }
  }
}
