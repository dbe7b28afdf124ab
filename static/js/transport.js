// @ts-check
import { RunError } from "./run-error.js";

/**
 * The page's line to the server: jobs in over SSE, tensors and reports out over plain HTTP.
 *
 * The stream is reopened by hand rather than left to EventSource, which gives up for good on an
 * HTTP error (a restarted server wants its token again) and tells nobody why.
 */

/** How long to wait before each attempt to reconnect; the last one repeats. */
const RETRY_MS = [250, 500, 1000, 2000, 4000];
/** How long the server holds an answer back that is not there yet. */
const WAIT_S = 10;

/**
 * @typedef {object} Job
 * @property {string} run
 * @property {string} case
 * @property {import("./runner.js").Spec} spec
 * @property {string} kernel
 * @property {"seed" | "posted"} inputs
 * @property {Want[]} want
 * @property {[number, number]} poison  one word for each pass, see poison.js
 * @property {number} deadline_ms
 * @property {Record<string, string>} shaders  texts that replace shader files, by path
 * @property {import("./own/types.js").Own | null} own  a kernel that is not ours
 * @property {import("./trace-buffer.js").Wanted | null} trace  whose state is
 *   to be told after each key tile
 * @property {import("./attention/index.js").TunedTable | null} tuned  null = that of the adapter
 * @property {boolean} timing  if it is right, it will be timed: its inputs are worth keeping
 */

/**
 * @typedef {object} Want one tensor to upload
 * @property {string} name
 * @property {"f32" | "f16" | "u32"} dtype
 * @property {number[]} shape
 * @property {number} bytes
 */

/**
 * @typedef {object} Listeners
 * @property {(job: Job) => void} onJob
 * @property {(run: string) => void} onCancel
 * @property {(run: string, report: import("./checks.js").Report) => void} onVerdict
 * @property {(state: "connected" | "lost" | "refused", detail: string) => void} onConnection
 */

export class Transport {
  /** @type {EventSource | null} */
  #stream = null;
  #attempt = 0;
  #label = "";
  #listeners;
  /** @type {[type: string, then: (data: any) => void][]} */
  #others = [];

  /**
   * @param {string} page this page's id: 16 or more URL-safe characters
   * @param {Listeners} listeners
   */
  constructor(page, listeners) {
    this.page = page;
    this.#listeners = listeners;
  }

  /**
   * Hears another kind of event; to be called before `open`.
   *
   * @param {string} type
   * @param {(data: any) => void} then
   */
  listen(type, then) {
    this.#others.push([type, then]);
  }

  /** @param {string} label what people call this page */
  open(label) {
    this.#label = label;
    this.#connect();
  }

  /** @param {string} label what people call this page from now on */
  async rename(label) {
    this.#label = label;
    await send(`/api/pages/${this.page}/label`, json({ label }));
  }

  #connect() {
    const query = new URLSearchParams({ label: this.#label });
    const stream = new EventSource(`/api/pages/${this.page}/jobs?${query}`);
    const on = (/** @type {string} */ type, /** @type {(data: any) => void} */ then) =>
      stream.addEventListener(type, (event) => {
        then(JSON.parse(/** @type {MessageEvent<string>} */ (event).data || "{}"));
      });
    const { onJob, onCancel, onVerdict, onConnection } = this.#listeners;
    on("job", onJob);
    on("cancel", ({ run }) => onCancel(run));
    on("verdict", ({ run, report }) => onVerdict(run, report));
    for (const [type, then] of this.#others) on(type, then);
    on("bye", () => this.#reopen("the server has stopped"));
    on("replaced", () => {
      this.#close();
      onConnection("refused", "another tab took this page's place; reload to take it back");
    });
    stream.onopen = () => {
      this.#attempt = 0;
      onConnection("connected", "");
    };
    stream.onerror = () => this.#reopen("the server does not answer");
    this.#stream = stream;
  }

  /** @param {string} why */
  async #reopen(why) {
    if (!this.#close()) return; // `bye` and `error` of one stream are one loss
    const wait = RETRY_MS[Math.min(this.#attempt++, RETRY_MS.length - 1)];
    setTimeout(() => this.#connect(), wait);
    const refused = await this.#refusal();
    if (this.#stream?.readyState === EventSource.OPEN) return;
    this.#listeners.onConnection(refused ? "refused" : "lost", `${refused || why}; trying again`);
  }

  /** Whether there was a stream to close. */
  #close() {
    const stream = this.#stream;
    this.#stream = null;
    stream?.close();
    return stream !== null;
  }

  /** Why the server turns this page away, in its own words; "" if it does not even answer. */
  async #refusal() {
    try {
      const response = await fetch("/api/pages");
      return response.ok ? "" : await problemOf(response);
    } catch {
      return "";
    }
  }

  /**
   * @param {string} run
   * @param {string} name
   * @returns {Promise<ArrayBuffer>} raw little-endian bytes, in canonical order
   */
  async fetchInput(run, name) {
    const response = await send(`/api/runs/${run}/inputs/${name}`, {});
    return response.arrayBuffer();
  }

  /**
   * @param {string} run
   * @param {string} name
   * @param {Uint8Array<ArrayBuffer>} bytes
   */
  async putTensor(run, name, bytes) {
    await send(`/api/runs/${run}/tensors/${name}`, {
      method: "PUT",
      headers: {
        "Content-Type": "application/octet-stream",
        "Content-Digest": await contentDigest(bytes),
      },
      body: bytes,
    });
  }

  /**
   * @param {string} run
   * @param {import("./runner.js").Done} done
   * @returns {Promise<import("./checks.js").Report>} the verdict
   */
  async postDone(run, done) {
    return (await send(`/api/runs/${run}/done`, json(done))).json();
  }

  /**
   * Says how far a run is.
   *
   * @param {string} run
   * @param {import("./runner.js").Progress} progress
   */
  async postProgress(run, progress) {
    await send(`/api/runs/${run}/progress`, json(progress));
  }

  /** @param {object} environment */
  async postEnvironment(environment) {
    await send(`/api/pages/${this.page}/environment`, json(environment));
  }

  /**
   * Asks for runs, on this page unless `what` names another one; this page is told of them anyway.
   *
   * @param {import("./context.js").RunBody} what
   * @returns {Promise<{runs: string[], cases: string[]}>}
   */
  async requestRuns(what) {
    return (await send("/api/runs", json({ page: this.page, asker: this.page, ...what }))).json();
  }

  /**
   * |error| over allowed of one head of an output, as a safetensors file.
   *
   * @param {string} run
   * @param {string} output
   * @param {Record<string, string>} head `b` and `h`; {} = those of the worst element
   */
  async fetchHeatMap(run, output, head) {
    const query = new URLSearchParams(head);
    return (await send(`/api/runs/${run}/heatmap/${output}?${query}`, {})).arrayBuffer();
  }

  /**
   * The verdict on a run, however long it takes.
   *
   * @param {string} run
   * @returns {Promise<import("./checks.js").Report>}
   * @throws {ServerRefusal} the server does not know the run, or does not answer
   */
  async report(run) {
    for (;;) {
      const found = await this.get(`/api/runs/${run}?wait=${WAIT_S}`);
      if (found.status) return found;
    }
  }

  /** @param {string} run */
  async cancel(run) {
    await send(`/api/runs/${run}/cancel`, { method: "POST" });
  }

  /**
   * @param {string} path
   * @returns {Promise<ArrayBuffer>}
   */
  async bytes(path) {
    return (await send(path, {})).arrayBuffer();
  }

  /**
   * @param {string} path
   * @returns {Promise<any>}
   */
  async get(path) {
    return (await send(path, {})).json();
  }

  /**
   * @param {string} path
   * @param {object} [body]
   * @returns {Promise<any>} undefined for an answer without content
   */
  async post(path, body) {
    const response = await send(path, body ? json(body) : { method: "POST" });
    return response.status === 204 ? undefined : response.json();
  }
}

/**
 * An id that nobody guesses: 128 bits, URL-safe.
 *
 * `crypto.randomUUID` needs a secure context; `getRandomValues` does not, and this page has to
 * come up in an insecure one to say so.
 */
export function newPageId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * RFC 9530.
 *
 * @param {Uint8Array<ArrayBuffer>} bytes
 */
export async function contentDigest(bytes) {
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return `sha-256=:${btoa(String.fromCharCode(...hash))}:`;
}

/** @param {object} body */
function json(body) {
  return {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  };
}

/** An answer of the server that is not a success. `status` is 0 if there was no answer. */
class ServerRefusal extends RunError {
  /**
   * @param {number} status
   * @param {string} message
   */
  constructor(status, message) {
    super("page", message);
    this.status = status;
  }
}

/**
 * @param {string} path
 * @param {RequestInit} init
 */
export async function send(path, init) {
  const call = `${init.method ?? "GET"} ${path}`;
  let response;
  try {
    response = await fetch(path, init);
  } catch {
    throw new ServerRefusal(0, `${call}: the server does not answer`);
  }
  if (!response.ok) throw new ServerRefusal(response.status, await problemOf(response));
  return response;
}

/**
 * The detail of a problem JSON (RFC 9457), or the bare status.
 *
 * @param {Response} response
 */
async function problemOf(response) {
  const bare = `HTTP ${response.status} ${response.statusText}`.trim();
  const type = response.headers.get("Content-Type") ?? "";
  if (!type.includes("json")) return bare;
  const problem = await response.json().catch(() => ({}));
  return problem.detail || problem.title || bare;
}
