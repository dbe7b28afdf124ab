// @ts-check
/**
 * GPU time of dispatches, by timestamp queries.
 *
 *     const spans = await timeDispatches(device, [
 *       (encoder, timestampWrites) => op.encode(encoder, buffers, timestampWrites),
 *     ], { samples: 30 });
 *     quantile(spans.flat().map(({ begin, end }) => end - begin), 0.5); // nanoseconds
 *
 * or, for more than one pass a span, a `GpuTimer` of your own. The device needs the feature
 * "timestamp-query". Browsers may round timestamps, to 100 µs say: see `resolutionOf`.
 */

// Values of GPUBufferUsage and GPUMapMode; the globals do not exist where this is only read.
const QUERY_RESOLVE_COPY_SRC = 0x200 | 0x4;
const MAP_READ_COPY_DST = 0x1 | 0x8;
const READ = 1;

const STAMP_BYTES = 8;
/** Most queries that a query set may hold. */
const MOST_QUERIES = 4096;
/** Most spans of one timer. */
export const MOST_SPANS = MOST_QUERIES / 2;

/** @typedef {{begin: number, end: number}} Span nanoseconds since the first stamp of its reading */

/** @param {{features: Iterable<string>}} device  Whether it has timestamps. */
export function canTime({ features }) {
  return new Set(features).has("timestamp-query");
}

/** A number of spans, each written by the compute passes that the caller hands its stamps to. */
export class GpuTimer {
  #querySet;
  #resolved;
  #staging;

  /**
   * @param {GPUDevice} device with timestamp-query
   * @param {number} spans at most MOST_SPANS
   */
  constructor(device, spans) {
    if (!(spans >= 1 && spans <= MOST_SPANS)) {
      throw new RangeError(`${spans} spans: a timer holds 1 to ${MOST_SPANS}`);
    }
    const size = 2 * spans * STAMP_BYTES;
    this.#querySet = device.createQuerySet({ type: "timestamp", count: 2 * spans });
    this.#resolved = device.createBuffer({ size, usage: QUERY_RESOLVE_COPY_SRC });
    this.#staging = device.createBuffer({ size, usage: MAP_READ_COPY_DST });
  }

  /**
   * What to put on the passes of span n: one pass takes both stamps; of several, the first takes
   * the `begin` and the last the `end`.
   *
   * @param {number} n
   * @param {{begin?: boolean, end?: boolean}} [which]
   * @returns {GPUComputePassTimestampWrites}
   */
  span(n, { begin = true, end = true } = {}) {
    return {
      querySet: this.#querySet,
      ...(begin && { beginningOfPassWriteIndex: 2 * n }),
      ...(end && { endOfPassWriteIndex: 2 * n + 1 }),
    };
  }

  /**
   * Takes the first spans out of the query set, once the passes before are done.
   *
   * @param {GPUCommandEncoder} encoder
   * @param {number} spans
   */
  resolve(encoder, spans) {
    encoder.resolveQuerySet(this.#querySet, 0, 2 * spans, this.#resolved, 0);
    encoder.copyBufferToBuffer(this.#resolved, 0, this.#staging, 0, 2 * spans * STAMP_BYTES);
  }

  /**
   * Waits for what `resolve` has taken, which must have been submitted.
   *
   * @param {number} spans
   * @returns {Promise<BigUint64Array>} begin and end of each span
   */
  async read(spans) {
    const size = 2 * spans * STAMP_BYTES;
    await this.#staging.mapAsync(READ, 0, size);
    const stamps = new BigUint64Array(this.#staging.getMappedRange(0, size).slice(0));
    this.#staging.unmap();
    return stamps;
  }

  destroy() {
    this.#querySet.destroy();
    this.#resolved.destroy();
    this.#staging.destroy();
  }
}

/**
 * Times each of several dispatches, in turns. Each has to write a buffer that the next one binds,
 * or the GPU may run them at the same time. Warm it up first: an idle GPU is slow.
 *
 * @param {GPUDevice} device with timestamp-query
 * @param {readonly ((encoder: GPUCommandEncoder, timestampWrites: GPUComputePassTimestampWrites)
 *   => void)[]} dispatches  each records one compute pass, with these stamps
 * @param {{samples?: number}} [options]
 * @returns {Promise<Span[][]>} of each of the dispatches its spans, one a sample
 */
export async function timeDispatches(device, dispatches, { samples = 30 } = {}) {
  const timer = new GpuTimer(device, dispatches.length * samples);
  try {
    const encoder = device.createCommandEncoder();
    for (let n = 0; n < samples; n++) {
      dispatches.forEach((encode, i) => {
        encode(encoder, timer.span(n * dispatches.length + i));
      });
    }
    timer.resolve(encoder, dispatches.length * samples);
    device.queue.submit([encoder.finish()]);
    const spans = inTurn(spansOf(await timer.read(dispatches.length * samples)));
    return dispatches.map((_, i) => spans.filter((_, n) => n % dispatches.length === i));
  } finally {
    timer.destroy();
  }
}

/**
 * Stamps two by two. Numbers hold nanoseconds since the first one exactly, for a hundred days.
 *
 * @param {BigUint64Array} stamps
 * @returns {Span[]}
 */
export function spansOf(stamps) {
  const since = (/** @type {number} */ n) => Number(stamps[n] - stamps[0]);
  return Array.from({ length: stamps.length / 2 }, (_, n) => ({
    begin: since(2 * n),
    end: since(2 * n + 1),
  }));
}

/**
 * Spans of passes that ran one after the other. A begin may be stamped as soon as the GPU has read
 * the command, while it still works on what comes before: nothing begins before that has ended.
 *
 * @param {readonly Span[]} spans in the order of the passes
 * @returns {Span[]} none of them of a negative length
 */
export function inTurn(spans) {
  let ended = Number.NEGATIVE_INFINITY;
  return spans.map(({ begin, end }) => {
    const from = Math.max(begin, ended);
    ended = end;
    return { begin: from, end: Math.max(from, end) };
  });
}

/**
 * The step in which timestamps count, as far as these show it: what divides all of them. A clock
 * that is rounded to 100 µs shows 100 000; of one that is not, two stamps show next to nothing and
 * some dozen show its tick.
 *
 * @param {Iterable<bigint>} stamps
 * @returns {number} nanoseconds; 0 where all are 0
 */
export function resolutionOf(stamps) {
  let step = 0n;
  for (const stamp of stamps) {
    let a = stamp;
    while (a) [step, a] = [a, step % a];
  }
  return Number(step);
}

/**
 * A quantile, between two values where it falls between them.
 *
 * @param {readonly number[]} values
 * @param {number} q 0 to 1; 0.5 is the median
 * @returns {number} NaN without values
 */
export function quantile(values, q) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = q * (sorted.length - 1);
  const low = sorted[Math.floor(at)] ?? Number.NaN;
  const high = sorted[Math.ceil(at)] ?? Number.NaN;
  return low + (high - low) * (at - Math.floor(at));
}
