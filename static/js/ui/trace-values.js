// @ts-check
import { formatValue, plural, toNumber } from "../format.js";
import { h } from "./dom.js";

/** @typedef {import("../trace-view.js").Trace} Trace */

/** Lines of the table; the files hold all values. */
const MOST_LINES = 500;

/**
 * What dbg() told: a table, a filter by tag, and the files.
 *
 * @param {HTMLElement} host
 * @param {Trace} trace
 * @param {string} run
 */
export function showValues(host, trace, run) {
  const { count, shown } = trace.values;
  host.hidden = count === 0;
  if (count === 0) return host.replaceChildren();
  const tags = [...new Set(shown.map(([tag]) => tag))];
  const select = h(
    "select",
    { id: "trace-tag" },
    h("option", { value: "" }, "all tags"),
    ...tags.map((tag) => h("option", { value: tag }, `tag ${tag}`)),
  );
  const body = h("tbody", {});
  const line = h("p", { class: "hint", role: "status" });
  const fill = () => {
    const chosen = shown.filter(([tag]) => select.value === "" || tag === Number(select.value));
    body.replaceChildren(
      ...chosen
        .slice(0, MOST_LINES)
        .map(([tag, workgroup, invocation, component, value]) =>
          h(
            "tr",
            {},
            h(
              "th",
              { scope: "row" },
              component === null ? `${tag}` : `${tag}.${"xyzw"[component]}`,
            ),
            ...[workgroup, invocation].map((n) => h("td", { class: "number" }, String(n))),
            h("td", { class: "number" }, valueText(value)),
          ),
        ),
    );
    const lost = trace.lost ? ` ${plural(trace.lost, "value")} found no room and are lost.` : "";
    const all = count > chosen.length ? ` of ${count}` : "";
    line.textContent = `${Math.min(chosen.length, MOST_LINES)}${all} shown, by tag, workgroup and invocation.${lost}`;
  };
  select.addEventListener("change", fill);
  const link = (/** @type {string} */ kind) =>
    h("a", { href: `/api/runs/${run}/trace/values.${kind}`, download: "" }, `.${kind}`);
  const heads = ["Workgroup", "Invocation", "Value"].map((name) =>
    h("th", { scope: "col", class: "number" }, name),
  );
  host.replaceChildren(
    h("h3", {}, `dbg() told ${plural(count, "value")}`),
    h(
      "div",
      { class: "row" },
      h("div", { class: "field" }, h("label", { for: "trace-tag" }, "Show"), select),
      h("span", {}, "All of them as ", link("npy"), " or ", link("csv")),
    ),
    line,
    h(
      "div",
      { class: "scroll-both", tabindex: 0, role: "region", "aria-label": "Values that dbg() told" },
      h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Tag"), ...heads)), body),
    ),
  );
  fill();
}

/** @param {import("../format.js").Number_} value */
function valueText(value) {
  const number = toNumber(value);
  return number === null ? "–" : formatValue(number);
}
