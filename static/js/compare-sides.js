// @ts-check

/** What may be compared: the options of a side, and what each adds to a request. */

/** @typedef {import("./compare-session.js").SideBody} SideBody */

/**
 * @typedef {object} SideOption
 * @property {string} value  "kernel:NAME", "edited", "own" or "run:ID"
 * @property {string} label
 * @property {boolean} [disabled]
 *
 * @typedef {object} Group
 * @property {string} label
 * @property {SideOption[]} options
 *
 * @typedef {object} KeptRun one of GET /api/history
 * @property {string} run
 * @property {string} kind
 * @property {string} case
 * @property {string} kernel
 * @property {string} own
 * @property {string} status
 * @property {string} finished
 */

/**
 * @param {object} known
 * @param {{name: string, op: string}[]} known.kernels  the registry
 * @param {string} known.op       of the case on show; "" if there is none
 * @param {string[]} known.edited  paths of the edited shader files
 * @param {string} known.own       name of one's own kernel; "" if none is loaded
 * @param {KeptRun[]} known.kept   runs of the history, newest first
 * @param {string} known.asked     the id of a run that the URL names; "" if it names none
 * @returns {Group[]}
 */
export function groupsOf({ kernels, op, edited, own, kept, asked }) {
  const named = (/** @type {string} */ name) => ({ value: `kernel:${name}`, label: name });
  const shipped = [
    { value: "kernel:auto", label: "auto: the best for this device" },
    ...["fa2", "baseline"].map(named),
    ...kernels
      .filter((row) => (op ? row.op === op : isWhole(row.op)))
      .map(({ name }) => named(name)),
  ];
  const here = [
    {
      value: "edited",
      label: edited.length ? `edited text: ${edited.join(", ")}` : "edited text: nothing is edited",
      disabled: !edited.length,
    },
    {
      value: "own",
      label: own ? `own kernel: ${own}` : "own kernel: none is loaded",
      disabled: !own,
    },
  ];
  const runs = kept.map((row) => ({ value: `run:${row.run}`, label: keptLabel(row) }));
  if (asked && !kept.some(({ run }) => run === asked)) {
    runs.unshift({
      value: `run:${asked}`,
      label: `${asked.slice(0, 8)}: the run that the URL names`,
    });
  }
  return [
    { label: "Shipped kernels", options: shipped },
    { label: "On this page", options: here },
    ...(runs.length ? [{ label: "Earlier runs", options: runs }] : []),
  ];
}

/** @param {string} op */
function isWhole(op) {
  return op === "forward" || op === "backward";
}

/** @param {KeptRun} row */
function keptLabel({ run, kernel, own, status, finished, case: id }) {
  const when = finished.slice(0, 16).replace("T", " ");
  return `${run.slice(0, 8)} · ${own || kernel} · ${status} · ${when} · ${id}`;
}

/** The value that a label belongs to, in a few words. @param {string} value @param {Group[]} groups */
export function labelOf(value, groups) {
  const found = groups.flatMap(({ options }) => options).find((one) => one.value === value);
  if (value.startsWith("kernel:")) return value.slice(7);
  if (value.startsWith("run:")) return `run ${value.slice(4, 12)}`;
  return value === "edited" ? "edited text" : (found?.label ?? value);
}
