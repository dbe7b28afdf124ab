// @ts-check
import assert from "node:assert/strict";
import { test } from "node:test";
import { colourOf, scalePosition } from "../../static/js/ui/colormap.js";

/** Perceived lightness, CIE L*. @param {number[]} rgb */
function lightness(rgb) {
  const [r, g, b] = rgb.map((c) => {
    const x = c / 255;
    return x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
  });
  return 116 * Math.cbrt(0.2126 * r + 0.7152 * g + 0.0722 * b) - 16;
}

const ratios = Array.from({ length: 121 }, (_, n) => 10 ** (n / 20 - 3));

test("a larger ratio is never darker, so the order survives without colour", () => {
  const light = ratios.map((ratio) => lightness(colourOf(ratio)));
  for (let n = 1; n < light.length; n++) assert.ok(light[n] >= light[n - 1], String(ratios[n]));
});

test("the limit is a visible step, far larger than any other between neighbours", () => {
  const step = lightness(colourOf(1.0001)) - lightness(colourOf(1));
  assert.ok(step > 15, String(step));
  const inside = lightness(colourOf(0.1)) - lightness(colourOf(0.0999));
  assert.ok(inside < 1, String(inside));
});

test("the scale is logarithmic and clamps at its ends", () => {
  assert.equal(scalePosition(0), 0);
  assert.equal(scalePosition(1e-3), 0);
  assert.equal(scalePosition(Infinity), 1);
  const [a, b, c] = [0.01, 0.1, 1].map(scalePosition);
  assert.ok(Math.abs(b - a - (c - b)) < 1e-12);
});

test("what is no number has a colour off the scale", () => {
  const scale = ratios.map((ratio) => colourOf(ratio).join());
  assert.ok(!scale.includes(colourOf(NaN).join()));
});
