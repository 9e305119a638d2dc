// The message box: the words that are not sent yet. Promise: nothing but the person's own hand takes them away, neither
// a reload nor a refusal nor a look at another timeline.

import { byId } from "./dom.js";
import { state } from "./state.js";
import { strings } from "./strings.js";

/** The turn that the words in the box are to replace, as {id, round}; null when they are a new message. */
let replaced = null;
/** What was in the box before an edit took its place. */
let aside = "";

/** Make the box work; `send` is called when the person sends. */
export function startBox(send) {
  const box = byId("message");
  byId("composer").addEventListener("submit", (event) => {
    event.preventDefault();
    send();
  });
  box.addEventListener("keydown", (event) => {
    // While an input method composes (Chinese, Japanese), Enter chooses a word.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send();
  });
  box.addEventListener("input", changed);
  byId("keep").addEventListener("click", () => {
    stopEditing();
    box.focus();
  });
}

/** Show the unsent words of the open timeline, without those that were sent and arrived. */
export function openBox(running) {
  const kept = recalled();
  const last = state.turns.at(-1)?.message;
  const arrived = kept.sent && (kept.text === last || kept.text === running?.message);
  byId("message").value = arrived ? "" : (kept.text ?? "");
  aside = kept.aside ?? "";
  mark(arrived ? null : (kept.replaced ?? null));
  changed();
}

/** Take the words out of the box to send them; null when there are none. They are kept until `arrived`. */
export function take() {
  const box = byId("message");
  const message = box.value.trim();
  if (!message) return null;
  const taken = { message, replaced };
  keep({ text: message, replaced, aside, sent: true });
  box.value = aside;
  aside = "";
  mark(null);
  count();
  return taken;
}

/** The server has what was taken: it need not be kept any more. */
export function arrived() {
  changed();
}

/** Put words back into the box, before what is there already. */
export function putBack(words, turn = null) {
  const box = byId("message");
  if (turn) aside = box.value;
  box.value = box.value && !turn ? `${words}\n${box.value}` : words;
  mark(turn);
  changed();
  box.focus();
}

/** Put the message of a turn into the box, to be sent in its place. */
export function edit(turn) {
  const box = byId("message");
  if (!replaced) aside = box.value;
  box.value = turn.message;
  mark({ id: turn.id, round: turn.round });
  changed();
  box.focus();
}

/** Let the words in the box replace this turn, or none. */
export function aim(turn) {
  mark(turn);
  changed();
}

/** Leave the edit and go on with what was in the box before it. */
function stopEditing() {
  byId("message").value = aside;
  aside = "";
  mark(null);
  changed();
}

function mark(turn) {
  replaced = turn;
  byId("replacing").hidden = !turn;
  byId("replacing-words").textContent = turn ? strings.replacing(turn.round) : "";
}

function changed() {
  count();
  keep({ text: byId("message").value, replaced, aside });
}

/** Say how long the message is once it comes near the limit. */
function count() {
  const limit = Number(document.body.dataset.messageLimit);
  const length = byId("message").value.length;
  byId("message-count").textContent = length > limit * 0.9 ? strings.count(length, limit) : "";
}

// -- over a reload -------------------------------------------------------------------------------------------------

const place = () => `unsent ${state.timeline.id}`;

function keep(kept) {
  if (!state.timeline) return;
  try {
    if (kept.text || kept.aside) sessionStorage.setItem(place(), JSON.stringify(kept));
    else sessionStorage.removeItem(place());
  } catch {
    // Storage is full or forbidden: the words are in the box all the same.
  }
}

function recalled() {
  try {
    return JSON.parse(sessionStorage.getItem(place())) ?? {};
  } catch {
    return {};
  }
}
