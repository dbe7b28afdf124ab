// @ts-check
import { hasErrors } from "../diagnostics.js";
import { EditBuffers } from "../edit-buffers.js";
import { plural } from "../format.js";
import { KernelResults } from "../kernel-results.js";
import { asRunError } from "../run-error.js";
import { ShaderCheck } from "../shader-check.js";
import { EditorPanel } from "../ui/editor-panel.js";

/** @typedef {import("../context.js").Context} Context */
/** @typedef {import("../context.js").Section} Section */
/** @typedef {import("../context.js").OwnText} OwnText */
/** @typedef {import("../context.js").OpenText} OpenText */
/** @typedef {import("../attention/index.js").Message} Message */
/** @typedef {import("../runner.js").Spec} Spec */
/** @typedef {import("../ui/editor.js").Editor} Editor */

/** Who types fast is not told of half a word. */
const TYPING_MS = 350;
/** Saves that follow each other at once are one: an editor that saves all files. */
const SAVING_MS = 25;
/** The case field is typed into. */
const CHOOSING_MS = 200;

/**
 * The shaders of the case on show: edited, checked while one types, run, read again when they are
 * saved. CodeMirror is loaded when the section first comes into view.
 *
 * @implements {Section}
 */
export class KernelSection {
  #buffers = new EditBuffers();
  #results = new KernelResults();
  #check;
  #panel;
  /** @type {Editor | null} */
  #editor = null;
  /** @type {Promise<void> | null} */
  #loading = null;
  /** Somebody looks at the section, or a file was saved: from then on cases are looked into. */
  #awake = false;
  #ready = false;
  #running = false;
  /** What the case on show was asked as, and then what the server made of it. */
  #key = "";
  /** @type {{case: string, spec: Spec, kernel: string} | null} */
  #job = null;
  /** @type {import("../shader-check.js").Checked | null} */
  #checked = null;
  /** @type {string} why there is nothing to check; "" = there is */
  #refused = "";
  /** What the last run said that a check cannot see. @type {Message[]} */
  #fromRun = [];
  #turn = 0;
  /** @type {string[]} all shader files */
  #all = [];
  /** @type {Map<string, OwnText & {messages: readonly Message[]}>} texts of other parts, by name */
  #own = new Map();
  #shown = "";
  /** The output on show, for after the next run. */
  #output = "";
  /** A file was saved while something ran. */
  #again = false;
  /** @type {Record<string, number>} */
  #saves = {};
  /** @type {Set<string>} */
  #justSaved = new Set();
  /** @type {Partial<Record<"choosing" | "typing" | "saving", ReturnType<typeof setTimeout>>>} */
  #timers = {};

  /** @param {Context} context */
  constructor(context) {
    this.context = context;
    this.#check = new ShaderCheck(context);
    this.#panel = new EditorPanel({
      onFile: (name) => this.#open(name).then(() => this.#editor?.focus()),
      onRevert: (path) => this.#revert(path),
      onRun: () => this.#run(),
      onMessage: (message) => this.#jump(message),
      onTake: () => this.#revert(this.#shown),
      onKeep: () => {
        this.#buffers.keep(this.#shown);
        this.#draw();
      },
      onVisible: () => this.#load(),
    });
    context.editor = {
      openText: (text) => this.#openText(text),
      shaders: () => this.#buffers.edited(),
      jump: (place) => this.#jump({ ...place, length: 0 }),
    };
    context.addToRuns((body) => {
      this.#results.started(this.#texts());
      const shaders = this.#buffers.edited();
      // Who names shaders, or brings a kernel, means these and no others.
      if (body.shaders || body.own || !Object.keys(shaders).length) return body;
      return { ...body, shaders };
    });
    context.transport.listen("shader", (event) => this.#saved(event));
  }

  /** @type {NonNullable<Section["enable"]>} */
  enable({ ready, running }) {
    this.#ready = ready;
    this.#running = running;
    this.#panel.enable(ready && !running && (this.#own.has(this.#shown) || this.#job !== null));
    this.#look();
    if (this.#again && ready && !running) {
      this.#again = false;
      this.#start();
    }
  }

  /** @type {NonNullable<Section["chosen"]>} */
  chosen(entry, check) {
    if (entry) this.#output = check;
    this.#look();
    this.#draw();
  }

  /** @type {NonNullable<Section["judged"]>} */
  judged(entry) {
    const { report } = entry;
    if (!report || !this.context.session.own) return;
    this.#results.judged(report);
    if (entry.case !== this.#job?.case) return;
    const { kind, file, line, column } = report.error ?? {};
    this.#fromRun =
      kind === "compile" && file
        ? [
            {
              type: "error",
              text: report.message,
              file,
              line: line ?? 0,
              column: column ?? 0,
              length: 0,
            },
          ]
        : [];
    if (this.#output) this.context.choose(entry, this.#output);
    this.#draw();
  }

  /** Files may have been saved while nobody told this page. */
  async resync() {
    if (!this.#awake) return;
    this.#check.forget();
    (await this.context.runner).reload();
    await this.#list();
    for (const path of this.#all) await this.#reread(path);
    await this.#recheck();
  }

  // What is on show

  /** Another case may be on show. */
  #look() {
    const { caseOnShow, choiceOnShow, session } = this.context;
    const id = caseOnShow() || session.entries[0]?.case || "";
    const key = id && `${encodeURIComponent(id)}?${new URLSearchParams(choiceOnShow())}`;
    if (key === this.#key || !this.#awake || !this.#ready) return;
    this.#key = key;
    clearTimeout(this.#timers.choosing);
    this.#timers.choosing = setTimeout(() => this.#find(), this.#job ? CHOOSING_MS : 0);
  }

  /** Asks the server what the case on show is, and the compiler about its shaders. */
  async #find() {
    const key = this.#key;
    let job = null;
    let refused = "Choose a check, or write a case above: its shaders appear here.";
    try {
      if (key) job = await this.context.transport.get(`/api/cases/${key}`);
    } catch (error) {
      refused = asRunError(error).message;
    }
    if (key !== this.#key) return;
    this.#fromRun = [];
    this.#job = job;
    this.#refused = job ? "" : refused;
    await this.#recheck();
  }

  /** @returns {Promise<boolean>} whether the case on show compiles, as far as can be told */
  async #recheck() {
    clearTimeout(this.#timers.typing);
    const turn = ++this.#turn;
    let checked = null;
    let refused = this.#refused;
    try {
      if (this.#job) checked = await this.#check.check(this.#job, this.#buffers.edited());
    } catch (error) {
      refused = asRunError(error).message;
    }
    if (turn === this.#turn) {
      this.#checked = checked;
      this.#refused = this.#job ? (checked ? "" : refused) : this.#refused;
      await this.#follow();
      this.#draw();
    }
    return checked === null || !hasErrors(checked.messages);
  }

  /** Shows the kernel of the case, unless a file is on show that is its own or is being edited. */
  async #follow() {
    const { files = [], main = "" } = this.#checked ?? {};
    const stays =
      this.#own.has(this.#shown) ||
      files.includes(this.#shown) ||
      this.#buffers.isEdited(this.#shown);
    if (main && !stays) await this.#open(main);
  }

  async #load() {
    this.#awake = true;
    this.#loading ??= import("../ui/editor.js").then(async ({ Editor }) => {
      this.#editor = new Editor(this.#panel.host, {
        onEdit: (name, text) => this.#edit(name, text),
        onRun: () => this.#run(),
      });
      await this.#list();
      if (this.#shown) await this.#open(this.#shown);
    });
    this.#look();
    await this.#loading;
    this.#draw();
  }

  async #list() {
    try {
      const { shaders } = await this.context.transport.get("/api/shaders");
      this.#all = shaders.map((/** @type {{path: string}} */ { path }) => path);
    } catch {
      // A server that is gone comes back, and resync with it.
    }
  }

  /** @param {string} name of a file, or of another part's text */
  async #open(name) {
    const own = this.#own.get(name);
    try {
      if (!own) this.#buffers.open(name, await this.#check.text(name));
    } catch (error) {
      this.#panel.say(asRunError(error).message);
      return;
    }
    this.#shown = name;
    this.#editor?.show(name, own ? own.text : this.#buffers.text(name));
    this.#draw();
  }

  /** @param {OwnText} own @returns {Promise<OpenText>} */
  async #openText(own) {
    this.#own.set(own.name, { ...own, messages: [] });
    await this.#load();
    await this.#open(own.name);
    const known = () => this.#own.get(own.name);
    return {
      setText: (text) => {
        const one = known();
        if (one) one.text = text;
        this.#editor?.put(own.name, text);
      },
      setMessages: (messages) => {
        const one = known();
        if (one) one.messages = messages;
        this.#draw();
      },
      focus: () => this.#open(own.name).then(() => this.#editor?.focus()),
      close: () => {
        this.#own.delete(own.name);
        if (this.#shown === own.name) this.#shown = "";
        this.#editor?.drop(own.name);
        this.#follow().then(() => this.#draw());
      },
    };
  }

  // What is done to it

  /** @param {string} name @param {string} text */
  #edit(name, text) {
    const own = this.#own.get(name);
    if (own) {
      own.text = text;
      own.onChange(text);
      return;
    }
    this.#buffers.edit(name, text);
    this.#fromRun = [];
    clearTimeout(this.#timers.typing);
    this.#timers.typing = setTimeout(() => this.#recheck(), TYPING_MS);
    this.#draw({ typing: true });
  }

  /** @param {string} path */
  #revert(path) {
    const text = this.#buffers.revert(path);
    this.#fromRun = [];
    this.#editor?.put(path, text);
    this.#recheck();
  }

  /** @param {Pick<Message, "file" | "line" | "column" | "length">} place */
  async #jump(place) {
    await this.#load();
    if (place.file !== this.#shown) await this.#open(place.file);
    if (this.#shown === place.file) this.#editor?.jump(place);
  }

  /** Runs what is in the editor: another part's text, else the case on show. */
  async #run() {
    const own = this.#own.get(this.#shown);
    if (own) return own.onRun();
    if (!this.#ready || this.#running) return;
    if (this.#job && (await this.#recheck())) await this.#start();
  }

  async #start() {
    if (!this.#job) return;
    const { kappa } = this.context.options;
    const output = this.#output;
    try {
      await this.context.start({ case: this.#job.case, ...(kappa && { kappa: Number(kappa) }) });
      this.#output = output;
    } catch (error) {
      this.#panel.say(`Not run: ${asRunError(error).message}`);
    }
  }

  /** @param {{path: string, sha256: string | null}} event */
  async #saved({ path, sha256 }) {
    this.#saves[path] = (this.#saves[path] ?? 0) + 1;
    this.#justSaved.add(path);
    this.#check.forget(path);
    (await this.context.runner).reload();
    if (sha256 !== null) await this.#reread(path);
    clearTimeout(this.#timers.saving);
    this.#timers.saving = setTimeout(() => this.#afterSave(), SAVING_MS);
  }

  /** What lies on disk now, for a file that is open. @param {string} path */
  async #reread(path) {
    if (!this.#buffers.has(path)) return;
    const text = await this.#check.text(path).catch(() => null);
    if (text === null || this.#buffers.saved(path, text) !== "taken") return;
    this.#editor?.put(path, this.#buffers.text(path));
  }

  async #afterSave() {
    const saved = [...this.#justSaved];
    this.#justSaved.clear();
    if (!this.#awake) {
      this.#awake = true;
      this.#look();
      clearTimeout(this.#timers.choosing);
      await this.#find();
    } else if (saved.some((path) => !this.#all.includes(path))) {
      await this.#list();
    }
    const compiles = await this.#recheck();
    const concerned = saved.some(
      (path) => this.#checked?.files.includes(path) && !this.#buffers.isEdited(path),
    );
    if (!concerned || !compiles || !this.#panel.rerun || !this.#job) return;
    if (!this.#results.has(this.#job.case)) return; // it was never run here
    if (this.#running) this.#again = true;
    else await this.#start();
  }

  // What is said of it

  /** @returns {import("../kernel-results.js").Texts} */
  #texts() {
    return { edited: this.#buffers.edited(), saves: { ...this.#saves } };
  }

  /** @param {{typing?: boolean}} [how] typing: marks stay until the next check */
  #draw({ typing = false } = {}) {
    const own = this.#own.get(this.#shown);
    const { files = [], messages = [] } = this.#checked ?? {};
    const edited = Object.keys(this.#buffers.edited());
    const isEdited = (/** @type {string} */ path) => edited.includes(path);
    const names = { used: files, all: this.#all, own: [...this.#own.keys()], edited: isEdited };
    this.#panel.files(names, this.#shown);
    this.#panel.state(own ? "own" : this.#stateOf(this.#shown), this.#shown);
    this.#panel.edits(
      edited.map((path) => ({
        ...{ path, disk: this.#buffers.disk(path), text: this.#buffers.text(path) },
      })),
    );
    const id = this.#job?.case ?? "";
    const stale = this.#results.has(id) && this.#results.stale(files, this.#texts());
    document.querySelector("main")?.toggleAttribute("data-stale", stale);
    this.#panel.change(this.#results.change(id));
    this.#panel.enable(this.#ready && !this.#running && (own !== undefined || this.#job !== null));
    if (typing) return;
    const all = own ? own.messages : [...messages, ...this.#fromRun];
    this.#panel.messages(all);
    this.#editor?.mark(all.filter(({ file }) => file === this.#shown));
    if (!own) this.#panel.say(this.#summary(all, stale));
  }

  /** @param {string} path @returns {"shipped" | "edited" | "contested"} */
  #stateOf(path) {
    if (this.#buffers.isContested(path)) return "contested";
    return this.#buffers.isEdited(path) ? "edited" : "shipped";
  }

  /** @param {readonly Message[]} messages @param {boolean} stale */
  #summary(messages, stale) {
    if (this.#refused) return this.#refused;
    if (!this.#checked) return "Asking the compiler.";
    const errors = messages.filter(({ type }) => type === "error").length;
    const rest = stale ? " The results on show are those of the earlier text." : "";
    if (errors)
      return `${plural(errors, "error")}: this does not compile, so it is not run.${rest}`;
    const { main, files } = this.#checked;
    const others = files.length - 1;
    return `${main} and the ${plural(others, "file")} with it compile on this device.${rest}`;
  }
}
