// @ts-check
/**
 * What the sections of the page share, and what they are asked for.
 *
 * @typedef {import("./checks.js").Entry} Entry
 *
 * @typedef {object} RunBody what a run is asked for with: POST /api/runs without the page
 * @property {string} [case]
 * @property {string} [suite]
 * @property {string} [kernel]
 * @property {string} [seed]
 * @property {number} [kappa]
 * @property {string} [page]  the id of the page that does it, if it is another one
 * @property {Record<string, string>} [shaders]  edited texts by path
 * @property {Record<string, unknown>} [own]  a kernel that is not ours
 * @property {import("./trace-buffer.js").Wanted} [trace]
 * @property {string} [like]  a run whose edited texts run again
 *
 * @typedef {object} OwnText a text that another part has edited in the kernel section's editor
 * @property {string} name  what it is listed as
 * @property {string} text
 * @property {(text: string) => void} onChange  it was typed into
 * @property {() => void} onRun  Run, or Ctrl or Cmd with Enter
 *
 * @typedef {object} OpenText that text, open in the editor
 * @property {(text: string) => void} setText
 * @property {(messages: readonly import("./attention/index.js").Message[]) => void} setMessages
 *   replaces what is marked and listed; those whose `file` is the name are marked in the text
 * @property {() => Promise<void>} focus  puts it on show again
 * @property {() => void} close
 *
 * @typedef {object} KernelEditor
 * @property {(text: OwnText) => Promise<OpenText>} openText  opens it and puts it on show
 * @property {() => Record<string, string>} shaders  the shader files that are edited, by path
 * @property {(place: {file: string, line: number, column: number}) => Promise<void>} jump  opens a
 *   shader file at a place
 *
 * @typedef {object} Context
 * @property {import("./transport.js").Transport} transport
 * @property {import("./session.js").Session} session
 * @property {() => Promise<import("./runner.js").Runner>} runner  loaded for the first job
 * @property {import("./device.js").DeviceKeeper} devices
 * @property {import("./tuned-tables.js").TunedTables} tables
 * @property {Promise<string>} engine
 * @property {import("./ui/notices.js").Notices} notices
 * @property {import("./url-options.js").Options} options  of the URL, as the page was opened
 * @property {import("./ui/detail.js").Detail} detail
 * @property {() => string} caseOnShow  the line chosen, else what the form says; "" = none
 * @property {() => {kernel?: string, seed?: string}} choiceOnShow  what the form adds to the case;
 *   nothing for a line, whose id holds both
 * @property {(body: RunBody) => Promise<string[]>} start  runs on this page, as the list shows
 *   them; gives the cases as the server understands them. Throws the server's refusal
 * @property {(entry: Entry, check: string) => void} choose  puts a check on show
 * @property {() => void} refresh  something that `Section` tells has changed
 * @property {() => Promise<void>} describeEnvironment  limits in use may have changed
 * @property {(add: (body: RunBody) => RunBody) => void} addToRuns  a say in every run that this
 *   page starts, whoever starts it
 * @property {KernelEditor} [editor]  of the kernel section, which puts it here
 * @property {() => Record<string, unknown> | null} [ownKernel]  one's own kernel, as runs take it
 *   (`own`); null while none is loaded. The section of own kernels puts it here
 *
 * @typedef {object} Section a part of the page
 * @property {boolean} [busy]  it has something running
 * @property {boolean} [used]  it shows a result
 * @property {boolean} [elsewhere]  it sends the runs of the list to another page
 * @property {(state: {ready: boolean, running: boolean}) => void} [enable]  ready: there is an
 *   adapter and a server; running: the list of checks is being worked on
 * @property {(entry: Entry | null, check: string) => void} [chosen]  another check is on show, or
 *   the one on show has changed
 * @property {(entry: Entry) => void} [judged]  a run of the list has got its report
 * @property {(kernels: {name: string, op: string}[]) => void} [listed]  the server's kernels are known
 * @property {() => Promise<unknown>} [resync]  the stream was down and is up again
 */
export {};
