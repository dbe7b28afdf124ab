// @ts-check

/**
 * Puts a text on the clipboard. On plain http from another machine there is no clipboard API; then
 * the text is selected, so that one key copies it.
 *
 * @param {HTMLInputElement} field  that shows the text
 * @returns {Promise<boolean>} whether it is on the clipboard; if not, it is selected
 */
export async function copyFrom(field) {
  try {
    await navigator.clipboard.writeText(field.value);
    return true;
  } catch {
    field.focus();
    field.select();
    return false;
  }
}
