/**
 * What lies here and where it comes from: npm packages that package.json pins, built or copied.
 * After a change: `npm install`, then `npm run vendor`.
 *
 * A recipe has either `exports` (names by package: they become one minified module, and `types`
 * says that a .d.ts passes the packages' own types on) or `copy` (a file of the package that is a
 * module by itself). The first package named gives the version.
 */
export const RECIPES = [
  {
    file: "codemirror.js",
    name: "CodeMirror",
    types: true,
    exports: {
      "@codemirror/view": [
        "EditorView",
        "drawSelection",
        "highlightActiveLine",
        "highlightActiveLineGutter",
        "highlightSpecialChars",
        "keymap",
        "lineNumbers",
      ],
      "@codemirror/state": ["Compartment", "EditorState", "Prec"],
      "@codemirror/commands": ["defaultKeymap", "history", "historyKeymap", "indentWithTab"],
      "@codemirror/language": [
        "HighlightStyle",
        "StreamLanguage",
        "bracketMatching",
        "foldKeymap",
        "indentUnit",
        "syntaxHighlighting",
      ],
      "@codemirror/lint": ["lintGutter", "lintKeymap", "setDiagnostics"],
      "@codemirror/search": ["highlightSelectionMatches", "search", "searchKeymap"],
      "@codemirror/merge": ["unifiedMergeView"],
      "@lezer/highlight": ["tags"],
    },
  },
  {
    file: "wgsl_reflect.js",
    name: "wgsl_reflect",
    types: true,
    exports: { wgsl_reflect: ["WgslReflect"] },
  },
];
