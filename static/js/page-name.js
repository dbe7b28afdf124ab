// @ts-check

/** What people call this page: kept by the browser, so that a phone has its name tomorrow too. */

const KEY = "fa2-page-name";
/** As many characters as the server takes. */
export const LONGEST = 60;

/**
 * The name that the URL gives (`?name=` or `?label=`), else the one kept from last time; "" = none.
 *
 * @param {string} search `location.search`
 * @param {Storage | null} storage  null where the browser allows none
 */
export function pageName(search, storage) {
  const params = new URLSearchParams(search);
  const given = tidy(params.get("name") ?? params.get("label") ?? "");
  if (given) keepName(given, storage);
  return given || tidy(storage?.getItem(KEY) ?? "");
}

/**
 * @param {string} name  "" forgets it
 * @param {Storage | null} storage
 */
export function keepName(name, storage) {
  try {
    if (name) storage?.setItem(KEY, name);
    else storage?.removeItem(KEY);
  } catch {
    // A full storage costs the name of tomorrow, not today's work.
  }
}

/** `localStorage`, or null where cookies are refused: there even looking at it throws. */
export function storageOf(/** @type {Window} */ window) {
  try {
    return window.localStorage;
  } catch {
    return null;
  }
}

/**
 * As a name is written: one line, no blanks around it, of bounded length.
 *
 * @param {string} text
 */
export function tidy(text) {
  return text.replace(/\s+/g, " ").trim().slice(0, LONGEST).trim();
}
