// @ts-check

/** The links to the parts of the page: the one that is read is marked. */
export class SectionNav {
  /** @type {Map<Element, HTMLAnchorElement>} */
  #links = new Map();
  /** @type {Set<Element>} */
  #visible = new Set();

  /** @param {HTMLElement} nav */
  constructor(nav) {
    this.nav = nav;
    const observer = new IntersectionObserver((seen) => this.#see(seen), {
      rootMargin: "-25% 0px -50% 0px",
    });
    for (const link of nav.querySelectorAll("a")) {
      const part = link.hash && document.querySelector(link.hash);
      if (!part) continue;
      this.#links.set(part, link);
      observer.observe(part);
    }
    addEventListener("hashchange", () => this.#mark());
  }

  /** @param {IntersectionObserverEntry[]} seen */
  #see(seen) {
    for (const { target, isIntersecting } of seen) {
      if (isIntersecting) this.#visible.add(target);
      else this.#visible.delete(target);
    }
    this.#mark();
  }

  /** Parts stand side by side: the one that was asked for counts, else the first that is seen. */
  #mark() {
    const parts = [...this.#links.keys()].filter((part) => this.#visible.has(part));
    const current = parts.find(({ id }) => `#${id}` === location.hash) ?? parts[0];
    if (!current) this.nav.scrollLeft = 0; // above the first part
    for (const [part, link] of this.#links) {
      if (part === current) {
        link.setAttribute("aria-current", "true");
        this.#bring(link);
      } else {
        link.removeAttribute("aria-current");
      }
    }
  }

  /**
   * Into sight, where the links scroll sideways.
   *
   * @param {HTMLElement} link
   */
  #bring(link) {
    const { nav } = this;
    const from = link.offsetLeft - nav.offsetLeft;
    if (from < nav.scrollLeft) nav.scrollLeft = from;
    const to = from + link.offsetWidth;
    if (to > nav.scrollLeft + nav.clientWidth) nav.scrollLeft = to - nav.clientWidth;
  }
}
