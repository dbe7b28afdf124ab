// @ts-check
import { checksOf, summarise } from "./checks.js";
import { DeviceKeeper, NoWebGPU } from "./device.js";
import { engineName } from "./engine.js";
import { toNumber } from "./format.js";
import { lazy, loaded } from "./lazy.js";
import { pageName, storageOf } from "./page-name.js";
import { asRunError } from "./run-error.js";
import { allSections } from "./sections/all.js";
import { Session } from "./session.js";
import { newPageId, Transport } from "./transport.js";
import { TunedTables } from "./tuned-tables.js";
import { CheckList } from "./ui/check-list.js";
import { Chooser } from "./ui/chooser.js";
import { Detail } from "./ui/detail.js";
import { byId } from "./ui/dom.js";
import { showEnvironment } from "./ui/environment.js";
import { ListTools } from "./ui/list-tools.js";
import { Notices } from "./ui/notices.js";
import { SectionNav } from "./ui/section-nav.js";
import { Shortcuts } from "./ui/shortcuts.js";
import { Verdict } from "./ui/verdict.js";
import { asRun, readOptions, sameChoice, writeOptions } from "./url-options.js";

/** The page: connects, runs what it is sent or asked to run, shows what the judge says. */

/** @typedef {import("./context.js").RunBody} RunBody */

const DEFAULT_SUITE = "seed";
const DRAW_MS = 100;

const main = /** @type {HTMLElement} */ (document.querySelector("main"));
const options = readOptions(location.search);
const devices = new DeviceKeeper(options.without.split(",").filter(Boolean));
const notices = new Notices(byId("notices"));
const verdict = new Verdict();
const checks = new CheckList(byId("lines"), choose);
const listTools = new ListTools(checks);

/** @type {Record<string, string[]>} */
let suites = {};
/** @type {NoWebGPU | null} */
let missing = null;
let lookedForDevice = false;
let connected = false;
let mayStartAtOnce = options.run;
/** @type {Set<import("./checks.js").Entry>} what the list does not show yet */
const changed = new Set();
let activity = "";
let drawn = 0;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let drawing;

const engine = engineName(navigator);
const transport = new Transport(options.page || newPageId(), {
  onJob: (job) => session.take(job),
  onCancel: (run) => session.cancelled(run),
  onVerdict: (run, report) => session.verdict(run, report),
  onConnection: showConnection,
});
const tables = new TunedTables((path) => transport.get(path));
const runner = lazy(async () => {
  const { Runner } = await loaded("what runs kernels", import("./runner.js"));
  return new Runner({
    devices,
    engine: await engine,
    fetchInput: (run, name) => transport.fetchInput(run, name),
    tables,
  });
});
const session = new Session(transport, runner, {
  onList: showList,
  onAdd: (entry) => {
    checks.add(entry);
    refresh();
  },
  onUpdate: (entry) => {
    changed.add(entry);
    refresh();
    if (entry.report) tell((section) => section.judged?.(entry));
    if (session.own && session.over && !detail.entry) showMostTelling();
  },
  onActivity: (text) => {
    activity = text;
    refresh();
  },
  onResult: ({ done }) => {
    // Adapters come and go: a crashed GPU process, a laptop that switches cards.
    if (done.error?.kind === "no-adapter") notices.show("webgpu", "stop", done.error.message);
    else if (done.adapter) notices.clear("webgpu");
  },
  onIdle: describeEnvironment,
});
const detail = new Detail(transport);
const chooser = new Chooser({ onRun: run, onStop: () => session.stop(), onChange: showPlan });

/** @type {((body: RunBody) => RunBody)[]} */
const additions = [];
/** @type {import("./context.js").Context} */
const context = {
  ...{ transport, session, runner, devices, tables, engine, notices, options, detail },
  ...{ caseOnShow, choiceOnShow, start, choose, describeEnvironment },
  refresh: showState,
  addToRuns: (add) => void additions.push(add),
};
const sections = allSections(context);

new SectionNav(byId("sections"));
new Shortcuts({
  run: () => chooser.submit(),
  keys: {
    "/": () => listTools.focus(),
    n: () => checks.chooseFailed(1),
    p: () => checks.chooseFailed(-1),
  },
});
chooser.options = {
  ...options,
  suite: options.suite || (options.case ? "" : DEFAULT_SUITE),
};
refresh();
engine.then((name) => transport.open(pageName(location.search, storageOf(window)) || name));
findDevice();

/** The four steps to a device, once, before anything is asked for. */
async function findDevice() {
  try {
    await devices.acquire({});
  } catch (error) {
    if (!(error instanceof NoWebGPU)) throw error;
    missing = error;
    main.dataset.step = error.step;
    notices.show("webgpu", "stop", error.summary, error.remedy);
  }
  lookedForDevice = true;
  await describeEnvironment();
  if (connected) await introduce();
  refresh();
  startAtOnce();
}

/** The environment card, and the banner over a software adapter. */
async function describeEnvironment() {
  const { adapter, limits } = devices;
  showEnvironment(byId("environment-body"), {
    engine: await engine,
    adapter,
    used: limits,
    missing,
  });
  if (adapter?.fallback) {
    notices.show(
      "software",
      "warn",
      "Software adapter: this browser computes on the CPU.",
      "Verdicts hold; timings mean nothing.",
    );
  } else {
    notices.clear("software");
  }
}

/** Tells the server what this page can do. */
async function introduce() {
  const { adapter } = devices;
  const found = missing
    ? { ok: false, step: missing.step, message: missing.message }
    : { ok: true, adapter };
  await transport.postEnvironment({ ...found, engine: await engine });
}

/**
 * @param {"connected" | "lost" | "refused"} state
 * @param {string} why
 */
async function showConnection(state, why) {
  connected = state === "connected";
  const line = byId("connection");
  line.dataset.connection = state;
  line.textContent = connected ? "connected" : `not connected: ${why}`;
  refresh();
  if (!connected) return;
  try {
    if (lookedForDevice) await introduce();
    await Promise.all([
      loadLists(),
      session.resync(),
      ...sections.map((section) => section.resync?.()),
    ]);
    notices.clear("server");
  } catch (error) {
    notices.show("server", "warn", asRunError(error).message);
  }
  startAtOnce();
}

/** Fills the form; also after a reconnection, when the server may be another one. */
async function loadLists() {
  const paths = ["/api/cases", "/api/kernels"];
  const [cases, { kernels }] = await Promise.all(paths.map((path) => transport.get(path)));
  suites = cases.suites;
  chooser.fill(suites, kernels);
  tell((section) => section.listed?.(kernels));
  if (!session.entries.length) showPlan();
}

function startAtOnce() {
  if (!mayStartAtOnce || !ready()) return;
  mayStartAtOnce = false;
  run();
}

/** Something can be run on this page. */
function ready() {
  return connected && lookedForDevice && !missing;
}

/** The runs of the list can be done: here, or on the page that was chosen for them. */
function canRun() {
  return ready() || (connected && lookedForDevice && elsewhere());
}

function elsewhere() {
  return sections.some((section) => section.elsewhere);
}

/** What would run, as lines; nothing while something runs. */
function showPlan() {
  showState();
  if (session.busy) return;
  const { case: id, suite } = chooser.options;
  session.plan(id ? [id] : (suites[suite] ?? []));
}

async function run() {
  const asked = chooser.options;
  const { case: id, suite, kernel, seed } = asked;
  try {
    const cases = await start({
      ...(id ? { case: id } : { suite }),
      ...(kernel && { kernel }),
      ...(seed && { seed }),
      ...(options.kappa && { kappa: Number(options.kappa) }),
    });
    const ran = asRun(asked, cases);
    // The answer may be late, and what was typed meanwhile is the next question.
    if (sameChoice(chooser.options, asked)) chooser.options = ran;
    const query = writeOptions({ ...options, ...ran });
    history.replaceState(null, "", location.pathname + query);
  } catch (error) {
    notices.show("request", "stop", `Not run: ${asRunError(error).message}`);
  }
}

/** @param {RunBody} body */
async function start(body) {
  const cases = await session.start(additions.reduce((sofar, add) => add(sofar), body));
  notices.clear("request");
  return cases;
}

/** The case on show: the line chosen, else what the form says. */
function caseOnShow() {
  return detail.entry?.case ?? chooser.options.case;
}

/** A line's id holds its kernel and its seed; what the form says of them goes with its own case. */
function choiceOnShow() {
  const { kernel, seed } = chooser.options;
  return detail.entry ? {} : { ...(kernel && { kernel }), ...(seed && { seed }) };
}

/** @param {(section: import("./context.js").Section) => void} what */
function tell(what) {
  sections.forEach(what);
}

/** @param {import("./checks.js").Entry[]} entries */
function showList(entries) {
  changed.clear();
  checks.show(entries);
  detail.clear();
  tell((section) => section.chosen?.(null, ""));
  refresh();
}

/**
 * @param {import("./checks.js").Entry} entry
 * @param {string} check
 */
function choose(entry, check) {
  checks.mark(entry, check);
  detail.show(entry, check);
  tell((section) => section.chosen?.(entry, check));
  showState();
}

/** What a person wants to see of a finished list: the first failure, else the closest pass. */
function showMostTelling() {
  const all = session.entries.flatMap((entry) =>
    checksOf(entry).map((check) => ({ entry, check })),
  );
  const wrong = all.find(({ check }) => ["fail", "vacuous", "error"].includes(check.status));
  const size = (/** @type {typeof all[number]} */ { check }) => toNumber(check.ratio) ?? -1;
  const found = wrong ?? all.reduce((a, b) => (size(b) > size(a) ? b : a), all[0]);
  if (found) choose(found.entry, found.check.name);
}

/**
 * The state that scripts read, at once; what people read, at once when everything is over and
 * otherwise ten times a second: drawing a long list must not slow down what it reports.
 */
function refresh() {
  showState();
  clearTimeout(drawing);
  if (!session.busy) draw();
  else drawing = setTimeout(draw, Math.max(0, drawn + DRAW_MS - performance.now()));
}

function showState() {
  main.dataset.state = stateName();
  chooser.enable(canRun(), session.busy);
  tell((section) => section.enable?.({ ready: ready(), running: session.busy }));
}

function draw() {
  drawn = performance.now();
  for (const entry of changed) {
    checks.update(entry);
    if (detail.entry === entry) detail.refresh();
  }
  changed.clear();
  listTools.count(session.entries);
  verdict.show(summarise(session.entries));
  verdict.activity(activity);
}

function stateName() {
  if (missing && !elsewhere()) return "no-webgpu";
  if (session.busy || sections.some(({ busy }) => busy)) return "running";
  if (!canRun()) return "connecting";
  return session.over || sections.some(({ used }) => used) ? "finished" : "idle";
}
