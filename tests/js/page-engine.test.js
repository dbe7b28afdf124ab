// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { engineFromBrands, engineFromUserAgent, engineName } from "../../static/js/engine.js";

const brand = (/** @type {string} */ name) => ({ brand: name, version: "156.0.8078.108" });
const grease = { brand: "Not)A;Brand", version: "24.0.0.0" };

test("a product is named before the engine that it claims, and grease never", () => {
  assert.equal(
    engineFromBrands([grease, brand("Chromium"), brand("Google Chrome")]),
    "Google Chrome 156.0.8078.108",
  );
  assert.equal(engineFromBrands([brand("Chromium"), grease]), "Chromium 156.0.8078.108");
  assert.equal(engineFromBrands([grease]), "");
});

test("Chromium without a window is Chromium", () => {
  const brands = [brand("HeadlessChrome"), grease, brand("Chromium")];
  assert.equal(engineFromBrands(brands), "Chromium 156.0.8078.108");
});

test("browsers without client hints are told by their user-agent string", () => {
  const cases = [
    ["Mozilla/5.0 (X11; Linux x86_64; rv:153.0) Gecko/20100101 Firefox/153.0", "Firefox 153.0"],
    ["Mozilla/5.0 (Macintosh) AppleWebKit/605 (KHTML) Version/26.0 Safari/605", "Safari 26.0"],
    ["Mozilla/5.0 (X11) AppleWebKit/537 Chrome/156.0.0.0 Safari/537 Edg/156.0.1", "Edge 156.0.1"],
    ["Mozilla/5.0 (X11) AppleWebKit/537 HeadlessChrome/156.0.0.0 Safari/537", "Chromium 156.0.0.0"],
    ["something else", "something else"],
  ];
  for (const [agent, name] of cases) assert.equal(engineFromUserAgent(agent), name);
});

test("hints that say nothing fall back to the user-agent string", async () => {
  const hints = { platform: "Linux", getHighEntropyValues: async () => ({}) };
  const navigator = /** @type {any} */ ({ userAgent: "Firefox/153.0", userAgentData: hints });
  assert.equal(await engineName(navigator), "Firefox 153.0");
});
