// @ts-check

/**
 * The browser's name and version, for reports: "Chromium 156.0.8078.108", "Firefox 153.0".
 *
 * User-agent client hints give the full version and exist in Chromium alone; elsewhere the
 * user-agent string has to do.
 *
 * @typedef {{brand: string, version: string}} Brand
 *
 * @typedef {object} ClientHints
 * @property {string} platform
 * @property {(hints: string[]) => Promise<{fullVersionList?: Brand[]}>} getHighEntropyValues
 */

/**
 * @param {Navigator & {userAgentData?: ClientHints}} navigator
 * @returns {Promise<string>}
 */
export async function engineName(navigator) {
  const hints = navigator.userAgentData;
  if (hints) {
    const { fullVersionList } = await hints.getHighEntropyValues(["fullVersionList"]);
    const name = engineFromBrands(fullVersionList ?? []);
    if (name) return name;
  }
  return engineFromUserAgent(navigator.userAgent);
}

/**
 * The most telling brand: a product before "Chromium", which every one of them also claims. Not
 * the entries that only exist to be ignored ("Not)A;Brand"), and not "HeadlessChrome", which is
 * Chromium without a window.
 *
 * @param {Brand[]} brands
 */
export function engineFromBrands(brands) {
  const real = brands.filter(({ brand }) => !/not.*brand|headless/i.test(brand));
  const chosen = real.find(({ brand }) => brand !== "Chromium") ?? real[0];
  return chosen ? `${chosen.brand} ${chosen.version}` : "";
}

/** @param {string} userAgent */
export function engineFromUserAgent(userAgent) {
  const patterns = /** @type {[string, RegExp][]} */ ([
    ["Edge", /Edg\/([\d.]+)/],
    ["Chromium", /HeadlessChrome\/([\d.]+)/],
    ["Chrome", /Chrome\/([\d.]+)/],
    ["Firefox", /Firefox\/([\d.]+)/],
    ["Safari", /Version\/([\d.]+).*Safari/],
  ]);
  for (const [name, pattern] of patterns) {
    const match = pattern.exec(userAgent);
    if (match) return `${name} ${match[1]}`;
  }
  return userAgent;
}
