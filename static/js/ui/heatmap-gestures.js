// @ts-check

/**
 * Mouse, touch and wheel over a picture, as taps, drags and zooms.
 *
 * One finger scrolls the page until the picture is zoomed in; from then on it moves the picture.
 * The wheel zooms with Ctrl held (as trackpads pinch) or while the picture has the focus, so that
 * it does not catch whoever scrolls past.
 *
 * @typedef {object} Listeners
 * @property {(x: number, y: number) => void} onTap       in CSS pixels of the element
 * @property {(dx: number, dy: number) => void} onDrag
 * @property {(factor: number, x: number, y: number) => void} onZoom
 */

/** A press that moves less than this is a tap. */
const STILL = 4;

/**
 * @param {HTMLElement} element  what is pressed
 * @param {HTMLElement} focused  what has the focus
 * @param {Listeners} listeners
 */
export function listen(element, focused, { onTap, onDrag, onZoom }) {
  /** @type {Map<number, {x: number, y: number}>} */
  const down = new Map();
  let moved = false;

  element.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    element.setPointerCapture(event.pointerId);
    if (!down.size) moved = false;
    down.set(event.pointerId, { x: event.clientX, y: event.clientY });
  });
  element.addEventListener("pointermove", (event) => {
    const from = down.get(event.pointerId);
    if (!from) return;
    const to = { x: event.clientX, y: event.clientY };
    if (!moved && Math.hypot(to.x - from.x, to.y - from.y) < STILL) return;
    moved = true;
    const other = [...down].find(([id]) => id !== event.pointerId)?.[1];
    down.set(event.pointerId, to);
    if (!other) return onDrag(to.x - from.x, to.y - from.y);
    const box = element.getBoundingClientRect();
    const spread = (/** @type {{x: number, y: number}} */ p) =>
      Math.max(Math.hypot(p.x - other.x, p.y - other.y), 1);
    onZoom(
      spread(to) / spread(from),
      (to.x + other.x) / 2 - box.left,
      (to.y + other.y) / 2 - box.top,
    );
  });
  element.addEventListener("pointerup", (event) => {
    if (down.delete(event.pointerId) && !moved && !down.size) onTap(event.offsetX, event.offsetY);
  });
  element.addEventListener("pointercancel", (event) => down.delete(event.pointerId));
  element.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey && document.activeElement !== focused) return;
      event.preventDefault();
      const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 30 : 1;
      const by = Math.min(Math.max(event.deltaY * lines, -100), 100);
      onZoom(2 ** (-by / 100), event.offsetX, event.offsetY);
    },
    { passive: false },
  );
}
