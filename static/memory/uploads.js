// Files on their way into the knowledge base: one after the other, each with its own progress and its own result.

import { el } from "../dom.js";
import { button, tell } from "./parts.js";
import { words } from "./strings.js";
import { upload } from "./upload.js";

// Kept while the page is open, so that going to another section and back loses no result.
const rows = el("ol", { class: "plain" });
const box = el(
  "section",
  { class: "uploads", hidden: true },
  el("h2", {}, words.uploads),
  rows,
  button(words.clearUploads, clear),
);
let queue = Promise.resolve();
let waiting = 0;

/** Called after each document that came in. */
export const arrived = { document() {} };

/** The list of what is being added; it goes on while it is not on the page. */
export const uploadList = () => box;

/** Add files, behind those that are waiting already. */
export function addFiles(files) {
  for (const file of files) {
    const row = rowOf(file.name);
    rows.append(row.item);
    box.hidden = false;
    waiting += 1;
    queue = queue.then(() => addOne(file, row)).finally(() => (waiting -= 1));
  }
  return queue;
}

function rowOf(name) {
  const progress = el("progress", { max: 1, value: 0, "aria-label": name });
  const state = el("span", { class: "hint state" }, words.waiting);
  const item = el("li", {}, el("span", { class: "name", dir: "auto" }, name), progress, state);
  return { item, progress, state };
}

async function addOne(file, { item, progress, state }) {
  const end = (message, kind) => {
    progress.remove();
    item.classList.add(kind);
    state.textContent = message;
  };
  const refused = (message) => {
    end(message, "refused");
    tell(words.refusedNamed(file.name, message));
  };
  const { uploadLimit, uploadSize } = document.body.dataset;
  if (file.size > Number(uploadLimit)) return refused(words.tooLarge(uploadSize));
  if (!file.size) return refused(words.emptyFile);
  try {
    await upload(file, (share) => {
      if (share < 1) progress.value = share;
      // Without a value it shows that it works, not how long.
      else progress.removeAttribute("value");
      state.textContent = share < 1 ? words.uploading(Math.round(share * 100)) : words.indexing;
    });
  } catch (error) {
    return refused(error.kind === "unreachable" ? words.lostUpload : error.message);
  }
  end(words.ready, "ready");
  tell(words.readyNamed(file.name));
  await arrived.document();
}

function clear() {
  if (waiting) return [...rows.children].filter((row) => !row.querySelector("progress")).forEach((row) => row.remove());
  rows.replaceChildren();
  box.hidden = true;
}

// A reload would lose what has not been sent.
window.addEventListener("beforeunload", (event) => {
  if (waiting) event.preventDefault();
});
