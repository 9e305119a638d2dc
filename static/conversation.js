// The conversation: turns with session breaks between them. One turn more is one article more; nothing that is on the
// page already is made anew, so a long timeline stays as quick as a short one.

import { api } from "./api.js";
import { byId, el, fill } from "./dom.js";
import { absolute, relative } from "./format.js";
import { newestReply, state } from "./state.js";
import { strings } from "./strings.js";
import { markNewest, turnArticle } from "./turn.js";

const PAGE = 20;
const LARGE_PAGE = 100;
// So many articles are made in one go.
const SLICE = 5;
// Earlier turns are fetched while they are still this far above the window.
const AHEAD = "800px 0px 0px 0px";

/** What the conversation asks of the rest of the page: set once by `app.js`. */
export const actions = {
  /** Show why a turn was answered as it was, pointing at the evidence `label` if there is one. */
  select(turn, label) {},
  /** Answer the newest round again. */
  again(turn) {},
  /** Put the newest message into the box, to be sent in its place. */
  edit(turn) {},
  /** Send the words of a failed turn again. */
  tryAgain(turn) {},
  /** Put the words of a failed turn back into the box. */
  putBack(turn) {},
};

/** The session of the last break or turn on the page. */
let shownSession = null;

/** Show the conversation of the open timeline from `state`. */
export function showConversation() {
  const { timeline, turns } = state;
  shownSession = null;
  const parts = [...beginning(), ...articles(turns)];
  if (!turns.length) parts.push(el("p", { class: "empty untold" }, strings.noTurns(timeline.character)));
  fill(byId("log"), parts);
  showSessions();
  byId("earlier").hidden = !state.more;
  markSelected();
  offer();
}

/** Add a turn at the end; the reply that it replaces, if it does, leaves the page. */
export function addTurn(turn) {
  if (turn.kind === "turn" && turn.replaces) remove(turn.replaces);
  byId("log").querySelector(".untold")?.remove();
  state.turns.push(turn);
  byId("log").append(...articles([turn]));
  markSelected();
  offer();
}

/** Whether the server must have turns or sessions that this page lacks, as when another page sent them. */
export function isBehind(turn) {
  const last = newestReply()?.round ?? null;
  const known = state.sessions.some(({ id }) => id === turn.session);
  if (!known || state.turns.some(({ id }) => id === turn.id)) return true;
  if (turn.replaces) return !state.turns.some(({ id }) => id === turn.replaces);
  return last !== null && turn.round > last + 1;
}

/** Show the breaks of sessions that were opened since the last turn. */
export function showSessions() {
  const last = state.sessions.at(-1)?.id;
  if (shownSession === last) return;
  byId("log").append(...breaks(shownSession, last));
  shownSession = last;
}

/** Mark the selected turn. */
export function markSelected() {
  for (const node of document.querySelectorAll("[data-turn]")) {
    if (node.dataset.turn === state.selected) node.setAttribute("aria-current", "true");
    else node.removeAttribute("aria-current");
  }
}

// -- earlier turns -------------------------------------------------------------------------------------------------

let loading = null;

/** Fetch a page of earlier turns and put it before the others; what is in view stays where it is. */
export function earlier(limit = PAGE) {
  loading ??= load(limit).finally(() => (loading = null));
  return loading;
}

async function load(limit) {
  const { turns: known } = state;
  const { turns, more } = await api.timeline(state.timeline.id, known[0].seq, limit);
  const parts = [];
  let session = null;
  for (const [place, turn] of turns.entries()) {
    parts.push(...breaksBefore(turn, session), turnArticle(turn, state.timeline, actions));
    session = turn.session;
    // Between two articles the page may draw and answer the person.
    if (place % SLICE === SLICE - 1) await new Promise((resolve) => setTimeout(resolve));
    // Shown anew meanwhile: another timeline, or what another page did.
    if (state.turns !== known) return;
  }
  if (state.turns !== known) return;
  parts.push(...breaksBefore(known[0], session));
  const log = byId("log");
  const first = log.querySelector("[data-turn]");
  state.turns = [...turns, ...known];
  state.more = more;
  holding(first, () => {
    // What is put in front was said before: a reader need not announce it.
    log.setAttribute("aria-live", "off");
    while (log.firstChild !== first) log.firstChild.remove();
    log.prepend(...beginning(), ...parts);
    byId("earlier").hidden = !more;
  });
  setTimeout(() => log.removeAttribute("aria-live"), PAGE);
  markSelected();
}

/** Change what is above a node and leave the node where it is in the window. */
function holding(node, change) {
  const scroll = byId("scroll");
  const before = node.getBoundingClientRect().top;
  // Where the browser would hold it too, both together would move it twice.
  scroll.classList.add("held");
  change();
  scroll.scrollTop += node.getBoundingClientRect().top - before;
  requestAnimationFrame(() => scroll.classList.remove("held"));
}

/** Fetch earlier turns until the first on the page is one that `isBefore` what is looked for, or there are no more. */
export async function reach(isBefore) {
  const { id } = state.timeline;
  while (state.timeline.id === id && state.more && state.turns.length && !isBefore(state.turns[0])) {
    await earlier(LARGE_PAGE);
  }
}

/** The break at which a session begins on the page, with earlier turns fetched as far as needed; null if not shown. */
export async function sessionBegin(id) {
  const number = (session) => state.sessions.findIndex((item) => item.id === session);
  await reach((turn) => number(turn.session) < number(id));
  return byId("log").querySelector(`[data-break="${CSS.escape(id)}"]`);
}

/** Bring a turn or a break into view and give the turn there the focus. */
export function goTo(node) {
  node.scrollIntoView({ block: "start" });
  (node.tabIndex < 0 ? node.nextElementSibling : node)?.focus({ preventScroll: true });
  // Turns out of view have an estimated height until they are drawn, so where it is becomes clear only then.
  requestAnimationFrame(() => node.scrollIntoView({ block: "start" }));
}

/** Fetch earlier turns by themselves as the person comes near them. `failed` gets an error. */
export function startEarlier(failed) {
  const seen = new IntersectionObserver(
    async (entries) => {
      if (!entries.some((entry) => entry.isIntersecting) || !state.more || loading) return;
      try {
        await earlier();
      } catch (error) {
        failed(error);
        return;
      }
      // Still in view: tell of it again.
      seen.unobserve(byId("earlier"));
      seen.observe(byId("earlier"));
    },
    { root: byId("scroll"), rootMargin: AHEAD },
  );
  seen.observe(byId("earlier"));
}

// -- parts ---------------------------------------------------------------------------------------------------------

/** What stands before the first turn when all of them are on the page. */
function beginning() {
  const { more, turns, timeline } = state;
  const imported = more ? 0 : (turns[0]?.round ?? timeline.rounds + 1) - 1;
  return imported > 0 ? [el("p", { class: "empty" }, strings.imported(imported))] : [];
}

/** The articles of turns with the session breaks before them. */
function articles(turns) {
  return turns.flatMap((turn) => {
    const parts = [...breaksBefore(turn, shownSession), turnArticle(turn, state.timeline, actions)];
    shownSession = turn.session;
    return parts;
  });
}

const breaksBefore = (turn, session) => (turn.session === session ? [] : breaks(session, turn.session));

/** The breaks from the session after `from` up to `to`; on the first page only the one that is entered. */
function breaks(from, to) {
  const { sessions } = state;
  const end = sessions.findIndex((session) => session.id === to);
  const begin = from === null ? end : sessions.findIndex((session) => session.id === from) + 1;
  return sessions.slice(Math.max(begin, 0), end + 1).map(sessionBreak);
}

function sessionBreak(session) {
  const cause = strings.session[session.cause];
  const words = typeof cause === "function" ? cause(session.model) : (cause ?? session.cause);
  const time = el("time", { datetime: session.at, title: absolute(session.at, state.timeline.timezone) });
  time.append(relative(session.at));
  const line = { class: "break", role: "separator", "aria-label": words, "data-break": session.id };
  return el("p", line, el("span", {}, `${words} · `, time));
}

function remove(id) {
  const place = state.turns.findIndex((turn) => turn.id === id);
  if (place < 0) return;
  state.turns.splice(place, 1);
  byId(`turn-${id}`)?.remove();
}

/** Offer what only the newest reply, or a failed turn after it, can do. */
function offer() {
  const last = state.turns.at(-1);
  const newest = newestReply();
  markNewest(newest?.erased ? null : newest, last?.kind === "turn_failed" ? last : null);
}
