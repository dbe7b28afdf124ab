// @ts-check
/**
 * What is made when it is first asked for, and then kept: parts of the page that most visits never
 * need. A making that failed (the server was away) is tried again.
 *
 * @template T
 * @param {() => Promise<T>} make
 * @returns {() => Promise<T>}
 */
export function lazy(make) {
  /** @type {Promise<T> | null} */
  let made = null;
  return () => {
    made ??= make().catch((error) => {
      made = null;
      throw error;
    });
    return made;
  };
}
