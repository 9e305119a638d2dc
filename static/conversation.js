// The conversation: turns with session breaks between them, the reply that is being written, and the message box.

import { api, ApiError } from "./api.js";
import { byId, clearNotices, el, fill, notice } from "./dom.js";
import { absolute, randomKey, relative } from "./format.js";
import { state } from "./state.js";
import { strings } from "./strings.js";
import { said, steps, turnArticle } from "./turn.js";

const TRIES = 4;
const PAUSE = 1000;

/** What the conversation asks of the rest of the page: set once by `app.js`. */
export const actions = {
  /** Show why a turn was answered as it was, pointing at the evidence `label` if there is one. */
  select(turn, label) {},
  /** A turn was answered or failed. */
  async finished(turn) {},
  /** Show the open timeline anew. */
  reload() {},
  /** Put the words of a failed turn back into the box. */
  retry: (turn) => putBack(turn.message),
};

/** Show the whole conversation of the open timeline. */
export function showConversation() {
  const { timeline, turns, sessions } = state;
  fill(byId("live"));
  byId("earlier").hidden = !state.more;
  const parts = [];
  const imported = state.more ? 0 : (turns[0]?.round ?? timeline.rounds + 1) - 1;
  if (imported) parts.push(el("p", { class: "empty" }, strings.imported(imported)));
  let session = null;
  for (const turn of turns) {
    if (turn.session !== session) parts.push(...breaks(session, turn.session));
    session = turn.session;
    parts.push(turnArticle(turn, timeline, actions));
  }
  // Sessions that were opened since and have no turn yet.
  const last = sessions.at(-1)?.id;
  if (!turns.length || session !== last) parts.push(...breaks(session, last));
  if (!turns.length) parts.push(el("p", { class: "empty" }, strings.noTurns(timeline.character)));
  fill(byId("log"), parts);
  markSelected();
}

/** Mark the selected turn. */
export function markSelected() {
  for (const node of document.querySelectorAll("[data-turn]")) {
    if (node.dataset.turn === state.selected) node.setAttribute("aria-current", "true");
    else node.removeAttribute("aria-current");
  }
}

/** Scroll to the newest words. */
export function toEnd() {
  const scroll = byId("scroll");
  scroll.scrollTop = scroll.scrollHeight;
}

/** The breaks from the session after `from` up to `to`; on the first page only the one that is entered. */
function breaks(from, to) {
  const { sessions } = state;
  const end = sessions.findIndex((session) => session.id === to);
  const begin = from === null ? end : sessions.findIndex((session) => session.id === from) + 1;
  return sessions.slice(begin, end + 1).map(sessionBreak);
}

function sessionBreak(session) {
  const cause = strings.session[session.cause];
  const words = typeof cause === "function" ? cause(session.model) : (cause ?? session.cause);
  const time = el("time", { datetime: session.at, title: absolute(session.at, state.timeline.timezone) });
  time.append(relative(session.at));
  return el("p", { class: "break", role: "separator", "aria-label": words }, el("span", {}, `${words} · `, time));
}

// -- sending --------------------------------------------------------------------------------------------------------

/** Send what is in the box. */
export async function send() {
  const box = byId("message");
  const message = box.value.trim();
  if (!message || !state.timeline || state.answering) return;
  box.value = "";
  countMessage();
  const id = state.timeline.id;
  const key = randomKey();
  await answer(message, () => api.send(id, message, key), (error) => {
    notice(error.kind === "unreachable" ? strings.connectionGone : error.message, strings.dismiss);
    putBack(message);
  });
}

/** Follow a turn that was running when the page was opened. */
export async function resume(message) {
  const id = state.timeline.id;
  await answer(message, () => api.follow(id), (error) => {
    // It ended before it could be followed: it is among the turns by now.
    if (error.kind === "not_found") actions.reload();
    else notice(error.message, strings.dismiss);
  });
}

/** Stop the reply that is being written. */
export async function stop() {
  if (!state.answering) return;
  byId("stop").disabled = true;
  await api.stop(state.answering.timeline).catch((error) => notice(error.message, strings.dismiss));
}

/** Put words back into the box, before what is there already. */
export function putBack(words) {
  const box = byId("message");
  box.value = box.value ? `${words}\n${box.value}` : words;
  countMessage();
  box.focus();
}

/** Say how long the message is once it comes near the limit. */
export function countMessage() {
  const limit = Number(document.body.dataset.messageLimit);
  const length = byId("message").value.length;
  byId("message-count").textContent = length > limit * 0.9 ? strings.count(length, limit) : "";
}

/** Follow a turn to its end; `refused` gets the error when there is no turn to follow. */
async function answer(message, open, refused) {
  const answering = { timeline: state.timeline.id, message };
  state.answering = answering;
  clearNotices();
  setBusy(true);
  let view = null;
  try {
    view = await followWithRetries(answering, open);
  } catch (error) {
    if (!isCurrent(answering)) return;
    fill(byId("live"));
    refused(error);
  }
  if (!isCurrent(answering)) return;
  leave();
  if (view) await showFinished(view);
}

/** Stop following what is being answered; the turn goes on at the server. */
export function leave() {
  state.answering = null;
  setBusy(false);
}

async function showFinished(view) {
  clearNotices();
  state.records.set(view.turn.id, view);
  state.turns.push(view.turn);
  showConversation();
  toEnd();
  await actions.finished(view.turn);
}

async function followWithRetries(answering, open) {
  for (let tries = 1; ; tries += 1) {
    try {
      const view = await follow(answering, open());
      if (view || !isCurrent(answering)) return view;
    } catch (error) {
      // Only a lost connection is tried again; the key sees to it that nothing is sent twice.
      if ((error.kind && error.kind !== "unreachable") || tries === TRIES) throw error;
    }
    if (tries === TRIES) throw new ApiError("unreachable", strings.connectionGone);
    notice(strings.connectionLost, strings.dismiss);
    await new Promise((resolve) => setTimeout(resolve, PAUSE * tries));
  }
}

/** Show a turn as it comes. Its record, or null when the stream ended or was left before the turn ended. */
async function follow(answering, events) {
  const draft = new Draft(answering.message);
  draft.show();
  for await (const { name, data } of events) {
    if (!isCurrent(answering)) return null;
    if (name === "stage") draft.stage(data.name, data.seconds);
    else if (name === "text") draft.text(data.text);
    else if (name === "restart") draft.restart();
    else if (name === "turn") return data;
    else if (data.turn) return api.turn(data.turn);
    // Failed before anything could be recorded.
    else throw new ApiError(data.error.kind, data.error.message);
  }
  return null;
}

const isCurrent = (answering) => state.answering === answering;

function setBusy(busy) {
  byId("stop").hidden = !busy;
  byId("stop").disabled = false;
  for (const id of ["send", "model", "preset", "clear"]) byId(id).disabled = busy;
}

/** The reply while it is being written. Outside the log, so that a reader announces it once, when it is finished. */
class Draft {
  constructor(message) {
    this.seconds = {};
    this.steps = el("span");
    this.stageName = el("span", { class: "hint" });
    this.reply = said("character", state.timeline.character, strings.thinking);
    this.words = this.reply.querySelector(".words");
    this.begun = false;
    this.article = el(
      "article",
      { class: "turn draft", "aria-busy": "true" },
      el("header", {}, this.steps, this.stageName),
      said("user", state.timeline.user, message),
      this.reply,
    );
  }

  show() {
    fill(byId("live"), this.article);
    toEnd();
  }

  stage(name, seconds) {
    this.seconds[name] = seconds;
    fill(this.steps, steps(this.seconds));
    this.stageName.textContent = strings.stages[name] ?? name;
  }

  text(piece) {
    const scroll = byId("scroll");
    const atEnd = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 80;
    if (!this.begun) this.words.textContent = "";
    this.begun = true;
    this.words.append(piece);
    if (atEnd) toEnd();
  }

  restart() {
    this.begun = false;
    this.words.textContent = strings.thinking;
  }
}
