// @ts-check
/** @typedef {import("./context.js").OwnText} OwnText */
/** @typedef {import("./attention/index.js").Message} Message */

/** Texts of other parts that are open in the kernel section's editor, by name. */
export class OwnTexts {
  /** @type {Map<string, OwnText & {messages: readonly Message[]}>} */
  #all = new Map();

  get names() {
    return [...this.#all.keys()];
  }

  /** @param {string} name */
  get(name) {
    return this.#all.get(name);
  }

  /**
   * @param {OwnText} own
   * @param {object} hooks
   * @param {(name: string, text: string) => void} hooks.onText  it is another one, not by typing
   * @param {() => void} hooks.onMessages
   * @param {(name: string) => Promise<void>} hooks.onFocus
   * @param {(name: string) => void} hooks.onClose
   * @returns {import("./context.js").OpenText}
   */
  open(own, { onText, onMessages, onFocus, onClose }) {
    const { name } = own;
    const one = { ...own, messages: /** @type {readonly Message[]} */ ([]) };
    this.#all.set(name, one);
    return {
      setText: (text) => {
        one.text = text;
        onText(name, text);
      },
      setMessages: (messages) => {
        one.messages = messages;
        onMessages();
      },
      focus: () => onFocus(name),
      close: () => {
        if (this.#all.get(name) !== one) return; // another text took its name
        this.#all.delete(name);
        onClose(name);
      },
    };
  }
}
