// @ts-check
import { rangeOf } from "../diagnostics.js";
import {
  bracketMatching,
  Compartment,
  defaultKeymap,
  drawSelection,
  EditorState,
  EditorView,
  foldKeymap,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSelectionMatches,
  highlightSpecialChars,
  history,
  historyKeymap,
  indentUnit,
  indentWithTab,
  keymap,
  lineNumbers,
  lintGutter,
  lintKeymap,
  Prec,
  search,
  searchKeymap,
  setDiagnostics,
  syntaxHighlighting,
  unifiedMergeView,
} from "../vendor/codemirror.js";
import { theme } from "./editor-theme.js";
import { colours, wgsl } from "./editor-wgsl.js";

/** @typedef {import("../attention/index.js").Message} Message */

const KEYS = "Escape, then Tab, leaves the editor; Ctrl or Cmd with Enter runs.";

/**
 * CodeMirror, one document at a time; each keeps its undo history, selection and place.
 *
 * It lives in a shadow root: there its styles are constructed sheets, where in the document they
 * would be a <style> element, which the page's policy forbids.
 */
export class Editor {
  /** @type {Map<string, EditorState>} documents that are not on show */
  #aside = new Map();
  #shown = "";
  #changes = new Compartment();
  /** @type {string | null} the text that the one on show is compared with */
  #original = null;
  /** A text that is put in from outside is no edit. */
  #quiet = false;

  /**
   * @param {HTMLElement} host an empty element with a height
   * @param {{onEdit: (name: string, text: string) => void, onRun: () => void}} listeners
   */
  constructor(host, { onEdit, onRun }) {
    const run = () => {
      onRun();
      return true;
    };
    this.extensions = [
      Prec.highest(keymap.of([{ key: "Mod-Enter", run, preventDefault: true }])),
      lineNumbers(),
      highlightActiveLineGutter(),
      highlightSpecialChars(),
      history(),
      drawSelection(),
      indentUnit.of("  "),
      bracketMatching(),
      highlightActiveLine(),
      highlightSelectionMatches(),
      search({ top: false }),
      lintGutter(),
      wgsl,
      syntaxHighlighting(colours),
      theme,
      keymap.of([
        ...searchKeymap,
        ...historyKeymap,
        ...foldKeymap,
        ...lintKeymap,
        indentWithTab,
        ...defaultKeymap,
      ]),
      EditorView.domEventHandlers({ beforeinput: typeOverSelection }),
      EditorView.updateListener.of(({ docChanged, state }) => {
        if (docChanged && !this.#quiet) onEdit(this.#shown, state.doc.toString());
      }),
    ];
    const root = host.attachShadow({ mode: "open" });
    this.view = new EditorView({ parent: root, root, state: this.#fresh("", "") });
    // Keys that are typed here are no shortcuts of the page.
    host.addEventListener("keydown", (event) => event.stopPropagation());
  }

  /** The name of the document on show; "" = none yet. */
  get shown() {
    return this.#shown;
  }

  /**
   * Puts a document on show: as it was left, if it was on show before and holds this text.
   *
   * @param {string} name
   * @param {string} text
   */
  show(name, text) {
    if (name !== this.#shown) {
      const { scrollDOM } = this.view;
      this.compare(null);
      if (this.#shown) this.#aside.set(this.#shown, this.view.state);
      this.#shown = name;
      this.view.setState(this.#aside.get(name) ?? this.#fresh(name, text));
      scrollDOM.scrollTop = 0;
    }
    this.put(name, text);
  }

  /**
   * Another text of a document, not typed here. On show, it can be undone.
   *
   * @param {string} name
   * @param {string} text
   */
  put(name, text) {
    if (name !== this.#shown) {
      const aside = this.#aside.get(name);
      if (aside && aside.doc.toString() !== text) this.#aside.delete(name);
      return;
    }
    const { doc } = this.view.state;
    const old = doc.toString();
    if (old === text) return;
    // Only what differs is replaced, so that the cursor stays where it was.
    const from = sharedStart(old, text);
    let end = 0;
    const most = Math.min(old.length, text.length) - from;
    while (end < most && old[old.length - 1 - end] === text[text.length - 1 - end]) end++;
    this.#quiet = true;
    const insert = text.slice(from, text.length - end);
    this.view.dispatch({ changes: { from, to: old.length - end, insert } });
    this.#quiet = false;
  }

  /** Lets go of a document; the one on show makes room for none. @param {string} name */
  drop(name) {
    if (name === this.#shown) this.show("", "");
    this.#aside.delete(name);
  }

  /**
   * Marks the messages of the document on show.
   *
   * @param {readonly Message[]} messages
   */
  mark(messages) {
    const { state } = this.view;
    const found = messages.map((message) => ({
      ...rangeOf(state.doc, message),
      severity: message.type,
      message: message.text,
    }));
    found.sort((a, b) => a.from - b.from || a.to - b.to);
    this.view.dispatch(setDiagnostics(state, found));
  }

  /**
   * Shows what differs from another text, the first of it in sight, each with a button to undo it.
   *
   * @param {string | null} original null: no longer
   */
  compare(original) {
    if (original === this.#original) return;
    this.#original = original;
    const merge = original === null ? [] : unifiedMergeView({ original, mergeControls });
    this.view.dispatch({ effects: this.#changes.reconfigure(merge) });
    if (original === null) return;
    const { doc } = this.view.state;
    const first = Math.min(sharedStart(doc.toString(), original), doc.length);
    this.view.dispatch({ effects: EditorView.scrollIntoView(first, { y: "center" }) });
  }

  /**
   * Puts the cursor where a message points, in sight and ready to type.
   *
   * @param {Pick<Message, "line" | "column" | "length">} place
   */
  jump(place) {
    const { from } = rangeOf(this.view.state.doc, place);
    this.view.dispatch({
      selection: { anchor: from },
      effects: EditorView.scrollIntoView(from, { y: "center" }),
    });
    this.focus();
  }

  focus() {
    this.view.focus();
  }

  /**
   * @param {string} name
   * @param {string} text
   */
  #fresh(name, text) {
    const attributes = EditorView.contentAttributes.of({
      "aria-label": name ? `WGSL of ${name}. ${KEYS}` : "No file is open",
      tabindex: "0", // editable as it is; this says so to tools as well
    });
    return EditorState.create({
      doc: text,
      extensions: [
        attributes,
        EditorState.readOnly.of(!name),
        this.#changes.of([]),
        this.extensions,
      ],
    });
  }
}

/**
 * Text that is typed over a selection. Chromium would give it the colours of what it replaces, as
 * an inline style, which the page's policy refuses and reports.
 *
 * @param {InputEvent} event
 * @param {EditorView} view
 */
function typeOverSelection(event, view) {
  const { state } = view;
  const typed = event.inputType === "insertText" && event.data !== null && !event.isComposing;
  if (!typed || state.readOnly || state.selection.main.empty) return false;
  const insert = state.replaceSelection(/** @type {string} */ (event.data));
  view.dispatch(insert, { scrollIntoView: true, userEvent: "input.type" });
  event.preventDefault();
  return true;
}

/**
 * How many characters two texts share at their beginnings.
 *
 * @param {string} a
 * @param {string} b
 */
function sharedStart(a, b) {
  let n = 0;
  while (n < a.length && n < b.length && a[n] === b[n]) n++;
  return n;
}

/**
 * Of the library's two buttons only the one that undoes: a difference is accepted by saving it.
 *
 * @param {"reject" | "accept"} type
 * @param {(event: MouseEvent) => void} action
 */
function mergeControls(type, action) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "undo";
  button.hidden = type === "accept";
  button.addEventListener("click", action);
  return button;
}
