// @ts-check
import { h } from "./dom.js";
import { pattern } from "./heatmap-paint.js";
import { VIEW_NAMES } from "./heatmap-views.js";

/**
 * The colours in words.
 *
 * @param {import("./heatmap-views.js").ViewName} name
 * @param {import("./heatmap-views.js").View} view
 */
export function legend(name, view) {
  return [
    h("span", { class: "term" }, `${VIEW_NAMES[name]}, ${view.says}:`),
    ...view.samples.map(([text, value]) =>
      h(
        "span",
        { class: text.includes("limit") ? "sample sample-limit" : "sample" },
        swatch(view, value),
        text,
      ),
    ),
  ];
}

/**
 * @param {import("./heatmap-views.js").View} view
 * @param {number} value
 */
export function swatch(view, value) {
  const canvas = h("canvas", { width: 18, height: 12, "aria-hidden": "true" });
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.fillStyle = `rgb(${view.colour(value).join(" ")})`;
  context.fillRect(0, 0, 18, 12);
  const mark = view.mark(value);
  if (mark) {
    context.fillStyle = pattern(context, mark);
    context.fillRect(0, 0, 18, 12);
  }
  return canvas;
}
