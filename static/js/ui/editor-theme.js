// @ts-check
import { EditorView } from "../vendor/codemirror.js";

/**
 * How the editor looks: all by the page's variables, which reach into its shadow root, so that it
 * follows light and dark without being told.
 */
export const theme = EditorView.theme({
  "&": {
    height: "100%",
    color: "var(--text)",
    backgroundColor: "var(--raised)",
    fontSize: "var(--small)",
  },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "1px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5", overflow: "auto" },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-cursor, .cm-dropCursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": {
    backgroundColor: "var(--sunken)",
    color: "var(--muted)",
    borderRight: "1px solid var(--line)",
  },
  ".cm-activeLine": { backgroundColor: "var(--code-line)" },
  ".cm-activeLineGutter": { backgroundColor: "var(--hover)", color: "var(--text)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground":
    { background: "var(--code-selection)" },
  ".cm-selectionMatch": { backgroundColor: "var(--code-match)" },
  ".cm-searchMatch": { backgroundColor: "var(--code-match)" },
  ".cm-searchMatch-selected": { outline: "1px solid var(--accent)" },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--code-match)" },
  ".cm-foldPlaceholder": {
    backgroundColor: "var(--sunken)",
    color: "var(--muted)",
    border: "1px solid var(--line)",
  },
  ".cm-panels": { backgroundColor: "var(--sunken)", color: "var(--text)" },
  ".cm-panels-bottom": { borderTop: "1px solid var(--line)" },
  ".cm-panel input, .cm-panel button, .cm-textfield, .cm-button": {
    backgroundColor: "var(--raised)",
    backgroundImage: "none",
    color: "var(--text)",
    border: "1px solid var(--edge)",
    borderRadius: "var(--radius)",
  },
  ".cm-tooltip": {
    backgroundColor: "var(--raised)",
    color: "var(--text)",
    border: "1px solid var(--line)",
    borderRadius: "var(--radius)",
  },
  ".cm-diagnostic": { whiteSpace: "pre-wrap", fontFamily: "var(--mono)", padding: "4px 8px" },
  ".cm-diagnostic-error": { borderLeft: "4px solid var(--fail)" },
  ".cm-diagnostic-warning": { borderLeft: "4px solid var(--error)" },
  ".cm-diagnostic-info": { borderLeft: "4px solid var(--accent)" },
  ".cm-lintRange": { backgroundImage: "none", textDecorationLine: "underline" },
  ".cm-lintRange-error": {
    textDecorationStyle: "wavy",
    textDecorationColor: "var(--fail)",
    backgroundColor: "var(--stop-ground)",
  },
  ".cm-lintRange-warning": {
    textDecorationStyle: "dashed",
    textDecorationColor: "var(--error)",
  },
  ".cm-lintRange-info": { textDecorationStyle: "dotted", textDecorationColor: "var(--accent)" },
  ".cm-changedLine, .cm-inlineChangedLine": { backgroundColor: "var(--code-added)" },
  ".cm-changedText, .cm-insertedLine .cm-changedText": {
    background: "none",
    textDecoration: "underline 2px var(--pass)",
  },
  ".cm-deletedChunk": { backgroundColor: "var(--code-removed)", paddingInlineStart: "6px" },
  ".cm-deletedChunk .cm-deletedText": {
    background: "none",
    textDecoration: "line-through var(--fail)",
  },
  ".cm-deletedChunk button": {
    border: "1px solid var(--edge)",
    backgroundColor: "var(--raised)",
    color: "var(--text)",
    font: "inherit",
  },
  ".cm-changeGutter": { width: "3px", paddingLeft: "1px" },
  ".cm-changedLineGutter": { backgroundColor: "var(--pass)" },
  ".cm-deletedLineGutter": { backgroundColor: "var(--fail)" },
  // The library's pictures are data URLs with colours of their own; these shapes follow the theme.
  ".cm-lint-marker": { content: "none", fontWeight: "bold", textAlign: "center", width: "1em" },
  ".cm-lint-marker::before": { display: "block", lineHeight: "1.2" },
  ".cm-lint-marker-error::before": { content: '"✗"', color: "var(--fail)" },
  ".cm-lint-marker-warning::before": { content: '"!"', color: "var(--error)" },
  ".cm-lint-marker-info::before": { content: '"i"', color: "var(--accent)" },
});
