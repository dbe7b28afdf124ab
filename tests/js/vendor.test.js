import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("../../static/js/vendor/", import.meta.url));
const manifest = JSON.parse(readFileSync(`${folder}manifest.json`, "utf8"));

test("every vendored module is in the manifest, with the hash of its bytes", () => {
  const modules = readdirSync(folder).filter((name) => name.endsWith(".js"));
  assert.deepEqual(modules.sort(), Object.keys(manifest).sort());
  for (const [file, { sha256 }] of Object.entries(manifest)) {
    const hash = createHash("sha256").update(readFileSync(folder + file));
    assert.equal(hash.digest("hex"), sha256, file);
  }
});

test("the licence of every package that got into a module lies beside it", () => {
  const licences = readFileSync(`${folder}LICENSES.txt`, "utf8");
  for (const { licence, packages } of Object.values(manifest)) {
    assert.ok(licence);
    for (const [name, version] of Object.entries(packages)) {
      assert.ok(licences.includes(`${name} ${version} (`), `${name} ${version}`);
    }
  }
});

test("the pinned packages give the same bytes again", () => {
  execFileSync(process.execPath, [`${folder}build.mjs`, "--check"], { stdio: "pipe" });
});

test("no vendored module imports anything, makes code from text or names another site", () => {
  for (const file of Object.keys(manifest)) {
    const text = readFileSync(folder + file, "utf8");
    assert.doesNotMatch(text, /\bimport\s*[("'{]|\bfrom\s*["']/, file);
    assert.doesNotMatch(text, /\beval\(|new Function\b|\bFunction\(/, file);
  }
});
