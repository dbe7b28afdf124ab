// @ts-check
/** TensorFlow.js on tfjs-backend-webgpu: attention out of its operations, gradients by its tape. */

const FILES = [
  "/peers/@tensorflow/tfjs/dist/tf.es2017.min.js",
  "/peers/@tensorflow/tfjs-backend-webgpu/dist/tf-backend-webgpu.es2017.min.js",
];
const MASKED = -1e9;

/** @type {import("./subject.js").Prepare} */
export async function prepare({ spec, inputs }, devices) {
  for (const file of FILES) await loadScript(file);
  const { tf } = /** @type {any} */ (globalThis);
  tf.enableProdMode();
  if (!(await tf.setBackend("webgpu"))) throw new Error("its WebGPU backend did not start");
  await tf.ready();
  const [device] = devices.all;
  const backend = tf.backend();
  const { B, Tq, Tk, H, D, causal, scale } = spec;
  const offset = spec.align === "br" ? Tk - Tq : 0;

  // Its matrix products are of the last two axes: heads come before rows.
  /** @param {"q" | "k" | "v" | "do"} name @param {number} T */
  const upload = (name, T) =>
    tf.tidy(() => tf.transpose(tf.tensor4d(inputs[name], [B, T, H, D]), [0, 2, 1, 3]));
  const q = upload("q", Tq);
  const k = upload("k", Tk);
  const v = upload("v", Tk);
  const dO = spec.op === "backward" ? upload("do", Tq) : null;
  const mask = causal ? tf.tensor2d(maskOf(Tq, Tk, offset), [Tq, Tk]) : null;

  const attention = (/** @type {any} */ q, /** @type {any} */ k, /** @type {any} */ v) => {
    const scores = tf.mul(tf.matMul(q, k, false, true), scale);
    return tf.matMul(tf.softmax(mask ? tf.add(scores, mask) : scores), v);
  };
  const withGradients = tf.valueAndGrads(attention);
  /** @type {Record<string, any>} */
  let last = {};
  const dispose = (/** @type {Record<string, any>} */ tensors) =>
    tf.dispose(Object.values(tensors));
  return {
    call() {
      const before = last;
      if (dO) {
        const { value, grads } = withGradients([q, k, v], dO);
        last = { o: value, dq: grads[0], dk: grads[1], dv: grads[2] };
      } else {
        last = { o: tf.tidy(() => attention(q, k, v)) };
      }
      dispose(before);
    },
    async drain() {
      // It submits after every 15 dispatches; the rest has to be sent off.
      if (backend.commandEncoder) {
        backend.endComputePassEncoder();
        backend.submitQueue();
      }
      await device.queue.onSubmittedWorkDone();
    },
    async read() {
      const read = Object.entries(last).map(async ([name, tensor]) => {
        const rows = tf.tidy(() => tf.transpose(tensor, [0, 2, 1, 3]));
        const data = await rows.data();
        rows.dispose();
        return [name, data];
      });
      return Object.fromEntries(await Promise.all(read));
    },
    dispose() {
      dispose(last);
      tf.dispose([q, k, v, dO, mask].filter(Boolean));
    },
  };
}

/**
 * Added to the scores: row i sees the keys up to i + offset.
 *
 * @param {number} Tq
 * @param {number} Tk
 * @param {number} offset
 */
function maskOf(Tq, Tk, offset) {
  const mask = new Float32Array(Tq * Tk);
  for (let i = 0; i < Tq; i++) {
    mask.fill(MASKED, i * Tk + Math.max(0, Math.min(Tk, i + offset + 1)), (i + 1) * Tk);
  }
  return mask;
}

/** A classic script, which leaves its names in the global scope. @param {string} src */
async function loadScript(src) {
  const script = document.createElement("script");
  script.src = src;
  await new Promise((resolve, reject) => {
    script.onload = resolve;
    script.onerror = () => reject(new Error(`${src} could not be loaded`));
    document.head.append(script);
  });
}
