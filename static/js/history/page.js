// @ts-check
import { formatDuration, formatRatio, plural } from "../format.js";
import { asRunError } from "../run-error.js";
import { send } from "../transport.js";
import { byId, h } from "../ui/dom.js";
import { nameOf, timeDrawing, timeOf, worstDrawing } from "./curves.js";
import { RunList, when } from "./list.js";
import { Plot } from "./plot.js";
import { FILTERS, filtered, listUrl, pageUrl, readQuery } from "./query.js";
import { reportParts } from "./report.js";

/** The page of earlier runs: which, how they changed over time, and one of them in full. */

/** @typedef {import("./curves.js").Row} Row */

/** As many rows as the page asks for at a time. */
const AT_ONCE = 200;
/** Styles that lines have; kernels beyond share them. */
const STYLES = 6;

const main = /** @type {HTMLElement} */ (document.querySelector("main"));
const form = /** @type {HTMLFormElement} */ (byId("filters"));
const count = byId("count");
const legend = byId("legend");
const report = byId("report-body");
const older = /** @type {HTMLButtonElement} */ (byId("older"));
const list = new RunList(byId("rows"), {
  href: (run) => pageUrl(query, run),
  onChoose: (run) => open(run, true),
});
const plots = {
  worst: new Plot({
    title: "Worst |error| / allowed",
    tick: power,
    say: (row) => `${formatRatio(row.worst)} · ${told(row)}`,
    onChoose: (run) => open(run, true),
    limit: 1,
  }),
  time: new Plot({
    title: "Time",
    tick: (ns) => formatDuration(ns),
    say: (row) => `${formatDuration(timeOf(row))} · ${told(row)}`,
    onChoose: (run) => open(run, true),
  }),
};
byId("plots").append(plots.worst.element, plots.time.element);

let { query, run: chosen } = readQuery(location.search);
/** @type {Row[]} */
let rows = [];
/** @type {number | null} */
let next = null;
let kept = true;
/** Counts the requests: an answer that is late for what is asked now is dropped. */
let request = 0;
let opening = 0;

fill();
form.addEventListener("submit", (event) => {
  event.preventDefault();
  ask();
});
form.addEventListener("change", ask);
byId("reset").addEventListener("click", () => {
  form.reset();
  for (const key of FILTERS) field(key).value = "";
  ask();
});
older.addEventListener("click", () => load(next));
addEventListener("popstate", () => {
  ({ query, run: chosen } = readQuery(location.search));
  fill();
  load(null);
  open(chosen, false);
});
load(null);
open(chosen, false);

/** @param {keyof import("./query.js").Query} key */
function field(key) {
  return /** @type {HTMLInputElement | HTMLSelectElement} */ (form.elements.namedItem(key));
}

/** The form as the query says. */
function fill() {
  for (const key of FILTERS) {
    const element = field(key);
    if (element instanceof HTMLSelectElement && !hasOption(element, query[key])) {
      element.append(new Option(query[key], query[key])); // typed into the URL
    }
    element.value = query[key];
  }
}

/**
 * @param {HTMLSelectElement} select
 * @param {string} value
 */
function hasOption(select, value) {
  return [...select.options].some((option) => option.value === value);
}

/** What the form says now. */
function ask() {
  const said = Object.fromEntries(FILTERS.map((key) => [key, field(key).value.trim()]));
  query = /** @type {import("./query.js").Query} */ (said);
  const url = pageUrl(query, chosen);
  // Enter changes a field and submits the form: one question, one step back.
  if (url === location.pathname + location.search) return load(null);
  history.pushState(null, "", url);
  return load(null);
}

/** @param {number | null} before  the `next` of the page before; null = from the newest */
async function load(before) {
  const mine = ++request;
  main.dataset.state = "loading";
  try {
    const answer = await (await send(listUrl(query, AT_ONCE, before), {})).json();
    if (mine !== request) return;
    rows = before === null ? answer.runs : [...rows, ...answer.runs];
    ({ next, kept } = answer);
    fault("");
  } catch (error) {
    if (mine !== request) return;
    fault(asRunError(error).message);
  }
  show();
  main.dataset.state = "ready";
}

/** @param {string} message "" = none */
function fault(message) {
  byId("notices").replaceChildren(
    ...(message ? [h("p", { class: "notice notice-stop", role: "alert" }, message)] : []),
  );
}

function show() {
  const some = rows.length > 0;
  byId("found").hidden = !some;
  byId("empty").hidden = some;
  if (!some) byId("empty").replaceChildren(...whyEmpty());
  count.textContent = some
    ? `${plural(rows.length, "run")}${next === null ? "" : ", and older ones"}`
    : "";
  older.hidden = next === null;
  list.show(rows, chosen);
  const worst = worstDrawing(rows);
  plots.worst.show(worst);
  plots.time.show(timeDrawing(rows));
  legend.replaceChildren(...worst.kernels.map(sample));
}

/**
 * @param {string} name
 * @param {number} n
 */
function sample(name, n) {
  return h(
    "li",
    { class: `sample series-${n % STYLES}` },
    h("span", { class: "dot", "aria-hidden": "true" }),
    name,
  );
}

/** @returns {(Node | string)[]} */
function whyEmpty() {
  if (!kept) {
    return [
      "This server keeps no history: it was started with ",
      h("code", {}, "--no-history"),
      " or with FA2_HISTORY=0.",
    ];
  }
  if (filtered(query)) return ["No run is like that. Ask for less, or reset the filters."];
  return [
    "No runs yet. ",
    h("a", { href: "/webgpu-test?suite=seed&run=1" }, "Run the suite seed"),
    " here, or ",
    h("code", {}, "fa2 run"),
    " on a terminal: what is judged lands here.",
  ];
}

/**
 * Puts a run's report on show.
 *
 * @param {string} run "" = none
 * @param {boolean} asked  by a person, who is then taken there
 */
async function open(run, asked) {
  chosen = run;
  list.mark(run);
  const mine = ++opening;
  if (asked) history.pushState(null, "", pageUrl(query, run));
  if (!run) {
    report.replaceChildren(h("p", { class: "empty" }, "Choose a run: its report appears here."));
    return;
  }
  try {
    const found = await (await send(`/api/history/${encodeURIComponent(run)}`, {})).json();
    if (mine !== opening) return;
    report.replaceChildren(...reportParts(found, () => forget(run)));
  } catch (error) {
    if (mine !== opening) return;
    report.replaceChildren(h("p", { class: "notice notice-stop" }, asRunError(error).message));
  }
  if (asked) byId("report").focus();
}

/** @param {string} run */
async function forget(run) {
  try {
    await send(`/api/history/${run}`, { method: "DELETE" });
    history.replaceState(null, "", pageUrl(query, ""));
    await Promise.all([open("", false), load(null)]);
    byId("report").focus();
  } catch (error) {
    fault(asRunError(error).message);
  }
}

/** A run in a line, after its number. @param {Row} row */
function told(row) {
  return `${row.status} · ${nameOf(row)} · ${row.case} · ${when(row.finished)}`;
}

/** A power of ten, as short as it goes. @param {number} value */
function power(value) {
  return value >= 0.01 && value <= 1000
    ? String(Number(value.toPrecision(3)))
    : value.toExponential(0).replace("e+", "e");
}
