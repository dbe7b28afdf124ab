// @ts-check

/** Pieces of the page's drawings. Sizes are CSS pixels: scaled text would be unreadable on a phone. */

/** @typedef {(value: number) => number} Scale */

/**
 * From one range of numbers to another.
 *
 * @param {[number, number]} from
 * @param {[number, number]} to
 * @returns {Scale}
 */
export function scale([a, b], [c, d]) {
  return (value) => c + ((value - a) / (b - a)) * (d - c);
}

/**
 * A horizontal line.
 *
 * @param {number} x1
 * @param {number} x2
 * @param {number} y
 * @param {string} name
 */
export function line(x1, x2, y, name) {
  return svg("line", { class: name, x1, x2, y1: y, y2: y });
}

/**
 * @param {string} content
 * @param {number} x
 * @param {number} y
 * @param {string} name
 */
export function text(content, x, y, name) {
  const element = svg("text", { class: name, x, y });
  element.textContent = content;
  return element;
}

/**
 * @template {keyof SVGElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, string | number>} attributes
 */
export function svg(tag, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) {
    element.setAttribute(name, String(value));
  }
  return element;
}
