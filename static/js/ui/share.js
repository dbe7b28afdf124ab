// @ts-check
import { shareLinks } from "../share-links.js";
import { copyFrom } from "./copy.js";
import { h } from "./dom.js";

/** @typedef {import("../checks.js").Entry} Entry */
/** @typedef {import("../share-links.js").Shared} Shared */

let serial = 0;

/**
 * A button that opens the lines by which the check's run is told to others, and its repro.
 *
 * @param {Entry} entry
 */
export function shareMenu(entry) {
  const { report } = entry;
  return shareLines(
    {
      case: report?.case ?? entry.case,
      kappa: report?.kappa ?? 4,
      without: report?.adapter?.withheld ?? [],
      edited: report?.edited ?? [],
      own: entry.own ?? "",
    },
    report ? entry.run : "",
  );
}

/**
 * @param {Shared} shared
 * @param {string} run  whose repro is offered; "" = none
 */
export function shareLines(shared, run) {
  const { lines, caveat } = shareLinks(shared, location.origin);
  const said = h("p", { class: "hint share-said", role: "status" });
  const rows = lines.map(({ name, text }) => {
    const id = `share-${++serial}`;
    const field = h("input", { id, class: "share-text", readonly: true, spellcheck: "false" });
    field.value = text;
    field.addEventListener("focus", () => field.select());
    const button = h("button", { type: "button", class: "small" }, "Copy");
    button.setAttribute("aria-label", `Copy ${name}`);
    button.addEventListener("click", async () => {
      const copied = await copyFrom(field);
      said.textContent = copied ? `${name} copied.` : `${name} is selected: copy it by keyboard.`;
    });
    return h("div", { class: "share-line" }, h("label", { for: id }, name), field, button);
  });
  const zip = run
    ? h(
        "p",
        { class: "share-zip" },
        h("a", { href: `/api/history/${run}/repro.zip`, download: "" }, "Repro zip"),
        " has the case, every shader text, the verdict and what was computed; ",
        h("code", {}, "fa2 replay FILE.zip"),
        " runs it elsewhere. ",
        h("a", { href: `/history?run=${run}` }, "In the history"),
      )
    : null;
  const menu = h(
    "details",
    { class: "share" },
    h("summary", {}, "Share"),
    ...rows,
    caveat ? h("p", { class: "notice share-caveat" }, caveat) : null,
    zip,
    said,
  );
  if (zip) menu.addEventListener("toggle", () => checkHistory(zip), { once: true });
  return menu;
}

/**
 * A server that was told to keep no history has no repro to offer.
 *
 * @param {HTMLElement} zip
 */
async function checkHistory(zip) {
  const answer = await fetch("/api/history?limit=1").catch(() => null);
  if (!answer?.ok || (await answer.json()).kept) return;
  zip.textContent = "This server keeps no history (--no-history), so there is no repro zip.";
}
