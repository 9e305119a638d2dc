// The section "Knowledge": the documents every timeline can draw on. Added, opened, searched, removed, erased.

import { api } from "../api.js";
import { el, fill } from "../dom.js";
import { place } from "./address.js";
import { askToErase } from "./erase.js";
import { memoryFold } from "./item.js";
import { memoryActions } from "./experience.js";
import { attempt, button, excerpt, loadInto, tell, tellDone, tellFailure, when } from "./parts.js";
import { searchForm, searchResults } from "./search.js";
import { closeSheet, showSheet } from "./sheet.js";
import { page } from "./state.js";
import { words } from "./strings.js";
import { addFiles, arrived, uploadList } from "./uploads.js";

const DOCUMENTS_AT_ONCE = 50;
const PASSAGES_AT_ONCE = 50;
let documentsBox = null;

/** Show the documents in `node`; the timeline is needed for the search only. */
export function knowledgeSection(node) {
  const asked = place();
  const results = el("div", { class: "results" });
  documentsBox = null;
  fill(
    node,
    el("h2", { class: "unseen" }, words.tabs.knowledge),
    el("p", { class: "hint" }, words.knowledgeHelp),
    adder(),
    uploadList(),
    page.timeline ? searchForm() : null,
    results,
  );
  if (asked.q && page.timeline) {
    const load = () => searchResults(asked.q, "knowledge", { experience: memoryActions, knowledge: () => [] });
    return loadInto(results, load);
  }
  documentsBox = results;
  return reload(asked.document);
}

// -- adding -----------------------------------------------------------------------------------------------------------

function adder() {
  const input = el("input", {
    type: "file",
    multiple: true,
    class: "unseen",
    accept: ".txt,.md,.markdown,text/plain,text/markdown",
  });
  input.addEventListener("change", () => {
    addFiles([...input.files]);
    // Cleared, so that the same file can be chosen again.
    input.value = "";
  });
  return el(
    "div",
    { class: "adder" },
    el("label", { class: "button primary" }, words.addDocuments, input),
    el("span", { class: "hint" }, words.documentsHint(document.body.dataset.uploadSize)),
    el("span", { class: "drop-here", "aria-hidden": "true" }, words.dropHere),
  );
}

/** Take files that are dropped anywhere on `node` while `isHere()`. */
export function startDropping(node, isHere) {
  // Entering a child leaves its parent: only the last leave counts.
  let depth = 0;
  const mark = () => node.classList.toggle("dropping", depth > 0);
  const holdsFiles = (event) => isHere() && [...event.dataTransfer.types].includes("Files");
  node.addEventListener("dragenter", (event) => {
    if (!holdsFiles(event)) return;
    event.preventDefault();
    depth += 1;
    mark();
  });
  node.addEventListener("dragleave", () => {
    depth = Math.max(0, depth - 1);
    mark();
  });
  node.addEventListener("dragover", (event) => {
    if (holdsFiles(event)) event.preventDefault();
  });
  node.addEventListener("drop", (event) => {
    if (!isHere()) return;
    event.preventDefault();
    depth = 0;
    mark();
    const files = filesOf(event.dataTransfer);
    if (files.length) addFiles(files);
    else tellFailure(words.notAFile);
  });
}

/** The files of a drop; a folder looks like a file and cannot be read as one. */
function filesOf(transfer) {
  const items = [...transfer.items].filter((item) => item.kind === "file");
  const plain = items.filter((item) => !item.webkitGetAsEntry?.()?.isDirectory).map((item) => item.getAsFile());
  return plain.filter(Boolean);
}

// -- the list ---------------------------------------------------------------------------------------------------------

arrived.document = () => reload();

/** Read the documents anew, if they are on the page. What is open stays open; `linked` is the id of one to open. */
async function reload(linked = "") {
  if (!documentsBox) return;
  const folds = [...documentsBox.querySelectorAll("details.document[open]")];
  const open = new Set([linked, ...folds.map((fold) => fold.dataset.document)]);
  await loadInto(documentsBox, async () => documentList((await api.documents()).documents, open, linked));
}

function documentList(documents, open, linked) {
  if (!documents.length) return el("p", { class: "empty" }, words.noDocuments);
  const items = el("ul", { class: "plain documents" });
  const count = el("p", { class: "hint number" });
  // Newest first: what was just added is on top.
  const all = [...documents].reverse();
  let shown = DOCUMENTS_AT_ONCE;
  const filter = el("input", { type: "search", autocomplete: "off" });
  const more = button(words.more, () => {
    shown += DOCUMENTS_AT_ONCE;
    draw();
  });
  const draw = () => {
    const wanted = filter.value.trim().toLocaleLowerCase();
    const fitting = all.filter((item) => item.name.toLocaleLowerCase().includes(wanted) || item.id === linked);
    // The one that the address names comes first, wherever it stands.
    fitting.sort((a, b) => Number(b.id === linked) - Number(a.id === linked));
    count.textContent = words.documents(fitting.length);
    more.hidden = fitting.length <= shown;
    fill(
      items,
      fitting.slice(0, shown).map((item) => el("li", {}, documentFold(item, open.has(item.id)))),
    );
  };
  filter.addEventListener("input", draw);
  draw();
  const many = documents.length > 10 ? el("label", { class: "name-filter" }, words.filterDocuments, filter) : null;
  return [el("div", { class: "row wrap spread" }, count, many), items, more];
}

function documentFold(item, open) {
  const body = el("div", { class: "opened" });
  const fold = el(
    "details",
    { class: "document", "data-document": item.id },
    el(
      "summary",
      {},
      el("span", { class: "name", dir: "auto" }, item.name),
      el(
        "span",
        { class: "facts-line" },
        el("span", { class: "number" }, words.characters(item.characters)),
        when(item.at),
      ),
    ),
    body,
  );
  fold.addEventListener("toggle", () => {
    if (fold.open) loadInto(body, () => passages(item));
  });
  fold.open = open;
  return fold;
}

// -- one document -----------------------------------------------------------------------------------------------------

async function passages(item) {
  const items = el("ol", { class: "plain memories passages" });
  const more = button(words.more, () => attempt(more, next));
  async function next() {
    const view = await api.document(item.id, { limit: PASSAGES_AT_ONCE, after: items.children.length });
    items.append(...view.chunks.map((chunk) => el("li", {}, passage(chunk))));
    more.hidden = !view.more;
  }
  await next();
  return [
    el(
      "div",
      { class: "row wrap actions" },
      button(words.remove, () => askToRemove(item), { "aria-label": words.removeNamed(item.name) }),
      button(words.erase, () => askToErase({ document: item.id }), { "aria-label": words.eraseNamed(item.name) }),
    ),
    items.children.length ? items : el("p", { class: "hint" }, words.noPassages),
    more,
  ];
}

function passage(chunk) {
  const summary = el(
    "summary",
    {},
    el(
      "span",
      { class: "facts-line" },
      el("span", { class: "number" }, words.passage(chunk.ordinal + 1)),
      chunk.source ? el("span", { class: "source" }, chunk.source) : null,
      el("span", { class: "number" }, words.uses(chunk.uses ?? 0)),
    ),
    el("span", { class: "words clipped", dir: "auto" }, excerpt(chunk.text, 280)),
  );
  return memoryFold(chunk.id, summary);
}

function askToRemove(item) {
  const sheet = showSheet({
    title: words.removeTitle,
    body: el("p", { class: "words" }, words.removeHelp(item.name)),
    label: words.doRemove,
    submit: (_, fail) =>
      attempt(
        sheet.submit,
        async () => {
          await api.removeDocument(item.id);
          closeSheet();
          tell("");
          tellDone(words.removed(item.name));
          await reload();
        },
        fail,
      ),
  });
}
