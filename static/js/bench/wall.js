// @ts-check
/**
 * Wall time of queued calls: what is left to compare by where a library gives no access to its
 * passes, and what an application sees.
 */
import { quantile } from "../gpu-timer.js";

/**
 * Something that can be computed many times in a row.
 *
 * @typedef {object} Queued
 * @property {() => void | Promise<void>} call  queues one computation; a promise is awaited
 * @property {() => Promise<unknown>} drain     resolves when everything queued is computed
 */

/** @typedef {Pick<import("../watch.js").Watch, "race">} Race */

/** Between two drains must lie so many times what a drain alone takes. */
const DRAINS = 20;

/**
 * Times several things by turns, so that whatever changes meanwhile changes for all of them.
 *
 * @param {readonly Queued[]} subjects warmed up
 * @param {object} how
 * @param {Race} how.watch
 * @param {number} [how.samples]
 * @param {number} [how.sampleMs]  a sample lasts at least this long
 * @param {number} [how.mostMs]    and should not last longer than this
 * @param {(done: number) => void} [how.onSample]
 * @param {() => number} [how.now] milliseconds
 * @returns {Promise<{ns: number[][], calls: number[], drainNs: number, resolved: boolean}>}
 *   `ns[i][n]`: of a call of subject i in round n; `calls`: in a sample; `drainNs`: what waiting for
 *   nothing takes; `resolved`: samples are long beside that
 */
export async function wallPairs(
  subjects,
  {
    watch,
    samples = 30,
    sampleMs = 100,
    mostMs = 1000,
    onSample = () => {},
    now = () => performance.now(),
  },
) {
  const drains = [];
  for (let n = 0; n < 3; n++) {
    const began = now();
    for (const one of subjects) await watch.race("waiting for an empty queue", one.drain());
    drains.push((now() - began) / subjects.length);
  }
  const drainMs = quantile(drains, 0.5);
  const long = Math.min(mostMs, Math.max(sampleMs, DRAINS * drainMs));

  /** @param {Queued} subject @param {number} calls @returns {Promise<number>} milliseconds */
  const once = async (subject, calls) => {
    const began = now();
    for (let n = 0; n < calls; n++) {
      const queued = subject.call();
      if (queued) await watch.race("calling", queued);
    }
    await watch.race("waiting for queued calls", subject.drain());
    return now() - began;
  };

  const calls = [];
  for (const subject of subjects) {
    let count = 1;
    for (let ms = await once(subject, 1); ms < long; ms = await once(subject, count)) {
      // At most tenfold: the first call may have been slow or, by a coarse clock, have taken 0.
      count = Math.min(Math.ceil((1.2 * count * long) / Math.max(ms, 0.01)), 10 * count);
    }
    calls.push(count);
  }
  /** @type {number[][]} */
  const ns = subjects.map(() => []);
  for (let n = 0; n < samples; n++) {
    for (let turn = 0; turn < subjects.length; turn++) {
      const i = (n + turn) % subjects.length;
      ns[i].push(((await once(subjects[i], calls[i])) * 1e6) / calls[i]);
    }
    onSample(n + 1);
  }
  return { ns, calls, drainNs: drainMs * 1e6, resolved: long >= DRAINS * drainMs };
}
