// @ts-check
import { CompareSection } from "./compare.js";
import { DevicesSection } from "./devices.js";
import { KernelSection } from "./kernel.js";
import { OwnSection } from "./own.js";
import { SpeedSection } from "./speed.js";
import { TraceSection } from "./trace.js";
import { TrainingSection } from "./training.js";

/**
 * The sections of the page. Each finds its place in the template by itself; the order counts where
 * they add to a run, and an editor is there for those behind the kernel's.
 *
 * @param {import("../context.js").Context} context
 * @returns {import("../context.js").Section[]}
 */
export function allSections(context) {
  return [
    new KernelSection(context),
    new OwnSection(context),
    new TraceSection(context),
    new CompareSection(context),
    new SpeedSection(context),
    new TrainingSection(context),
    new DevicesSection(context),
  ];
}
