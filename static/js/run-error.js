// @ts-check

/** What a report may give as the kind of its error, and `stopped`, which is never reported. */
const KINDS = [
  "compile",
  "manifest",
  "device-lost",
  "timeout",
  "unsupported",
  "no-adapter",
  "page",
  "stopped",
];

/** Errors after which a device is as good as new. */
export const HARMLESS = ["unsupported", "compile", "manifest", "no-adapter"];

/** A compiler may say a lot; the server takes no more than this. */
const LONGEST_MESSAGE = 19_000;

/**
 * Why a run ended without numbers.
 *
 * `kind` is a name of server/errors.py (compile, manifest, device-lost, timeout, unsupported,
 * no-adapter, page), or `stopped` for a run that a person or the server called off, which is never reported.
 */
export class RunError extends Error {
  /**
   * @param {string} kind
   * @param {string} message
   * @param {{file?: string, line?: number, column?: number}} [where] 1-based, in the file on disk
   */
  constructor(kind, message, where = {}) {
    super(message.slice(0, LONGEST_MESSAGE));
    this.name = "RunError";
    this.kind = KINDS.includes(kind) ? kind : "page";
    this.where = where;
  }
}

/**
 * What is told of a job that could not even begin: else the server would wait for its deadline.
 *
 * @param {unknown} thrown
 * @returns {any} as much of a `Done` as the server wants of a failure
 */
export function notBegun(thrown) {
  const { kind, message } = asRunError(thrown);
  return { status: "error", error: { kind, message } };
}

/**
 * Whatever was thrown, as a RunError. The library's errors carry a `kind` of their own; anything
 * else is a fault of the page, and its message keeps the name of the exception.
 *
 * @param {unknown} thrown
 * @returns {RunError}
 */
export function asRunError(thrown) {
  if (thrown instanceof RunError) return thrown;
  if (!(thrown instanceof Error)) return new RunError("page", String(thrown));
  const error =
    /** @type {Error & {kind?: string, file?: string, line?: number, column?: number}} */ (thrown);
  if (typeof error.kind !== "string") {
    return new RunError("page", `${error.name}: ${error.message}`);
  }
  const { file, line, column } = error;
  return new RunError(error.kind, error.message, { file, line, column });
}
