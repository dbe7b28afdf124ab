// @ts-check
import { AttentionError } from "../attention/index.js";

/** What a manifest says, or leaves open, does not fit the text of its kernel. */
export class ManifestError extends AttentionError {
  kind = "manifest";

  /**
   * @param {string} field of the manifest: "bindings.Qm", "passes[0].grid"
   * @param {string} reason
   */
  constructor(field, reason) {
    super(`${field}: ${reason}`);
    this.field = field;
    this.reason = reason;
  }
}

/** A text that wgsl_reflect does not read; the compiler may know why. */
export class Unreadable extends Error {
  /**
   * @param {string} file
   * @param {import("../attention/compose.js").Composed} composed
   * @param {string} reason
   */
  constructor(file, composed, reason) {
    super(`${file}: ${reason}`);
    this.file = file;
    this.composed = composed;
    this.reason = reason;
  }
}
