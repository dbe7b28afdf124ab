// @ts-check
/** What was made of a manifest and its text, a line each, for people to check. */

/** @typedef {import("./plan.js").OwnPlan} OwnPlan */
/** @typedef {import("./plan.js").OwnPass} OwnPass */

/** @typedef {{text: string, meaning: string, from: string}} Row */

const SAID = { manifest: "the manifest", text: "the text" };

/**
 * @param {OwnPlan} plan for a case
 * @param {import("./types.js").Manifest} manifest
 * @returns {Row[]}
 */
export function rowsOf(plan, manifest) {
  const given = [manifest, ...(manifest.passes ?? [])].flatMap(({ constants = {} }) =>
    Object.keys(constants),
  );
  const rows = plan.passes.flatMap((pass) => [
    head(pass),
    ...variables(pass),
    ...overrides(pass, given),
    ...members(pass),
  ]);
  const scratch = Object.entries(plan.scratch).map(([name, { bytes, zero }]) => ({
    text: `scratch ${name}`,
    meaning: `${bytes} bytes${zero ? ", zeros before each call" : ""}`,
    from: SAID.manifest,
  }));
  const tile = plan.tile
    ? [
        {
          text: "tile",
          meaning: `${plan.tile.Br} rows, ${plan.tile.Bc} keys`,
          from: manifest.tile ? SAID.manifest : SAID.text,
        },
      ]
    : [];
  return [...rows, ...scratch, ...tile];
}

/** @param {OwnPass} pass @returns {Row} */
const head = ({ entry, file, grid }) => ({
  text: `fn ${entry}`,
  meaning: `entry point of ${file}; ${grid.join(" × ")} workgroups`,
  from: SAID.manifest,
});

/** @param {OwnPass} pass @returns {Row[]} */
function variables({ bound }) {
  const access = { read: "read", read_write: "written", uniform: "uniform" };
  const found = bound.map(({ variable, kind, name, from }) => ({
    text: `@group(${variable.group}) @binding(${variable.binding}) ${variable.name}: ${variable.type}`,
    meaning: `${kind === "scratch" ? "scratch " : ""}${name}, ${access[variable.access]}`,
    from: SAID[from],
  }));
  return found.filter((_, n) => bound[n].kind !== "uniform");
}

/** @param {OwnPass} pass @param {readonly string[]} given by the manifest @returns {Row[]} */
const overrides = ({ constants }, given) =>
  Object.entries(constants).map(([name, value]) => ({
    text: `override ${name}`,
    meaning: `${value}`,
    from: given.includes(name) ? SAID.manifest : SAID.text,
  }));

/** @param {OwnPass} pass @returns {Row[]} */
const members = ({ fields, uniforms }) =>
  fields.map(({ variable, member, values, from }) => ({
    text: `${[variable, member.path].filter(Boolean).join(".")}: ${typeOf(member)}`,
    meaning: `${values.join(", ")} = ${numbers(member, uniforms[variable]).join(", ")}`,
    from: SAID[from],
  }));

/** @param {import("./reflect.js").Member} member */
const typeOf = ({ type, count }) => (count > 1 ? `vec${count}<${type}>` : type);

/** @param {import("./reflect.js").Member} member @param {ArrayBuffer} bytes */
function numbers({ type, count, offset }, bytes) {
  const view = new DataView(bytes);
  return Array.from({ length: count }, (_, n) => {
    const at = offset + 4 * n;
    if (type === "f32") return Number(view.getFloat32(at, true).toPrecision(6));
    return type === "i32" ? view.getInt32(at, true) : view.getUint32(at, true);
  });
}
