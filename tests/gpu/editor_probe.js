// Put into a copy of the page by test_editor_firefox.py: what a person would do in the editor, for
// a browser that no driver reaches. What was seen goes to the server as the page's environment.
const seen = { complaints: [], errors: [] };
addEventListener("securitypolicyviolation", (event) => {
  seen.complaints.push(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}`);
});
addEventListener("error", (event) => seen.complaints.push(event.message));
addEventListener("unhandledrejection", (event) => seen.complaints.push(String(event.reason)));

const byId = (id) => document.getElementById(id);
const messages = () => byId("kernel-messages").innerText;

async function until(what) {
  for (let n = 0; n < 200; n++) {
    const found = what();
    if (found) return found;
    await new Promise((then) => setTimeout(then, 50));
  }
  throw new Error(`waited in vain for ${what}`);
}

async function probe() {
  await until(() => document.querySelector("main").dataset.state === "idle");
  byId("kernel-editor").scrollIntoView();
  await until(() => byId("kernel-says").textContent.includes("compile on this device"));
  // The compiler may speak before the editor has come, or while no file is open in it.
  const open = '.cm-content[aria-label^="WGSL of"]';
  const content = await until(() => byId("kernel-editor").shadowRoot?.querySelector(open));
  const root = content.getRootNode();
  seen.font = getComputedStyle(content).fontFamily;
  seen.elements = root.querySelectorAll("style").length;
  content.focus();
  for (const line of [
    "/* 😀 */ const typed = 1u +;",
    "/* 😀 */ const typed: f32 = unknown_name + 1.0;",
    "// @use common/nothing.wgsl",
  ]) {
    getSelection().setBaseAndExtent(content, 0, content, 0);
    document.execCommand("insertText", false, `${line} `);
    await until(messages);
    const marked = [...root.querySelectorAll(".cm-lintRange-error")].map((e) => e.textContent);
    seen.errors.push({ line, said: messages(), marked });
    byId("kernel-revert").click();
    await until(() => !messages());
  }
  byId("kernel-run").click();
  await until(() => byId("headline").textContent.includes("ALL PASS"));
}

async function tell() {
  await probe().catch((error) => seen.complaints.push(String(error)));
  const page = new URLSearchParams(location.search).get("page");
  await fetch(`/api/pages/${page}/environment`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ ok: true, message: JSON.stringify(seen) }),
  });
}

tell(); // not awaited: the page that imports this would wait for it
