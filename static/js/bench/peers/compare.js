// @ts-check
/** One case on our kernel and on each peer: checked first, then timed by turns. */
import { wallPairs } from "../wall.js";
import { Devices, Refusal } from "./subject.js";

/** @typedef {import("./subject.js").Subject} Subject */
/** @typedef {import("./subject.js").Task} Task */
/** @typedef {import("./subject.js").Prepare} Prepare */
/** @typedef {import("../wall.js").Race} Race */
/** @typedef {Awaited<ReturnType<Subject["read"]>>} Outputs */

/**
 * @typedef {object} PeerDone what is told of one peer; times in nanoseconds
 * @property {string} peer
 * @property {string} error
 * @property {boolean} refused
 * @property {string[]} notes
 * @property {number | null} prepare_ns
 * @property {number | null} first_call_ns
 * @property {number[]} ns       of a call, one a pair
 * @property {number[]} ours_ns
 * @property {number} calls
 * @property {number} ours_calls
 *
 * @typedef {object} How
 * @property {number} pairs
 * @property {number} sampleMs  a sample lasts at least
 * @property {number} limitMs   all pairs should last at most
 * @property {boolean} software the adapter is
 *
 * @typedef {object} Hooks
 * @property {Race & {check(): void}} watch
 * @property {(subject: string, outputs: Outputs) => Promise<{right: boolean, message: string}>} judge
 * @property {(phase: string) => void} onProgress
 */

/** Both sides run so long before the first sample: a GPU that idled has a low clock. */
const WARM_UP_MS = { hardware: 500, software: 0 };
const LEAST_PAIRS = 3;
/** What waiting for nothing may take. */
const LATE_MS = 50;
const LATE = "right, but this browser answers waits too late to time by the wall";

/**
 * Runs a subject once and has the result judged.
 *
 * @param {string} name
 * @param {Subject} subject
 * @param {Hooks} hooks
 * @returns {Promise<{firstCallNs: number, right: boolean, message: string}>}
 */
export async function firstCall(name, subject, { watch, judge, onProgress }) {
  onProgress(`${name}: first call`);
  const began = performance.now();
  await watch.race(`compiling ${name}`, Promise.resolve(subject.compile?.()));
  await watch.race(`calling ${name}`, Promise.resolve(subject.call()));
  await watch.race(`waiting for ${name}`, subject.drain());
  const firstCallNs = sinceNs(began);
  onProgress(`${name}: reading the result`);
  const outputs = await watch.race(`reading the result of ${name}`, subject.read());
  onProgress(`${name}: being judged`);
  const verdict = await watch.race(`judging ${name}`, judge(name, outputs));
  return { firstCallNs, ...verdict };
}

/**
 * A peer beside our kernel. Never throws for what goes wrong with the peer: that is told.
 *
 * @param {string} peer
 * @param {Prepare} prepare
 * @param {Task} task
 * @param {Subject} ours  right, and run before
 * @param {How} how
 * @param {Hooks} hooks
 * @returns {Promise<PeerDone>}
 */
export async function comparePeer(peer, prepare, task, ours, how, hooks) {
  const done = blank(peer);
  const devices = new Devices();
  const watch = {
    race: (/** @type {string} */ doing, /** @type {Promise<any>} */ promise) =>
      hooks.watch.race(doing, Promise.race([devices.lost, promise])),
    check: () => hooks.watch.check(),
  };
  /** @type {Subject | null} */
  let subject = null;
  try {
    hooks.onProgress(`${peer}: loading`);
    const began = performance.now();
    /** @type {Subject} */
    const ready = await watch.race(`loading ${peer}`, prepare(task, devices));
    subject = ready;
    done.prepare_ns = sinceNs(began);
    done.notes = ready.notes ?? [];
    const first = await firstCall(peer, ready, { ...hooks, watch });
    done.first_call_ns = first.firstCallNs;
    if (first.right) await timePairs(ready, ours, how, { ...hooks, watch }, done);
    if (devices.errors.length) done.error = `GPU error: ${devices.errors[0]}`;
  } catch (thrown) {
    hooks.watch.check(); // the whole comparison has to end: not this peer's fault alone
    done.refused = thrown instanceof Refusal;
    done.error = [thrown instanceof Error ? thrown.message : String(thrown), ...devices.errors]
      .join("; ")
      .slice(0, 10_000);
  } finally {
    try {
      subject?.dispose();
    } catch {
      // its device is destroyed next, which frees what it could not
    }
    devices.close();
  }
  return done;
}

/**
 * Ours and the peer by turns, after a warm-up; a slow pair is timed less often.
 *
 * @param {Subject} subject
 * @param {Subject} ours
 * @param {How} how
 * @param {Hooks} hooks
 * @param {PeerDone} done
 */
async function timePairs(subject, ours, { pairs, sampleMs, limitMs, software }, hooks, done) {
  const { watch, onProgress } = hooks;
  onProgress(`${done.peer}: warming up`);
  let shortest = Number.POSITIVE_INFINITY;
  for (let n = 0; n < 3; n++) {
    const asked = performance.now();
    await watch.race("waiting for an empty queue", ours.drain());
    shortest = Math.min(shortest, performance.now() - asked);
  }
  // 100 ms in Firefox: samples that are long beside that would take minutes.
  if (shortest > LATE_MS) throw new Refusal(LATE);
  const began = performance.now();
  const warm = software ? WARM_UP_MS.software : WARM_UP_MS.hardware;
  let round = 0;
  do {
    const start = performance.now();
    for (const each of [ours, subject]) {
      await watch.race("warming up", Promise.resolve(each.call()));
      await watch.race("warming up", each.drain());
    }
    round = performance.now() - start;
  } while (performance.now() - began < warm);
  const pairMs = Math.max(round, 2 * sampleMs);
  const samples = Math.max(LEAST_PAIRS, Math.min(pairs, Math.floor(limitMs / pairMs)));
  if (samples < pairs) done.notes.push(`${samples} pairs instead of ${pairs}: it is slow here`);
  const found = await wallPairs([ours, subject], {
    watch,
    samples,
    sampleMs,
    onSample: (n) => onProgress(`${done.peer}: pair ${n} of ${samples}`),
  });
  if (!found.resolved) throw new Refusal(LATE);
  [done.ours_ns, done.ns] = found.ns;
  [done.ours_calls, done.calls] = found.calls;
}

/** @param {string} peer @returns {PeerDone} */
function blank(peer) {
  return {
    peer,
    error: "",
    refused: false,
    notes: [],
    prepare_ns: null,
    first_call_ns: null,
    ns: [],
    ours_ns: [],
    calls: 0,
    ours_calls: 0,
  };
}

/** Whole nanoseconds since a moment. @param {number} moment of performance.now() */
const sinceNs = (moment) => Math.round((performance.now() - moment) * 1e6);
