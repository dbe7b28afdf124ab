// @ts-check
import { keyOf } from "../case-check.js";
import { loaded } from "../lazy.js";
import { OwnFiles } from "../own/files.js";
import { asRunError } from "../run-error.js";
import { OwnPanel } from "../ui/own.js";

/** @typedef {import("../context.js").Context} Context */
/** @typedef {import("../context.js").Section} Section */

/** Who types fast is not told of half a word. */
const TYPING_MS = 400;

const NEW_KERNEL = "kernel.wgsl";
const NEW_MANIFEST = '{\n  "grid": ["ceil_div(Tq, 16)", "H", "B"]\n}\n';

/**
 * A kernel of one's own: given as files or pasted, edited in the editor of the kernel section, held
 * against its manifest while one types, run like ours.
 *
 * @implements {Section}
 */
export class OwnSection {
  #files = new OwnFiles();
  #panel;
  /** @type {Map<string, import("../context.js").OpenText>} files in the editor */
  #open = new Map();
  #ready = false;
  #running = false;
  /** Somebody wrote a case here. */
  #written = false;
  /** Answers that are late for the text of now are dropped. */
  #turn = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #typing;

  /** @param {Context} context */
  constructor(context) {
    this.context = context;
    this.#panel = new OwnPanel({
      onFiles: (files) => this.#take(files),
      onPaste: (text) => this.#give([this.#files.named(text)]),
      onNew: () =>
        this.#give([
          { name: NEW_KERNEL, text: this.#files.text(NEW_KERNEL) ?? "" },
          { name: "kernel.json", text: this.#files.text("kernel.json") ?? NEW_MANIFEST },
        ]).then(() => this.#edit(NEW_KERNEL)),
      onOpen: (name) => this.#edit(name),
      onRemove: (name) => this.#remove(name),
      onChoose: (name) => this.#choose(name),
      onRun: (suite) => this.#run(suite),
      onCase: () => {
        this.#written = true;
        this.#changed();
      },
    });
    context.ownKernel = () => this.#own();
  }

  /** @type {NonNullable<Section["enable"]>} */
  enable({ ready, running }) {
    this.#ready = ready;
    this.#running = running;
    this.#panel.enable(ready && !running && !this.#files.empty);
  }

  /**
   * The case on show is the one to run, until another one is written.
   *
   * @type {NonNullable<Section["chosen"]>}
   */
  chosen(entry) {
    if (!entry || this.#written) return;
    const plain = entry.case.replace(/,kernel=[^,]*/, "");
    if (plain === this.#panel.case) return;
    this.#panel.case = plain;
    if (!this.#files.empty) this.#changed();
  }

  /** The kernel as runs take it; null while there is none, or its manifest is no JSON. */
  #own() {
    try {
      return /** @type {Record<string, unknown> | null} */ (
        /** @type {unknown} */ (this.#files.own())
      );
    } catch {
      return null;
    }
  }

  // Files

  /** @param {Iterable<File>} files */
  async #take(files) {
    const read = [...files].map(async (file) => ({ name: file.name, text: await file.text() }));
    await this.#give(await Promise.all(read));
  }

  /** @param {import("../own/files.js").Given[]} files */
  async #give(files) {
    try {
      for (const name of this.#files.give(files))
        this.#open.get(name)?.setText(this.#files.text(name) ?? "");
    } catch (error) {
      this.#panel.say(/** @type {Error} */ (error).message, "wrong");
      return;
    }
    this.#listed();
    await this.#check();
  }

  /** @param {string} name */
  #remove(name) {
    this.#files.remove(name);
    this.#open.get(name)?.close();
    this.#open.delete(name);
    this.#listed();
    this.#panel.focus(); // the button that was pressed is gone
    this.#check();
  }

  /** @param {string} name of the text that is to be the kernel */
  #choose(name) {
    this.#files.choose(name);
    this.#listed();
    this.#panel.focus(name); // the button that was pressed is gone
    this.#check();
  }

  #listed() {
    this.#show();
    this.enable({ ready: this.#ready, running: this.#running });
    this.context.refresh();
  }

  /** The files, and which of them is the kernel. */
  #show() {
    const { names, roles } = this.#files;
    const kernels = names.filter((name) => this.#files.runs(name));
    this.#panel.showFiles(names, { ...roles, kernels });
  }

  /** Puts a file into the editor. @param {string} name */
  async #edit(name) {
    const { editor } = this.context;
    const known = this.#open.get(name);
    if (known) return known.focus();
    const opened = await editor?.openText({
      name: `own/${name}`,
      text: this.#files.text(name) ?? "",
      onChange: (text) => {
        this.#files.set(name, text);
        this.#changed();
      },
      onRun: () => this.#run(false),
    });
    if (!opened) return;
    this.#open.set(name, opened);
    await opened.focus();
    await this.#check();
  }

  // What is made of them

  #changed() {
    clearTimeout(this.#typing);
    this.#typing = setTimeout(() => this.#check(), TYPING_MS);
  }

  /** Holds the manifest against the text, and asks the compiler. */
  async #check() {
    clearTimeout(this.#typing);
    this.#show(); // what is typed may be an entry point
    const turn = ++this.#turn;
    /** @type {import("../own/check.js").Checked} */
    let checked = { rows: [], messages: [], said: "No kernel is loaded.", state: "" };
    try {
      const own = this.#files.own();
      if (own) {
        this.#suit(own.manifest.op ?? "forward");
        const { spec } = await this.context.transport.get(
          `/api/cases/${keyOf(this.#panel.case, {})}`,
        );
        const { checkOwn } = await loaded("what reads WGSL", import("../own/check.js"));
        const { device } = await this.context.devices.acquire({});
        checked = await checkOwn(device, own, spec);
      }
    } catch (error) {
      const said = error instanceof SyntaxError ? error.message : asRunError(error).message;
      checked = { rows: [], messages: [], said, state: "wrong" };
    }
    if (turn !== this.#turn) return;
    this.#panel.say(checked.said, checked.state);
    this.#panel.showRows(checked.rows);
    for (const [name, opened] of this.#open) {
      opened.setMessages(
        checked.messages
          .filter(({ file }) => file === name)
          .map((message) => ({ ...message, file: `own/${name}` })),
      );
    }
  }

  /** A backward kernel is shown a backward case, and so on. @param {string} op */
  #suit(op) {
    const [, rest = ""] = this.#panel.case.split(":");
    if (!this.#panel.case.startsWith(`${op}:`)) this.#panel.case = `${op}:${rest}`;
  }

  // Running

  /** @param {boolean} suite the small one for kernels of one's own, instead of the case */
  async #run(suite) {
    if (!this.#ready || this.#running) return;
    await this.#check();
    try {
      const own = this.#own();
      if (!own || this.#running) return; // pressed twice
      const what = suite ? { suite: "own" } : { case: this.#panel.case };
      const { kappa } = this.context.options;
      await this.context.start({ ...what, own, ...(kappa && { kappa: Number(kappa) }) });
    } catch (error) {
      this.#panel.say(`Not run: ${asRunError(error).message}`, "wrong");
    }
  }
}
