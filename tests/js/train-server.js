// A page's training session with a server and a runner that do what a test says.
import assert from "node:assert/strict";
import { TrainSession } from "../../static/js/train-session.js";
import { gate } from "./session-server.js";

/** @typedef {import("../../static/js/train-runner.js").TrainHooks} TrainHooks */
/** @typedef {{path: string, body: any}} Posted */

export const settled = (ms = 5) => new Promise((resolve) => setTimeout(resolve, ms));
export const OK = { status: "ok", attention_passes: 4, kernels: [], size_bytes: 1, error: null };

/** A transport that answers as our server does, unless told to refuse. */
class Server {
  page = "this-page";
  /** @type {Posted[]} */
  posted = [];
  /** @type {Map<string, (data: any) => void>} */
  listeners = new Map();
  /** @type {Record<string, any>} what GET says, by training */
  known = {};
  refuse = "";
  /** The job is sent before the request for it is answered. */
  hasty = false;

  /** @param {string} type @param {(data: any) => void} then */
  listen(type, then) {
    this.listeners.set(type, then);
  }

  /** @param {string} type @param {object} data */
  send(type, data) {
    this.listeners.get(type)?.(data);
  }

  /** @param {string} path @param {any} [body] */
  async post(path, body) {
    await settled(1);
    if (this.refuse && path.includes(this.refuse)) {
      throw Object.assign(new Error(`${path} was refused`), { status: 409 });
    }
    this.posted.push({ path, body });
    if (path === "/api/trainings") {
      if (this.hasty) this.send("train", job("t1"));
      await settled(1);
      return { training: "t1" };
    }
    if (path.endsWith("/cancel")) {
      const training = path.split("/")[3];
      this.send("train-cancel", { training });
      this.send("train-verdict", { report: report(training, "error", "stopped") });
    }
    if (path.endsWith("/done")) return report(path.split("/")[3], "pass", "fine");
    return undefined;
  }

  /** @param {string} path */
  async get(path) {
    const found = this.known[path.split("/")[3]];
    if (!found) throw Object.assign(new Error("unknown"), { status: 404 });
    return found;
  }

  /** @param {string} end */
  sent(end) {
    return this.posted.filter(({ path }) => path.endsWith(end)).map(({ body }) => body);
  }
}

/** @param {string} training @param {string | null} status @param {string} message */
export function report(training, status, message) {
  return { training, state: status ?? "sent", status, message, losses: [], twin: [] };
}

/** @param {string} training */
export function job(training) {
  return { training, preset: "tiny", gate: "drift", attention: "fa2", steps: 2 };
}

/** @param {(hooks: TrainHooks) => Promise<any>} [work] */
export function bench(work = async (hooks) => steps(hooks, [5, 4])) {
  const server = new Server();
  /** @type {string[]} */
  const started = [];
  const runner = {
    /** @param {{training: string}} job @param {TrainHooks} hooks */
    async run({ training }, hooks) {
      started.push(training);
      return work(hooks);
    },
  };
  const session = new TrainSession(
    /** @type {any} */ (server),
    async () => /** @type {any} */ (runner),
    { onChange() {}, onDone() {} },
  );
  return { server, session, started };
}

/** @param {TrainHooks} hooks @param {number[]} losses */
export function steps(hooks, losses) {
  for (const loss of losses) hooks.onStep(loss, 1e6);
  return OK;
}

/** What a runner says when its signal comes. @param {TrainHooks} hooks */
export const untilStopped = ({ signal }) =>
  new Promise((resolve) =>
    signal.addEventListener("abort", () =>
      resolve({ ...OK, status: "error", error: { kind: "stopped", message: "" } }),
    ),
  );

/** @param {TrainSession} session */
export async function over(session) {
  for (let n = 0; n < 100 && (session.busy || !session.shown); n++) await settled();
  assert.ok(session.shown);
  return session.shown;
}

/** Holds progress back on its way until what is returned is called. @param {Server} server */
export function held(server) {
  const post = server.post.bind(server);
  const { opened, open } = gate();
  server.post = async (path, body) => {
    if (path.endsWith("/progress")) await opened;
    return post(path, body);
  };
  return open;
}

export const WHAT = /** @type {const} */ ({ preset: "tiny", gate: "drift", attention: "fa2" });
