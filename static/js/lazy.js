// @ts-check
import { RunError } from "./run-error.js";

/**
 * What is made when it is first asked for, and then kept: parts of the page that most visits never
 * need. A making that failed (the server was away) is tried again.
 *
 * @template T
 * @param {() => Promise<T>} make
 * @param {number} [pauseMs]  who asks sooner after a failure waits for the end of it: for what is
 *   asked for at every progress
 * @returns {() => Promise<T>}
 */
export function lazy(make, pauseMs = 0) {
  /** @type {Promise<T> | null} */
  let made = null;
  let notBefore = 0;
  const trying = async () => {
    const wait = notBefore - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    return make();
  };
  return () => {
    made ??= trying().catch((error) => {
      made = null;
      notBefore = performance.now() + pauseMs;
      throw error;
    });
    return made;
  };
}

/** Between two tries for a part that is asked for again and again while something goes on. */
export const PAUSE_MS = 3000;

/** After this long a connection that only hangs is told: a browser itself waits for minutes. */
const PATIENCE_MS = 60_000;

/**
 * A module that is loaded late, or why it is not there and what to do about it. A browser asks
 * again for a file that did not come, but not for one in which it found a mistake.
 *
 * @template T
 * @param {string} what  the module brings
 * @param {Promise<T>} module  of `import()`
 * @param {number} [patienceMs]
 * @returns {Promise<T>}
 * @throws {RunError}
 */
export async function loaded(what, module, patienceMs = PATIENCE_MS) {
  let timer;
  const late = new Promise((_, reject) => {
    const seconds = patienceMs / 1000;
    timer = setTimeout(() => reject(new Error(`it has not come for ${seconds} s`)), patienceMs);
  });
  try {
    return await Promise.race([module, late]);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new RunError(
      "page",
      `${what} could not be loaded (${why}); try again, or reload the page`,
    );
  } finally {
    clearTimeout(timer);
  }
}
