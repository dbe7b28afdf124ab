// @ts-check
/**
 * The tensors that are learnt: names, shapes, first values and places in memory. The twin,
 * server/gpt_model.py, has the same list with the same bits.
 */
import { randomNormals } from "../rng.js";
import { VOCABULARY } from "./config.js";

/**
 * @typedef {import("./config.js").Config} Config
 * @typedef {"normal" | "residual" | "ones" | "zeros"} Start residual: normal, times 1/√(2 layers)
 *
 * @typedef {object} Parameter
 * @property {string} name
 * @property {string} group name of the group that it lies in: "embedding", "h0" …, "final"
 * @property {readonly number[]} shape
 * @property {Start} start
 * @property {number} index in the list; its Philox stream is WEIGHTS_TAG + index
 *
 * @typedef {object} Group parameters that share a buffer, so that one dispatch updates them all
 * @property {string} name
 * @property {ReadonlyMap<string, {offset: number, size: number}>} places in elements, by parameter
 * @property {number} size elements, gaps included
 * @property {number} decaying elements below this one belong to matrices, which decay
 */

/** Philox tag of the first parameter. */
const WEIGHTS_TAG = 32;

/** Standard deviation of initial weights, as in GPT-2. */
const SIGMA = 0.02;

/** Elements that a place is rounded up to: a binding starts at a multiple of 256 bytes. */
const ALIGNMENT = 64;

/**
 * All parameters in their fixed order.
 * @param {Config} config
 * @returns {Parameter[]}
 */
export function parameters({ layers, C, T }) {
  /** @type {Parameter[]} */
  const list = [];
  /** @param {string} group @param {string} name @param {number[]} shape @param {Start} start */
  const add = (group, name, shape, start) =>
    list.push({ group, name, shape, start, index: list.length });
  /** @param {string} group @param {string} name */
  const norm = (group, name) => {
    add(group, `${name}.gamma`, [C], "ones");
    add(group, `${name}.beta`, [C], "zeros");
  };
  /**
   * @param {string} group
   * @param {string} name
   * @param {number} inputs
   * @param {number} outputs
   * @param {Start} start
   */
  const linear = (group, name, inputs, outputs, start) => {
    add(group, `${group}.${name}.weight`, [inputs, outputs], start);
    add(group, `${group}.${name}.bias`, [outputs], "zeros");
  };

  add("embedding", "wte", [VOCABULARY, C], "normal");
  add("embedding", "wpe", [T, C], "normal");
  for (let n = 0; n < layers; n++) {
    norm(`h${n}`, `h${n}.ln1`);
    for (const name of ["q", "k", "v"]) linear(`h${n}`, name, C, C, "normal");
    linear(`h${n}`, "proj", C, C, "residual");
    norm(`h${n}`, `h${n}.ln2`);
    linear(`h${n}`, "fc", C, 4 * C, "normal");
    linear(`h${n}`, "out", 4 * C, C, "residual");
  }
  norm("final", "lnf");
  add("final", "head.weight", [C, VOCABULARY], "normal");
  return list;
}

/** @param {readonly number[]} shape */
export const sizeOf = (shape) => shape.reduce((product, n) => product * n, 1);

/**
 * The groups in order, matrices first in each.
 * @param {readonly Parameter[]} list
 * @returns {Group[]}
 */
export function groupsOf(list) {
  const names = [...new Set(list.map(({ group }) => group))];
  return names.map((name) => {
    const members = list.filter(({ group }) => group === name);
    const matrices = members.filter(({ shape }) => shape.length === 2);
    const vectors = members.filter(({ shape }) => shape.length < 2);
    /** @type {Map<string, {offset: number, size: number}>} */
    const places = new Map();
    let size = 0;
    let decaying = 0;
    for (const parameter of [...matrices, ...vectors]) {
      places.set(parameter.name, { offset: size, size: sizeOf(parameter.shape) });
      size += Math.ceil(sizeOf(parameter.shape) / ALIGNMENT) * ALIGNMENT;
      if (parameter.shape.length === 2) decaying = size;
    }
    return { name, places, size, decaying };
  });
}

/**
 * First values of a parameter. A drawn weight is a Philox normal, which is exact, times a float32
 * constant; both have 24 bits, so the product of doubles is exact and is rounded once.
 * @param {Parameter} parameter
 * @param {Config} config
 * @param {string} seed
 */
export function firstValues({ start, shape, index }, { layers }, seed) {
  const size = sizeOf(shape);
  if (start === "zeros" || start === "ones") {
    return new Float32Array(size).fill(start === "ones" ? 1 : 0);
  }
  const sigma = Math.fround(start === "normal" ? SIGMA : SIGMA / Math.sqrt(2 * layers));
  const values = randomNormals(seed, WEIGHTS_TAG + index, size);
  for (let n = 0; n < size; n++) values[n] *= sigma;
  return values;
}
