// The events of a ledger, newest first, each folded; what an event says is fetched when it is opened.

import { api } from "../api.js";
import { el } from "../dom.js";
import { button, facts, failure, hash, link, mark, memoryLinks, tellFailure, turnLink, turnWays, when } from "./parts.js";
import { words } from "./strings.js";

const TURNS = new Set(["turn", "turn_failed"]);

/** The list of events with the way to older ones. `first` is the first page. */
export function eventList(ledger, kind, first) {
  const list = el("ol", { class: "plain event-list" });
  const older = button(words.older, showOlder, { class: "older" });
  let page = first;
  put();

  function put() {
    list.append(...page.events.map((event) => row(ledger, event)));
    older.hidden = !page.more;
  }

  async function showOlder() {
    older.disabled = true;
    try {
      page = await api.auditEvents(ledger, { kind, limit: 50, bodies: 0, before: page.events.at(-1).place });
      const last = list.lastElementChild;
      put();
      last?.nextElementSibling?.querySelector("summary")?.focus();
    } catch (error) {
      tellFailure(words.notRead(error.message));
    } finally {
      older.disabled = false;
    }
  }

  return first.events.length ? [list, older] : el("p", { class: "empty" }, words.noEvents);
}

function row(ledger, event) {
  const details = el(
    "details",
    { class: "event" },
    el(
      "summary",
      {},
      el("span", { class: "number seq" }, String(event.place)),
      el("span", { class: "kind" }, words.kinds[event.kind] ?? event.kind ?? words.unreadable),
      event.problem ? mark(words.states.disagrees, "bad") : null,
      event.erased ? mark(words.heads.erased.toLowerCase()) : null,
      el("span", { class: "hint" }, when(event.at)),
      hash(event.hash),
    ),
  );
  details.addEventListener("toggle", () => open(details, ledger, event), { once: true });
  const turn = TURNS.has(event.kind) && event.round ? turnLink(ledger, event.id, event.round) : null;
  return el("li", {}, details, turn);
}

async function open(details, ledger, event) {
  const names = Object.entries(words.fields);
  details.append(facts(names.map(([name, text]) => [text, event[name] === null ? null : el("code", {}, String(event[name]))])));
  if (event.id && !event.problem) details.append(ways(ledger, event));
  if (event.problem) details.append(el("p", { class: "warning" }, words.damagedLine(event.problem)));
  if (event.erased) return details.append(el("p", { class: "hint" }, words.erased));
  const body = el("div", { "aria-busy": "true" }, el("p", { class: "hint" }, words.loading));
  details.append(body);
  await load(body, ledger, event);
}

/** What can be done with an event: prove that it is there; with a turn, all that can be done with a turn. */
function ways(ledger, event) {
  const prove = link({ tab: "checkpoints", event: event.id }, words.proveThis);
  const turn = TURNS.has(event.kind) && event.round && !event.erased ? turnWays(ledger, event.id, event.round, "chat") : null;
  return el("p", { class: "ways" }, prove, turn);
}

async function load(node, ledger, event) {
  try {
    const { events } = await api.auditEvents(ledger, { before: event.place + 1, limit: 1 });
    const { body } = events[0] ?? {};
    // Long records scroll within their box, which the keyboard must reach.
    const text = el("pre", { tabIndex: 0, "aria-label": words.body, role: "region" }, JSON.stringify(body, null, 1));
    node.replaceChildren(...(body ? [shownMemories(ledger, body), el("h3", {}, words.body), text].filter(Boolean) : []));
  } catch (error) {
    node.replaceChildren(failure(error, () => load(node, ledger, event)));
  } finally {
    node.removeAttribute("aria-busy");
  }
}

/** The memories that a turn's prompt showed. */
function shownMemories(ledger, body) {
  if (!Array.isArray(body.evidence) || !body.evidence.length || !ledger.startsWith("t-")) return null;
  const items = body.evidence.map(({ memory, label }) => el("li", {}, el("strong", {}, label), " ", memoryLinks(ledger, memory)));
  return el("section", {}, el("h3", {}, words.evidence), el("ul", { class: "plain" }, items));
}
