// Who is connected, and what a page is called.
import assert from "node:assert/strict";
import { test } from "node:test";
import { keepName, pageName, tidy } from "../../static/js/page-name.js";
import { devicesOf } from "../../static/js/pages-list.js";

const HERE = "h".repeat(32);
const page = (/** @type {object} */ facts) => ({
  page: "p".repeat(32),
  label: "",
  connected: true,
  idle: true,
  run: null,
  doing: null,
  environment: null,
  ...facts,
});

class Store {
  /** @type {Map<string, string>} */
  kept = new Map();
  /** @param {string} key */
  getItem(key) {
    return this.kept.get(key) ?? null;
  }
  /** @param {string} key @param {string} value */
  setItem(key, value) {
    this.kept.set(key, value);
  }
  /** @param {string} key */
  removeItem(key) {
    this.kept.delete(key);
  }
}
const storage = () => /** @type {Storage} */ (/** @type {unknown} */ (new Store()));

test("this page comes first, absent pages not at all, the others in their order", () => {
  const devices = devicesOf(
    [
      page({ page: "a", label: "phone" }),
      page({ page: "gone", label: "laptop", connected: false }),
      page({ page: HERE, label: "desk", doing: "forward:T=8,D=4" }),
      page({ page: "b", label: "tablet" }),
    ],
    HERE,
  );
  assert.deepEqual(
    devices.map(({ name, here, doing }) => [name, here, doing]),
    [
      ["desk", true, "forward:T=8,D=4"],
      ["phone", false, ""],
      ["tablet", false, ""],
    ],
  );
});

test("pages that share a name are told apart by their ids", () => {
  const devices = devicesOf(
    [page({ page: "123456789", label: "Pixel" }), page({ page: "abcdefghi", label: "pixel" })],
    HERE,
  );
  assert.deepEqual(
    devices.map(({ name }) => name),
    ["Pixel (123456…)", "pixel (abcdef…)"],
  );
});

test("a page without a name is called by its browser, a software adapter and none are told", () => {
  const adapter = { vendor: "google", architecture: "swiftshader", fallback: true };
  const [first, second] = devicesOf(
    [
      page({ environment: { ok: true, engine: "Firefox 153.0", adapter } }),
      page({ environment: { ok: false, engine: "Safari 18", message: "no navigator.gpu" } }),
    ],
    HERE,
  );
  assert.deepEqual(
    [first.name, first.adapter, first.software, first.usable],
    ["Firefox 153.0", "google swiftshader", true, true],
  );
  assert.deepEqual([second.usable, second.why], [false, "no navigator.gpu"]);
});

test("the URL's name is kept for the next time; either key will do", () => {
  const store = storage();
  assert.equal(pageName("", store), "");
  assert.equal(pageName("?label=my%20%20phone%20", store), "my phone");
  assert.equal(pageName("?case=forward:T=8,D=4", store), "my phone");
  assert.equal(pageName("?name=pixel8&label=x", store), "pixel8");
  keepName("", store);
  assert.equal(pageName("", store), "");
  assert.equal(pageName("?name=a", null), "a");
});

test("a name is one line of sixty characters at most", () => {
  assert.equal(tidy(" a\n b\t"), "a b");
  assert.equal(tidy("x".repeat(70)).length, 60);
});
