// @ts-check

/**
 * An element with properties and children. Text becomes text nodes, so nothing that a server or a
 * compiler says is ever parsed as markup.
 *
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, unknown>} [attributes] `class`, `data-…`, `aria-…`; false and null: absent
 * @param {...(Node | string | null)} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/**
 * The element of the template with this id: the page cannot work without it.
 *
 * @template {HTMLElement} [E=HTMLElement]
 * @param {string} id
 * @returns {E}
 */
export function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page's template has no element #${id}`);
  return /** @type {E} */ (element);
}

/**
 * Text that may break between the parts of a case and of a name: ids are long, screens narrow.
 *
 * @param {string} id
 * @returns {DocumentFragment}
 */
export function breakable(id) {
  const fragment = document.createDocumentFragment();
  for (const part of id.split(/(?<=[,:/_])/)) {
    fragment.append(part, document.createElement("wbr"));
  }
  return fragment;
}

/**
 * The case that a part would work on. It is told of every sign of life of a run, and draws only
 * what is new.
 *
 * @param {HTMLElement} place
 * @param {string} id  "" = there is none
 */
export function showCase(place, id) {
  const text = id || "none: choose a line, or write a case above";
  if (place.textContent !== text) place.replaceChildren(id ? breakable(id) : text);
}
