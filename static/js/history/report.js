// @ts-check
import { formatDuration, plural } from "../format.js";
import { formatTflops } from "../speed-curves.js";
import { figures } from "../ui/detail-figures.js";
import { breakable, h } from "../ui/dom.js";
import { shareLines } from "../ui/share.js";
import { writeOptions } from "../url-options.js";
import { nameOf } from "./curves.js";
import { badge, when } from "./list.js";

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
  const judged = kept.kind === "run" ? kept.report : (kept.report.report ?? null);
  return [
    h("p", { class: "history-case" }, badge(kept.status), " ", h("code", {}, breakable(kept.case))),
    actions(kept, judged, onForget),
    h("pre", { class: "message", "data-status": kept.status }, kept.report.message),
    ...(judged && Object.keys(judged.outputs).length
      ? [figures(judged, Object.keys(judged.outputs))]
      : []),
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
    texts(kept, judged),
  ];
}

/**
 * @param {Kept} kept
 * @param {Report | null} judged
 * @param {() => void} onForget
 */
function actions(kept, judged, onForget) {
  const { kappa, without } = kept.request;
  const url = (/** @type {boolean} */ run) =>
    `/webgpu-test${writeOptions({
      ...{ case: kept.case, suite: "", kernel: "", seed: "", page: "", run },
      kappa: kappa === 4 ? "" : String(kappa),
      without: without.join(","),
    })}`;
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
  const other = kept.own || judged?.edited?.length;
  return h(
    "p",
    { class: "row history-actions" },
    h("a", { class: "button", href: url(true) }, other ? "Run the shipped text" : "Run again"),
    h("a", { class: "button", href: `${url(false)}&compare=${kept.run}` }, "Compare with"),
    h(
      "a",
      { class: "button", href: `/api/history/${kept.run}/repro.zip`, download: "" },
      "Repro zip",
    ),
    forget,
  );
}

/**
 * @param {Kept} kept
 * @param {Report | null} judged
 */
function facts(kept, judged) {
  const names = Object.keys(kept.outputs);
  const stored = names.filter((name) => kept.outputs[name].kept);
  const lines = /** @type {[string, string][]} */ ([
    ["Run", kept.run],
    ["Finished", `${when(kept.finished)}, asked for by: ${kept.origin}`],
    ["Kernel", kept.own ? `${kept.own} (not one of ours)` : nameOf(kept)],
    ["Edited files", (judged?.edited ?? []).join(", ")],
    ["Adapter", kept.adapter ?? ""],
    ["Engine", kept.engine],
    ["Time on the page", formatDuration(kept.elapsed_ns)],
    ["GPU time", kept.gpu_ns === null ? "" : formatDuration(kept.gpu_ns)],
    ["Benchmark", benchmark(kept)],
    ["κ", String(kept.request.kappa)],
    ["Inputs", kept.request.seeded ? "" : "the caller's own arrays, which no case id holds"],
    ["Inputs SHA-256", judged?.input_sha256 ?? ""],
    ["Shader SHA-256", judged?.shader_sha256 ?? ""],
    [
      "Outputs kept",
      stored.join(", ") || "none, only their digests: what is right can be computed again",
    ],
  ]).filter(([, text]) => text);
  return h(
    "dl",
    { class: "facts" },
    ...lines.map(([term, text]) => h("div", {}, h("dt", {}, term), h("dd", {}, text))),
  );
}

/** @param {Kept} kept */
function benchmark({ median_ns, tflops }) {
  if (median_ns === null) return "";
  return `${formatDuration(median_ns)}, ${formatTflops(tflops)} TFLOP/s`;
}

/**
 * The files that the run was made of, edited ones first.
 *
 * @param {Kept} kept
 * @param {Report | null} judged
 */
function texts(kept, judged) {
  const edited = new Set(judged?.edited ?? []);
  const first = (/** @type {string} */ path) => edited.has(path) || path.startsWith("own/");
  const paths = Object.keys(kept.texts).sort((a, b) => Number(first(b)) - Number(first(a)));
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
