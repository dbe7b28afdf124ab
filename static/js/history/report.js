// @ts-check
import { formatDuration } from "../format.js";
import { formatTflops } from "../speed-curves.js";
import { figures } from "../ui/detail-figures.js";
import { breakable, h } from "../ui/dom.js";
import { shareLines } from "../ui/share.js";
import { writeOptions } from "../url-options.js";
import { commonFacts, factList, textList } from "./facts.js";
import { goldenParts } from "./golden.js";
import { badge } from "./list.js";
import { trainingParts } from "./training.js";

/** @typedef {import("./curves.js").Row} Row */
/** @typedef {import("../checks.js").Report} Report */

/**
 * A run in full, as the server tells it.
 *
 * @typedef {Row & {shader_sha256: string, report: Report & {report?: Report},
 *   request: {kappa: number, without: string[], seeded: boolean},
 *   outputs: Record<string, {sha256: string, kept: boolean}>,
 *   texts: Record<string, {sha256: string, bytes: number}>}} Kept
 */

/**
 * @param {Kept} kept
 * @param {() => void} onForget
 * @returns {Node[]}
 */
export function reportParts(kept, onForget) {
  // A benchmark has the report of its check inside.
  const judged = kept.kind === "bench" ? (kept.report.report ?? null) : kept.report;
  const { links, parts } = OTHERS[kept.kind]
    ? { links: [], parts: OTHERS[kept.kind](kept) }
    : { links: runLinks(kept, judged), parts: runParts(kept, judged) };
  const all = [
    h("p", { class: "history-case" }, badge(kept.status), " ", h("code", {}, breakable(kept.case))),
    h("p", { class: "row history-actions" }, ...links, forgetButton(onForget)),
    kept.report.message
      ? h("pre", { class: "message", "data-status": kept.status }, kept.report.message)
      : null,
    ...parts,
  ];
  return /** @type {Node[]} */ (all.filter((part) => part !== null));
}

/** What is no run of a case: none of them can be linked to or packed up. */
const OTHERS = /** @type {Record<string, (kept: Kept) => (Node | null)[]>} */ ({
  golden: goldenParts,
  train: trainingParts,
});

/**
 * @param {Kept} kept
 * @param {Report | null} judged
 * @returns {(Node | null)[]}
 */
function runParts(kept, judged) {
  const outputs = Object.keys(judged?.outputs ?? {});
  return [
    judged && outputs.length ? figures(judged, outputs) : null,
    shareLines(
      {
        case: kept.case,
        kappa: kept.request.kappa,
        without: kept.request.without,
        edited: judged?.edited ?? [],
        own: kept.own,
      },
      kept.run,
    ),
    facts(kept, judged),
    textList(kept, judged?.edited),
  ];
}

/**
 * @param {Kept} kept
 * @param {Report | null} judged
 */
function runLinks(kept, judged) {
  const { kappa, without } = kept.request;
  const url = (/** @type {boolean} */ run) =>
    `/webgpu-test${writeOptions({
      ...{ case: kept.case, suite: "", kernel: "", seed: "", page: "", run },
      kappa: kappa === 4 ? "" : String(kappa),
      without: without.join(","),
    })}`;
  const other = kept.own || judged?.edited?.length;
  return [
    h("a", { class: "button", href: url(true) }, other ? "Run the shipped text" : "Run again"),
    h("a", { class: "button", href: `${url(false)}&compare=${kept.run}` }, "Compare with"),
    h(
      "a",
      { class: "button", href: `/api/history/${kept.run}/repro.zip`, download: "" },
      "Repro zip",
    ),
  ];
}

/** Asks once. @param {() => void} onForget */
function forgetButton(onForget) {
  const forget = h("button", { type: "button", class: "quiet push" }, "Forget");
  forget.addEventListener("click", () => {
    if (forget.dataset.asked) return onForget();
    forget.dataset.asked = "1";
    forget.textContent = "Forget it for good?";
  });
  forget.addEventListener("blur", () => {
    delete forget.dataset.asked;
    forget.textContent = "Forget";
  });
  return forget;
}

/**
 * @param {Kept} kept
 * @param {Report | null} judged
 */
function facts(kept, judged) {
  const names = Object.keys(kept.outputs);
  const stored = names.filter((name) => kept.outputs[name].kept);
  return factList([
    ...commonFacts(kept),
    ["Edited files", (judged?.edited ?? []).join(", ")],
    ["Benchmark", benchmark(kept)],
    ["κ", String(kept.request.kappa)],
    ["Inputs", kept.request.seeded ? "" : "the caller's own arrays, which no case id holds"],
    ["Inputs SHA-256", judged?.input_sha256 ?? ""],
    ["Shader SHA-256", judged?.shader_sha256 ?? ""],
    [
      "Outputs kept",
      stored.join(", ") || "none, only their digests: what is right can be computed again",
    ],
  ]);
}

/** @param {Kept} kept */
function benchmark({ median_ns, tflops }) {
  if (median_ns === null) return "";
  return `${formatDuration(median_ns)}, ${formatTflops(tflops)} TFLOP/s`;
}
