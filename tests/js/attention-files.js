// The shipped shader files by path, read from disk: what a browser would fetch.
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../static/shaders/", import.meta.url));

/** @type {Record<string, string>} */
export const SHADERS = Object.fromEntries(
  readdirSync(root, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".wgsl"))
    .map((path) => [path.replaceAll("\\", "/"), readFileSync(root + path, "utf8")]),
);
