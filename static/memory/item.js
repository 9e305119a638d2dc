// One memory opened: the words, where they came from, which later replies were shown them, and its time in quarantine.

import { api } from "../api.js";
import { el } from "../dom.js";
import { chatAddress } from "./address.js";
import { facts, loadInto, sessionWords, when } from "./parts.js";
import { page } from "./state.js";
import { words } from "./strings.js";
import { usesOverTime } from "./uses.js";

/**
 * A fold that shows a memory once it is opened. `actions` makes the buttons for it: (memory) => [button …].
 * `open` opens it at once.
 */
export function memoryFold(id, summary, actions = () => [], open = false) {
  const body = el("div", { class: "opened" });
  const fold = el("details", { class: "memory" }, summary, body);
  fold.load = () => loadInto(body, async () => opened(await api.memory(id), actions));
  fold.addEventListener("toggle", () => {
    // Read anew each time: another prompt may have shown it since.
    if (fold.open) fold.load();
  });
  fold.open = open;
  return fold;
}

function opened(view, actions) {
  const { memory } = view;
  return [
    said(memory),
    facts([
      [words.origin, origin(view)],
      [words.source, memory.source === view.origin?.name ? null : memory.source],
      [words.added_at, memory.at ? when(memory.at) : null],
      [words.session, memory.session ? sessionWords(memory.session) : null],
      [words.model, memory.model],
      [words.state, words.stateHelp[memory.state] ?? null],
      [words.identity, el("code", {}, memory.id)],
    ]),
    el("section", {}, el("h3", {}, words.usesTitle), usesOverTime(view.uses ?? [], memory, view.more)),
    view.quarantines?.length ? history(view.quarantines) : null,
    el("div", { class: "row actions" }, actions(memory)),
  ];
}

/** The words of a memory: both sides of a round, or one text. */
function said(memory) {
  if (!memory.message && !memory.reply) return el("p", { class: "words", dir: "auto" }, memory.text);
  const side = (name, text, who) =>
    text
      ? el("div", { class: `said ${who}` }, el("h3", {}, name), el("p", { class: "words", dir: "auto" }, text))
      : null;
  return [
    side(page.timeline?.user ?? "", memory.message, "user"),
    side(page.timeline?.character ?? "", memory.reply, "character"),
    memory.text && ![memory.message, memory.reply].includes(memory.text)
      ? el("details", { class: "searched" }, el("summary", {}, words.text), el("pre", {}, memory.text))
      : null,
  ];
}

function origin({ origin: from, memory, timeline }) {
  if (!from) return memory.source;
  if (from.kind === "turn") {
    return el("a", { href: chatAddress(timeline, from.turn, memory.round) }, words.originTurn(memory.round));
  }
  const name = from.name ?? memory.source ?? "";
  return from.kind === "document" ? words.originDocument(name) : words.originImported(name);
}

function history(quarantines) {
  const items = quarantines.flatMap((item) => [
    el("li", {}, when(item.at), " ", words.history_in(item.reason, item.by)),
    item.released_at ? el("li", {}, when(item.released_at), " ", words.history_out(item.released_reason)) : null,
  ]);
  return el("section", {}, el("h3", {}, words.history), el("ul", { class: "plain history" }, items.filter(Boolean)));
}
