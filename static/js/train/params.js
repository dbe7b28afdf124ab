// @ts-check
/** The uniform of every training kernel; struct Params of static/shaders/train/params.wgsl. */

/** @type {readonly import("../attention/params.js").Member[]} */
export const TRAIN_PARAMS = [
  ["rows", "u32"],
  ["columns", "u32"],
  ["depth", "u32"],
  ["decaying", "u32"],
  ["workgroups", "u32"],
  ["grid_width", "u32"],
];

/** A uniform's size is a multiple of 16. */
export const TRAIN_PARAMS_BYTES = Math.ceil((TRAIN_PARAMS.length * 4) / 16) * 16;
