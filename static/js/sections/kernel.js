// @ts-check
import { CaseCheck, keyOf } from "../case-check.js";
import { EditBuffers } from "../edit-buffers.js";
import { KernelResults } from "../kernel-results.js";
import { lazy, loaded } from "../lazy.js";
import { OwnTexts } from "../own-texts.js";
import { asRunError, RunError } from "../run-error.js";
import { EditorPanel } from "../ui/editor-panel.js";

/** @typedef {import("../context.js").Section} Section */
/** @typedef {import("../attention/index.js").Message} Message */
/** @typedef {import("../ui/editor.js").Editor} Editor */

/** Saves that follow each other at once are one: an editor that saves all files. */
const SAVING_MS = 25;

/**
 * The shaders of the case on show: edited, checked while one types, run, read again when they are
 * saved. CodeMirror is loaded when the section first comes into view.
 *
 * @implements {Section}
 */
export class KernelSection {
  #buffers = new EditBuffers();
  #results = new KernelResults();
  #own = new OwnTexts();
  #case;
  #panel;
  /** @type {Editor | null} */
  #editor = null;
  #making = lazy(() => this.#makeEditor());
  #lacks = ""; // why there is no editor, told before whatever else is said
  /** Counts texts asked for: one that is late for what is asked now is not put on show. */
  #turn = 0;
  /** Somebody looks at it, or a file was saved: from then on cases are looked into. */
  #awake = false;
  #ready = false;
  #running = false;
  /** What the last run said that a check cannot see. @type {Message[]} */
  #fromRun = [];
  /** @type {string[]} all shader files */
  #all = [];
  #shown = "";
  /** The output on show. */
  #output = "";
  /** @type {{case: string, output: string} | null} to be put on show when it is judged again */
  #next = null;
  /** The runs of the list are of the files as they are here: one can be held against another. */
  #plain = false;
  /** A file was saved while something ran. */
  #again = false;
  /** @type {Record<string, number>} how often each file was saved */
  #saves = {};
  /** @type {Set<string>} */
  #justSaved = new Set();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #saving;

  /** @param {import("../context.js").Context} context */
  constructor(context) {
    this.context = context;
    this.#case = new CaseCheck(context, {
      edited: () => this.#buffers.edited(),
      onChange: () => this.#follow(),
    });
    this.#panel = new EditorPanel({
      onFile: (name) => this.#open(name),
      onRevert: (path) => this.#revert(path),
      onRun: () => this.#run(),
      onMessage: (message) => this.#jump(message),
      onTake: () => this.#revert(this.#shown),
      onKeep: () => {
        this.#buffers.keep(this.#shown);
        this.#draw();
        this.#editor?.focus();
      },
      onChanges: () => this.#draw(),
      onVisible: () => this.#load(),
    });
    context.editor = {
      openText: (text) => this.#openText(text),
      shaders: () => this.#buffers.edited(),
      jump: (place) => this.#jump({ ...place, length: 0 }),
    };
    context.addToRuns((body) => this.#addTo(body));
    context.transport.listen("shader", (event) => this.#saved(event));
  }

  /** @type {NonNullable<Section["enable"]>} */
  enable({ ready, running }) {
    this.#ready = ready;
    this.#running = running;
    this.#panel.enable(this.#runnable);
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
    if (!report || !this.#plain || !this.context.session.own) return;
    this.#results.judged(report);
    if (entry.case !== this.#case.job?.case) return;
    const { kind, file, line, column } = report.error ?? {};
    const place = { file: file ?? "", line: line ?? 0, column: column ?? 0, length: 0 };
    const refused = kind === "compile" && file;
    this.#fromRun = refused ? [{ type: "error", text: report.message, ...place }] : [];
    const next = this.#next;
    this.#next = null;
    if (next?.case === entry.case) this.context.choose(entry, next.output);
    this.#draw();
  }

  /** Files may have been saved while nobody told this page. */
  async resync() {
    if (!this.#awake) return;
    if (this.#lacks) await this.#load();
    await this.#case.forget();
    this.#all = await this.#case.files();
    for (const path of this.#all) await this.#reread(path);
    await this.#case.again();
  }

  // What is on show

  get #runnable() {
    const something = this.#own.get(this.#shown) !== undefined || this.#case.job !== null;
    return this.#ready && !this.#running && something;
  }

  #look() {
    if (!this.#awake || !this.#ready) return;
    const { caseOnShow, choiceOnShow, session } = this.context;
    this.#case.look(keyOf(caseOnShow() || session.entries[0]?.case, choiceOnShow()));
  }

  /** Shows the kernel of the case, unless a file is on show that is its own or is being edited. */
  async #follow() {
    const { files = [], main = "" } = this.#case.checked ?? {};
    const shown = this.#shown;
    const stays = this.#own.get(shown) || files.includes(shown) || this.#buffers.isEdited(shown);
    if (main && !stays) await this.#open(main);
    this.#draw();
  }

  async #load() {
    this.#awake = true;
    this.#look();
    this.#lacks = await this.#making().then(
      () => "",
      (error) => `No editor: ${asRunError(error).message}. `,
    );
    this.#draw();
  }

  async #makeEditor() {
    const { Editor } = await loaded("the editor", import("../ui/editor.js"));
    this.#editor = new Editor(this.#panel.host, {
      onEdit: (name, text) => this.#edit(name, text),
      onRun: () => this.#run(),
    });
    this.#all = await this.#case.files();
    if (this.#shown) await this.#open(this.#shown);
  }

  /** @param {string} name of a file, or of another part's text */
  async #open(name) {
    const own = this.#own.get(name);
    const turn = ++this.#turn;
    try {
      if (!own) this.#buffers.open(name, await this.#case.shaders.text(name));
    } catch (error) {
      this.#panel.say(asRunError(error).message);
      return;
    }
    if (turn !== this.#turn) return;
    this.#shown = name;
    this.#editor?.show(name, own ? own.text : this.#buffers.text(name));
    this.#draw();
  }

  /** @param {import("../context.js").OwnText} text */
  async #openText(text) {
    const opened = this.#own.open(text, {
      onText: (name, changed) => this.#editor?.put(name, changed),
      onMessages: () => this.#draw(),
      onFocus: (name) => this.#open(name).then(() => this.#editor?.focus()),
      onClose: (name) => {
        if (this.#shown === name) this.#shown = "";
        this.#editor?.drop(name);
        this.#follow();
      },
    });
    await this.#load();
    await this.#open(text.name);
    return opened;
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
    this.#changed();
  }

  /** @param {string} path */
  #revert(path) {
    this.#editor?.put(path, this.#buffers.revert(path));
    this.#changed();
    this.#editor?.focus(); // the button that was pressed is gone or disabled
  }

  /** A text is another one: it is checked once nobody types. */
  #changed() {
    this.#case.touched();
    this.#fromRun = [];
    this.#draw({ typing: true });
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
    if (this.#runnable && (await this.#case.again()) && this.#runnable) await this.#start();
  }

  async #start() {
    const { job } = this.#case;
    if (!job) return;
    const { kappa } = this.context.options;
    this.#next = this.#output ? { case: job.case, output: this.#output } : null;
    try {
      await this.context.start({ case: job.case, ...(kappa && { kappa: Number(kappa) }) });
    } catch (error) {
      this.#panel.say(`Not run: ${asRunError(error).message}`);
    }
  }

  /**
   * Edited texts go with every run that this page starts. A text that is known not to compile
   * replaces no result: what is on show stays, as that of the earlier text.
   *
   * @param {import("../context.js").RunBody} body
   */
  #addTo(body) {
    // Who names shaders, or brings a kernel, means these and no others.
    const others = body.shaders !== undefined || body.own !== undefined;
    if (!others && this.#case.isBroken(keyOf(body.case ?? "", body))) {
      throw new RunError("compile", this.#case.summary(this.#messages, true));
    }
    const { page = this.context.transport.page } = body;
    // A traced text is another one, and another device computes otherwise.
    this.#plain = !others && !body.trace && page === this.context.transport.page;
    this.#results.started(others ? null : this.#texts());
    const shaders = this.#buffers.edited();
    return others || !Object.keys(shaders).length ? body : { ...body, shaders };
  }

  /** @param {{path: string, sha256: string | null}} event */
  async #saved({ path, sha256 }) {
    this.#saves[path] = (this.#saves[path] ?? 0) + 1;
    this.#justSaved.add(path);
    await this.#case.forget(path);
    if (sha256 !== null) await this.#reread(path);
    clearTimeout(this.#saving);
    this.#saving = setTimeout(() => this.#afterSave(), SAVING_MS);
  }

  /** What lies on disk now, for a file that is open. @param {string} path */
  async #reread(path) {
    if (!this.#buffers.has(path)) return;
    const text = await this.#case.shaders.text(path).catch(() => null);
    if (text === null || this.#buffers.saved(path, text) !== "taken") return;
    this.#editor?.put(path, this.#buffers.text(path));
  }

  async #afterSave() {
    const saved = [...this.#justSaved];
    this.#justSaved.clear();
    this.#awake = true;
    this.#look();
    if (this.#all.length && saved.some((path) => !this.#all.includes(path)))
      this.#all = await this.#case.files();
    const compiles = await this.#case.again();
    const { job, checked } = this.#case;
    const concerned = saved.some(
      (path) => checked?.files.includes(path) && !this.#buffers.isEdited(path),
    );
    if (!job || !concerned || !compiles || !this.#panel.rerun) return;
    if (!this.#results.has(job.case)) return; // it was never run here
    if (this.#running) this.#again = true;
    else await this.#start();
  }

  // What is said of it

  get #messages() {
    return [...(this.#case.checked?.messages ?? []), ...this.#fromRun];
  }

  /** @returns {import("../kernel-results.js").Texts} */
  #texts() {
    return { edited: this.#buffers.edited(), saves: { ...this.#saves } };
  }

  /** @param {{typing?: boolean}} [how] typing: marks stay until the next check */
  #draw({ typing = false } = {}) {
    const own = this.#own.get(this.#shown);
    const { files = [] } = this.#case.checked ?? {};
    const id = this.#case.job?.case ?? "";
    const stale = this.#results.has(id) && this.#results.stale(files, this.#texts());
    this.#panel.draw({
      buffers: this.#buffers,
      ...{ used: files, all: this.#all, own: this.#own.names, shown: this.#shown },
      ...{ stale, change: this.#results.change(id), runnable: this.#runnable },
    });
    const compares = this.#panel.changes && !own && this.#buffers.has(this.#shown);
    this.#editor?.compare(compares ? this.#buffers.disk(this.#shown) : null);
    if (typing) return;
    const messages = own ? own.messages : this.#messages;
    this.#panel.messages(messages);
    this.#editor?.mark(messages.filter(({ file }) => file === this.#shown));
    if (!own) this.#panel.say(this.#lacks + this.#case.summary(messages, stale));
  }
}
