// Makes what lies in this folder from the npm packages that package.json pins.
//   npm run vendor             writes the files of recipes.mjs, manifest.json and LICENSES.txt
//   npm run vendor -- --check  exits 1 when a file here is not what the packages give
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { build, version as esbuild } from "esbuild";
import { RECIPES } from "./recipes.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));
const root = fileURLToPath(new URL("../../../", import.meta.url));
const MODULES = `node_modules/`;

/** @param {string} name of a package */
const packageOf = (name) => JSON.parse(readFileSync(join(root, MODULES, name, "package.json")));

/** `node_modules/@a/b/dist/c.js` is of the package `@a/b`. */
function packageName(path) {
  const [first, second] = path.slice(path.lastIndexOf(MODULES) + MODULES.length).split("/");
  return first.startsWith("@") ? `${first}/${second}` : first;
}

/** One module of what the recipe names, and the packages that got into it. */
async function bundled({ exports, file }) {
  const names = Object.entries(exports).map(
    ([name, list]) => `export { ${list.join(", ")} } from "${name}";`,
  );
  const result = await build({
    stdin: { contents: names.join("\n"), resolveDir: root, sourcefile: file },
    absWorkingDir: root,
    bundle: true,
    format: "esm",
    target: "es2022",
    minify: true,
    legalComments: "none", // the licences stand in LICENSES.txt, whole
    banner: { js: "// Built by `npm run vendor`; manifest.json says of what. Do not edit." },
    metafile: true,
    write: false,
  });
  const packages = Object.keys(result.metafile.inputs).filter((path) => path.includes(MODULES));
  return { text: result.outputFiles[0].text, packages: packages.map(packageName) };
}

/** The types are those of the packages, which only a checkout with Node has. */
const typesOf = ({ exports }) =>
  [
    "// Built by `npm run vendor`; do not edit.",
    ...Object.entries(exports).map(
      ([name, list]) => `export { ${list.join(", ")} } from "${name}";`,
    ),
    "",
  ].join("\n");

function licenceOf(name) {
  const folder = join(root, MODULES, name);
  const file = readdirSync(folder).find((one) => /^(un)?licen[cs]e/i.test(one));
  if (file === undefined) throw new Error(`${name} brings no licence; it cannot be vendored`);
  return readFileSync(join(folder, file), "utf8").replaceAll("\r\n", "\n").trim();
}

/** Everything that belongs here, by name. */
async function make() {
  /** @type {Map<string, string>} */
  const files = new Map();
  const manifest = {};
  const used = new Set();
  for (const recipe of RECIPES) {
    const [main] = recipe.copy ? [recipe.package] : Object.keys(recipe.exports);
    const { text, packages } = recipe.copy
      ? { text: readFileSync(join(root, MODULES, main, recipe.copy), "utf8"), packages: [main] }
      : await bundled(recipe);
    files.set(recipe.file, text);
    if (recipe.types) files.set(recipe.file.replace(/js$/, "d.ts"), typesOf(recipe));
    const sorted = [...new Set(packages)].sort();
    for (const name of sorted) used.add(name);
    manifest[recipe.file] = {
      name: recipe.name,
      version: packageOf(main).version,
      sha256: createHash("sha256").update(text).digest("hex"),
      licence: [...new Set(sorted.map((name) => packageOf(name).license))].join(", "),
      packages: Object.fromEntries(sorted.map((name) => [name, packageOf(name).version])),
      from: recipe.copy ? `${main}/${recipe.copy}` : `built with esbuild ${esbuild}`,
    };
  }
  const licences = [...used].sort().map((name) => {
    const { version, license } = packageOf(name);
    return `${name} ${version} (${license})\n\n${licenceOf(name)}\n`;
  });
  files.set("LICENSES.txt", licences.join(`\n${"-".repeat(80)}\n\n`));
  files.set("manifest.json", `${JSON.stringify(manifest, null, 2)}\n`);
  return files;
}

const files = await make();
const ours = new Set([...files.keys(), "build.mjs", "recipes.mjs"]);
const stray = readdirSync(here).filter((name) => !ours.has(name.split(sep).join("/")));
if (process.argv.includes("--check")) {
  const stale = [...files].filter(
    ([name, text]) =>
      !existsSync(join(here, name)) || readFileSync(join(here, name), "utf8") !== text,
  );
  for (const [name] of stale) console.error(`${name} is not what the pinned packages give`);
  for (const name of stray) console.error(`${name} is in no recipe`);
  if (stale.length || stray.length) {
    console.error("npm run vendor writes it anew");
    process.exitCode = 1;
  }
} else {
  for (const [name, text] of files) writeFileSync(join(here, name), text);
  for (const name of stray) console.error(`${name} is in no recipe of recipes.mjs`);
}
