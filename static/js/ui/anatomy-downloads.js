// @ts-check
import { h } from "./dom.js";

/** What an array's name ends in, and what people call that. @type {[string, string][]} */
const KINDS = [
  [".expected", "reference"],
  [".allowed", "allowed"],
  [".difference", "difference"],
];

/**
 * Links to every array of a run, and to all of them in one file.
 *
 * @param {string} run
 * @param {string[]} names  as the server lists them
 */
export function downloads(run, names) {
  const outputs = names.filter((name) => names.includes(`${name}.expected`));
  const inputs = names.filter((name) => !name.includes(".") && !outputs.includes(name));
  const link = (/** @type {string} */ name, /** @type {string} */ text) =>
    h("a", { href: `/api/runs/${run}/arrays/${name}`, download: `${run}-${name}.npy` }, text);
  return [
    h(
      "p",
      {},
      h(
        "a",
        { class: "button", href: `/api/runs/${run}/run.npz`, download: `${run}.npz` },
        "All arrays and the report (.npz)",
      ),
    ),
    h("p", {}, "Inputs: ", ...spaced(inputs.map((name) => link(name, `${name}.npy`)))),
    ...outputs.map((name) =>
      h(
        "p",
        {},
        `${name}: `,
        ...spaced([
          link(name, "actual"),
          ...KINDS.map(([suffix, text]) => link(name + suffix, text)),
        ]),
      ),
    ),
  ];
}

/** @param {HTMLElement[]} links */
function spaced(links) {
  return links.flatMap((link) => [link, " "]);
}
