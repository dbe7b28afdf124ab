// @ts-check
import { formatDuration, plural } from "../format.js";
import { h } from "../ui/dom.js";
import { nameOf } from "./curves.js";
import { when } from "./list.js";

/** @typedef {import("./report.js").Kept} Kept */
/** @typedef {[string, string][]} Facts */

/**
 * Terms and what they are; what is empty is left out.
 *
 * @param {Facts} facts
 */
export function factList(facts) {
  const lines = facts.filter(([, text]) => text);
  return h(
    "dl",
    { class: "facts" },
    ...lines.map(([term, text]) => h("div", {}, h("dt", {}, term), h("dd", {}, text))),
  );
}

/**
 * What is told of everything that the history keeps.
 *
 * @param {Kept} kept
 * @returns {Facts}
 */
export function commonFacts(kept) {
  return [
    ["Run", kept.run],
    ["Finished", `${when(kept.finished)}, asked for by: ${kept.origin}`],
    ["Kernel", kept.own ? `${kept.own} (not one of ours)` : nameOf(kept)],
    ["Adapter", kept.adapter ?? ""],
    ["Engine", kept.engine],
    ["Time on the page", kept.elapsed_ns === null ? "" : formatDuration(kept.elapsed_ns)],
    ["GPU time", kept.gpu_ns === null ? "" : formatDuration(kept.gpu_ns)],
  ];
}

/**
 * The files that it was made of, edited ones first.
 *
 * @param {Kept} kept
 * @param {readonly string[]} named  those that are known to be edited
 */
export function textList(kept, named = []) {
  const edited = new Set(named);
  const first = (/** @type {string} */ path) => edited.has(path) || path.startsWith("own/");
  const paths = Object.keys(kept.texts).sort((a, b) => Number(first(b)) - Number(first(a)));
  if (!paths.length) return null;
  const items = paths.map((path) =>
    h(
      "li",
      {},
      h("a", { href: `/api/history/${kept.run}/texts/${kept.texts[path].sha256}` }, path),
      edited.has(path) ? " edited" : "",
    ),
  );
  return h(
    "details",
    { open: edited.size > 0 || Boolean(kept.own) },
    h("summary", {}, `${plural(paths.length, "file")} that it was made of`),
    h("ul", { class: "history-texts mono" }, ...items),
  );
}
