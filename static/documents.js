// The knowledge base: the documents there are, adding some, taking one out.

import { api } from "./api.js";
import { byId, el, fill, notice } from "./dom.js";
import { strings } from "./strings.js";

/** Load and show the documents, and take files from the input. */
export async function startDocuments() {
  byId("files").addEventListener("change", async (event) => {
    const files = [...event.target.files];
    // Cleared, so that the same file can be chosen again.
    event.target.value = "";
    for (const file of files) await add(file);
  });
  await reload();
}

async function reload() {
  show((await api.documents()).documents);
}

function show(documents) {
  byId("document-count").textContent = documents.length || "";
  const items = documents.map((item) =>
    el(
      "li",
      { title: strings.characters(item.characters) },
      el("span", { class: "name" }, item.name),
      el("button", { type: "button", "aria-label": strings.removeNamed(item.name), onclick: () => remove(item) }, strings.remove),
    ),
  );
  fill(byId("documents"), items.length ? items : el("li", { class: "hint" }, strings.noDocuments));
}

async function add(file) {
  const { uploadLimit, uploadSize } = document.body.dataset;
  if (file.size > Number(uploadLimit)) {
    notice(strings.tooLarge(file.name, uploadSize), strings.dismiss);
    return;
  }
  byId("library-status").textContent = strings.reading(file.name);
  try {
    const { document: added } = await api.addDocument(file);
    byId("library-status").textContent = strings.added(added.name);
    await reload();
  } catch (error) {
    byId("library-status").textContent = "";
    notice(error.message, strings.dismiss);
  }
}

async function remove(item) {
  if (!window.confirm(strings.removeSure(item.name))) return;
  try {
    show((await api.removeDocument(item.id)).documents);
    byId("library-status").textContent = "";
  } catch (error) {
    notice(error.message, strings.dismiss);
  }
}
