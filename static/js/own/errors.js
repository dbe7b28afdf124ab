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
