// @ts-check
/**
 * The page of `fa2 bench --peers`: asks for a comparison, does it, and reloads, so that no library
 * finds what another one left behind.
 */
import { DeviceKeeper, NoWebGPU } from "../../device.js";
import { engineName } from "../../engine.js";
import { inputDigest, makeInputs } from "../../inputs.js";
import { asRunError } from "../../run-error.js";
import { contentDigest, send } from "../../transport.js";
import { Watch } from "../../watch.js";
import { comparePeer, firstCall } from "./compare.js";

/** @typedef {import("./subject.js").Prepare} Prepare */

/**
 * @typedef {object} Job
 * @property {string} comparison
 * @property {string} case
 * @property {import("../../runner.js").Spec} spec
 * @property {string} kernel
 * @property {import("../../transport.js").Want[]} want
 * @property {string[]} outputs   those that are judged
 * @property {string[]} peers
 * @property {Record<string, string>} models
 * @property {number} pairs
 * @property {number} sample_ms   one sample of a pair lasts at least
 * @property {number} limit_ms    for the pairs of one peer
 * @property {number} deadline_ms for each sign of life
 */

const ASK_MS = 150;
const OURS = "ours";

/** Loaded one after the other, when their turn has come. @type {Record<string, () => Promise<{prepare: Prepare}>>} */
const LIBRARIES = {
  ort: () => import("./ort.js"),
  jax: () => import("./jax.js"),
  tfjs: () => import("./tfjs.js"),
};

const query = new URLSearchParams(location.search);
const devices = new DeviceKeeper((query.get("without") ?? "").split(",").filter(Boolean));
const line = /** @type {HTMLElement} */ (document.getElementById("doing"));

await introduce();
for (;;) {
  const response = await send("/api/peers/job", {});
  if (response.status === 200) {
    await take(await response.json());
    break;
  }
  await new Promise((resolve) => setTimeout(resolve, ASK_MS));
}
location.reload();

/** Tells the server what this page has found, as every page does. */
async function introduce() {
  const engine = await engineName(navigator);
  /** @type {object} */
  let found;
  try {
    await devices.acquire({});
    found = { ok: true, adapter: devices.adapter };
  } catch (error) {
    if (!(error instanceof NoWebGPU)) throw error;
    found = { ok: false, step: error.step, message: error.message };
  }
  await post(`/api/pages/${query.get("page")}/environment`, { ...found, engine });
}

/** @param {Job} job */
async function take(job) {
  const url = `/api/peers/${job.comparison}`;
  const watch = new Watch(job.deadline_ms, new AbortController().signal);
  const done = {
    peers: /** @type {object[]} */ ([]),
    kernel: job.kernel,
    input_sha256: "",
    ours_first_call_ns: /** @type {number | null} */ (null),
    adapter: devices.adapter,
    engine: await engineName(navigator),
    error: "",
  };
  try {
    await compare(job, url, watch, done);
  } catch (thrown) {
    done.error = (watch.cause ?? asRunError(thrown)).message;
  } finally {
    watch.close();
  }
  await post(`${url}/done`, done);
}

/**
 * @param {Job} job
 * @param {string} url
 * @param {Watch} watch
 * @param {{peers: object[], kernel: string, input_sha256: string, ours_first_call_ns: number | null}} done
 *   filled in as things become known
 */
async function compare(job, url, watch, done) {
  const { spec, kernel, want } = job;
  const hooks = {
    watch,
    onProgress: (/** @type {string} */ phase) => {
      watch.restart(job.deadline_ms);
      line.textContent = `${job.case} · ${phase}`;
      post(`${url}/progress`, { phase }).catch(() => {}); // nothing depends on it
    },
    judge: async (/** @type {string} */ subject, /** @type {Record<string, any>} */ outputs) => {
      for (const name of job.outputs) await put(`${url}/outputs/${subject}/${name}`, outputs[name]);
      return (await send(`${url}/check/${subject}`, { method: "POST" })).json();
    },
  };
  hooks.onProgress("making the inputs");
  const inputs = makeInputs(spec);
  done.input_sha256 = await inputDigest(inputs);
  const task = { spec, inputs, kernel, want, model: "" };
  const { prepare } = await import("./ours.js");
  const ours = await watch.race("preparing our kernel", prepare(task, devices));
  const first = await firstCall(OURS, ours, hooks);
  Object.assign(done, { kernel: ours.name, ours_first_call_ns: first.firstCallNs });
  if (!first.right) return;
  const software = devices.adapter?.fallback ?? false;
  const how = {
    pairs: job.pairs,
    sampleMs: job.sample_ms,
    limitMs: job.limit_ms,
    software,
  };
  for (const peer of job.peers) {
    const asked = { ...task, model: job.models[peer] ?? "" };
    /** @type {Prepare} */
    const load = async (task, opened) => (await LIBRARIES[peer]()).prepare(task, opened);
    done.peers.push(await comparePeer(peer, load, asked, ours, how, hooks));
  }
}

/** @param {string} path @param {object} body */
function post(path, body) {
  const headers = { "Content-Type": "application/json" };
  return send(path, { method: "POST", headers, body: JSON.stringify(body) });
}

/** @param {string} path @param {ArrayBufferView<ArrayBuffer>} view */
async function put(path, { buffer, byteOffset, byteLength }) {
  const body = new Uint8Array(buffer, byteOffset, byteLength);
  const headers = {
    "Content-Type": "application/octet-stream",
    "Content-Digest": await contentDigest(body),
  };
  await send(path, { method: "PUT", headers, body });
}
