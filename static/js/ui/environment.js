// @ts-check
import { formatBytes } from "../format.js";
import { h } from "./dom.js";

/** @typedef {import("../device.js").AdapterFacts} AdapterFacts */
/** @typedef {import("../device.js").NoWebGPU} NoWebGPU */

/** The limits that decide what a compute kernel may do; the others are a click away. */
const COMPUTE_LIMITS = [
  "maxComputeWorkgroupStorageSize",
  "maxComputeInvocationsPerWorkgroup",
  "maxComputeWorkgroupSizeX",
  "maxComputeWorkgroupsPerDimension",
  "maxStorageBuffersPerShaderStage",
  "maxStorageBufferBindingSize",
  "maxBufferSize",
];

const STEPS = /** @type {const} */ (["secure-context", "navigator.gpu", "adapter", "device"]);

/**
 * The environment card.
 *
 * @param {HTMLElement} place
 * @param {object} facts
 * @param {string} facts.engine
 * @param {AdapterFacts | null} facts.adapter
 * @param {Record<string, number>} facts.used  limits of the device in use
 * @param {NoWebGPU | null} facts.missing
 */
export function showEnvironment(place, { engine, adapter, used, missing }) {
  const tables = adapter ? [features(adapter), limits(adapter, used)] : [];
  place.replaceChildren(
    steps(missing),
    h("dl", { class: "facts" }, ...rows(engine, adapter)),
    ...tables,
  );
}

/** @param {NoWebGPU | null} missing */
function steps(missing) {
  const failed = missing ? STEPS.indexOf(missing.step) : STEPS.length;
  return h(
    "ol",
    { class: "steps", "aria-label": "Steps from the page to a device" },
    ...STEPS.map((step, n) => {
      const state = n < failed ? "reached" : n === failed ? "failed" : "not tried";
      const mark = { reached: "✓", failed: "✗", "not tried": "·" }[state];
      return h(
        "li",
        { "data-state": state },
        h("span", { class: "mark", "aria-hidden": "true" }, mark),
        step.replace("-", " "),
        h("span", { class: "visually-hidden" }, `: ${state}`),
      );
    }),
  );
}

/**
 * @param {string} engine
 * @param {AdapterFacts | null} adapter
 */
function rows(engine, adapter) {
  const facts = /** @type {[string, string][]} */ ([
    ["Browser", engine],
    ["Origin", `${location.origin}${crossOriginIsolated ? " (cross-origin isolated)" : ""}`],
  ]);
  if (adapter) {
    const { vendor, architecture, device, description, fallback } = adapter;
    facts.push(
      ["Adapter", [vendor, architecture, device].filter(Boolean).join(" ") || "not named"],
      ["Description", description || "not given"],
      ["Kind", fallback ? "software: computes on the CPU" : "hardware"],
    );
  }
  return facts.map(([term, text]) => h("div", {}, h("dt", {}, term), h("dd", {}, text)));
}

/** @param {AdapterFacts} adapter */
function features({ features: names }) {
  return h(
    "details",
    {},
    h("summary", {}, `Features (${names.length})`),
    h("ul", { class: "features" }, ...names.map((name) => h("li", {}, name))),
  );
}

/**
 * @param {AdapterFacts} adapter
 * @param {Record<string, number>} used
 */
function limits(adapter, used) {
  const others = Object.keys(adapter.limits)
    .filter((name) => !COMPUTE_LIMITS.includes(name))
    .sort();
  const table = (/** @type {string[]} */ names) =>
    h(
      "table",
      { class: "limits" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("th", { scope: "col" }, "Limit"),
          h("th", { scope: "col", class: "number" }, "Used"),
          h("th", { scope: "col", class: "number" }, "Available"),
        ),
      ),
      h(
        "tbody",
        {},
        ...names.map((name) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, spaced(name)),
            h("td", { class: "number" }, amount(name, used[name])),
            h("td", { class: "number" }, amount(name, adapter.limits[name])),
          ),
        ),
      ),
    );
  return h(
    "div",
    {},
    table(COMPUTE_LIMITS.filter((name) => name in adapter.limits)),
    h("details", {}, h("summary", {}, `Other limits (${others.length})`), table(others)),
  );
}

/**
 * A name that may break before its capitals.
 *
 * @param {string} name
 */
function spaced(name) {
  const parts = name.split(/(?=[A-Z])/);
  const fragment = document.createDocumentFragment();
  for (const part of parts) fragment.append(part, document.createElement("wbr"));
  return fragment;
}

/**
 * @param {string} name
 * @param {number | undefined} value
 */
function amount(name, value) {
  if (value === undefined) return "–";
  return name.endsWith("Size") && value >= 1024 ? formatBytes(value) : String(value);
}
