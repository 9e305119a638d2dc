// The chat page: puts its parts together. The open timeline is in the address (#ID), so a reload comes back to it;
// ?turn=ID or ?round=NUMBER before it leads to a place in it.

import { after, again, leave, resume, send, stop, tryAgain } from "./answering.js";
import { api } from "./api.js";
import { edit, openBox, putBack, startBox } from "./box.js";
import {
  actions,
  earlier,
  goTo,
  markSelected,
  reach,
  sessionBegin,
  showConversation,
  showSessions,
  startEarlier,
} from "./conversation.js";
import { startDocuments } from "./documents.js";
import { byId, clearNotices, el, fill, notice } from "./dom.js";
import { changed } from "./instructions.js";
import { startKeys } from "./keys.js";
import { recordOf } from "./records.js";
import { end } from "./reply.js";
import { state } from "./state.js";
import { strings } from "./strings.js";
import { go, nameOf, openCreation, showTimelines, startCreation, startSearch, tellDamage } from "./timelines.js";
import { makeTabs, showTab } from "./why.js";

/** Tell the person what failed. Where the timeline is not at the server any more, show which ones are. */
async function tell(error) {
  if (error.status === 404 && (await isGone())) notice(strings.gone, strings.dismiss);
  else notice(error.message, strings.dismiss);
}

/** Run an action and tell the person when it fails. */
const guarded =
  (act) =>
  async (...args) => {
    try {
      await act(...args);
    } catch (error) {
      await tell(error);
    }
  };

// -- opening a timeline ---------------------------------------------------------------------------------------------

/** Where in a timeline to go once it is open: {turn} or {round}. */
let goal = goalOf(new URLSearchParams(location.search));

function goalOf(query) {
  const round = Number(query.get("round"));
  return query.has("turn") ? { turn: query.get("turn") } : round > 0 ? { round } : null;
}

async function open(id) {
  const [shown, { instructions }] = await Promise.all([api.timeline(id), api.instructions(id)]);
  if (location.hash !== `#${id}`) return;
  leave();
  Object.assign(state, shown, { instructions, selected: null, records: new Map() });
  clearNotices();
  showName();
  if (shown.torn) notice(strings.torn(shown.torn), strings.dismiss);
  byId("composer").hidden = false;
  byId("controls").hidden = false;
  openBox(shown.running);
  showConversation();
  end.show();
  // A phone would put its keyboard over the conversation.
  if (!matchMedia("(pointer: coarse)").matches) byId("message").focus({ preventScroll: true });
  await Promise.all([showTimelines(), showControls()]);
  if (goal) await reachGoal();
  // Unless the person has chosen another one meanwhile.
  if (!state.selected) await select(shown.turns.at(-1) ?? null);
  if (shown.running) await resume(shown.running);
}

/** Load the timeline in the address, or the newest one. */
async function route() {
  const { timelines, damaged } = await showTimelines();
  tellDamage(damaged);
  const wanted = location.hash.slice(1);
  const id = timelines.some((timeline) => timeline.id === wanted) ? wanted : timelines[0]?.id;
  if (!id) return welcome();
  // Changing the address comes back here by `hashchange`.
  if (id !== wanted) return location.replace(`#${id}`);
  await open(id);
}

/** Go to the turn or round that the address or the search asked for. */
async function reachGoal() {
  const { turn: id, round } = goal;
  goal = null;
  history.replaceState(null, "", location.pathname + location.hash);
  if (id) {
    const { turn } = await recordOf(id);
    await reach((first) => first.seq <= turn.seq);
    await arrive(state.turns.find((item) => item.id === id) ?? turn);
  } else {
    await reach((first) => first.round <= round);
    const turn = state.turns.findLast((item) => item.round === round && item.kind === "turn");
    if (turn) await arrive(turn);
    else notice(strings.roundNotShown(round), strings.dismiss);
  }
}

/** Show a turn in its place, or where its newer reply is if it was replaced. */
async function arrive(turn) {
  const node = byId(`turn-${turn.id}`) ?? byId("log").querySelector(`[data-round="${turn.round}"]`);
  if (node) goTo(node);
  await select(turn);
}

function showName() {
  const { timeline } = state;
  byId("whom").textContent = nameOf(timeline);
  byId("whom").hidden = false;
  document.title = `${nameOf(timeline)} · ARPM`;
}

function welcome() {
  state.timeline = null;
  byId("whom").hidden = true;
  byId("composer").hidden = true;
  byId("controls").hidden = true;
  const begin = el("button", { type: "button", class: "primary", onclick: openCreation }, strings.begin);
  fill(byId("log"), el("div", { class: "empty" }, el("p", {}, strings.noTimelines), begin));
  showTab();
}

/** After the session changed: its break, and the controls that depend on it. */
async function showSession() {
  const { sessions, timeline } = await api.timeline(state.timeline.id, null, 1);
  Object.assign(state, { sessions, timeline });
  showSessions();
  end.show();
  await Promise.all([showTimelines(), showControls()]);
}

// -- what happens elsewhere -----------------------------------------------------------------------------------------

/** Show what another page, or another program, did on the open timeline meanwhile. */
async function refresh() {
  const { id } = state.timeline;
  const shown = await api.timeline(id);
  if (state.timeline?.id !== id || state.answering) return;
  const isSame = shown.turns.at(-1)?.id === state.turns.at(-1)?.id && shown.sessions.length === state.sessions.length;
  if (!isSame) {
    Object.assign(state, shown);
    showConversation();
    end.show();
    await Promise.all([showTimelines(), showControls()]);
  }
  if (shown.running) await resume(shown.running);
}

/** Whether the server has lost the open timeline. The page stays as it is, with the list of what there is. */
async function isGone() {
  if (!state.timeline) return false;
  const { timelines } = await showTimelines().catch(() => ({ timelines: [state.timeline] }));
  return !timelines.some(({ id }) => id === state.timeline?.id);
}

document.addEventListener("visibilitychange", () => {
  // Unasked, so an unreachable server is no news; it is when something is asked of it.
  if (!document.hidden && state.timeline && !state.answering) refresh().catch(() => {});
});

// -- model and preset -----------------------------------------------------------------------------------------------

async function showControls() {
  const [{ models }, { presets }, config] = await Promise.all([
    api.models(),
    api.presets(),
    api.config(state.timeline.id),
  ]);
  const session = state.sessions.at(-1);
  fill(
    byId("model"),
    models.map(({ name }) => el("option", { value: name, selected: name === session.model }, name)),
  );
  const count = Object.keys(config.differences).length;
  fill(
    byId("preset"),
    presets.map(({ name, help }) => {
      const current = name === config.preset;
      const words = current && count ? strings.changedSettings(name, count) : name;
      return el("option", { value: name, selected: current, title: help }, words);
    }),
  );
  byId("preset").title = presets.find(({ name }) => name === config.preset)?.help ?? "";
}

function startControls() {
  byId("model").addEventListener(
    "change",
    guarded(async (event) => {
      await api.switchModel(state.timeline.id, event.target.value);
      await showSession();
    }),
  );
  byId("preset").addEventListener(
    "change",
    guarded(async (event) => {
      await api.choosePreset(state.timeline.id, event.target.value);
      await showControls();
    }),
  );
  byId("clear").addEventListener(
    "click",
    guarded(async () => {
      await api.clearContext(state.timeline.id);
      await showSession();
    }),
  );
  byId("earlier").addEventListener(
    "click",
    guarded(() => earlier()),
  );
}

// -- turns ----------------------------------------------------------------------------------------------------------

async function select(turn, label = null) {
  state.selected = turn?.id ?? null;
  markSelected();
  await (label ? showTab("evidence", label) : showTab());
  // A label leads to a memory: on a narrow page it is behind a sheet.
  if (label) openSheet("why", true);
}

Object.assign(actions, {
  select: guarded(select),
  again: guarded(again),
  edit,
  tryAgain: guarded(tryAgain),
  putBack: (turn) => putBack(turn.message, turn.replaces ? { id: turn.replaces, round: turn.round } : null),
});

Object.assign(after, {
  refresh,
  tell,
  async finished(turn) {
    const { instructions } = await api.instructions(state.timeline.id);
    state.instructions = instructions;
    await Promise.all([select(turn), showTimelines()]);
  },
});
changed.instructions = () => showTab("instructions");

Object.assign(go, {
  round: guarded(async (timeline, round) => {
    goal = { round };
    openSheet("shelf", false);
    if (state.timeline?.id === timeline) await reachGoal();
    else location.hash = timeline;
  }),
  session: guarded(async (id) => {
    openSheet("shelf", false);
    const begin = await sessionBegin(id);
    if (begin) goTo(begin);
    else notice(strings.sessionNotShown, strings.dismiss);
  }),
  renamed(timeline) {
    Object.assign(state.timeline, timeline);
    showName();
  },
});

// -- sheets ---------------------------------------------------------------------------------------------------------

const SHEETS = [
  ["show-shelf", "shelf"],
  ["hide-shelf", "shelf"],
  ["show-why", "why"],
  ["hide-why", "why"],
];

/** On a narrow page the two sides are sheets over the conversation. */
function openSheet(name, isOpen) {
  document.body.classList.toggle(`open-${name}`, isOpen);
  byId(`show-${name}`).setAttribute("aria-expanded", String(isOpen));
}

function startSheets() {
  for (const [button, name] of SHEETS) {
    byId(button).addEventListener("click", () => {
      const isOpen = !document.body.classList.contains(`open-${name}`);
      openSheet(name, isOpen);
      byId(isOpen ? `hide-${name}` : `show-${name}`).focus();
    });
  }
  byId("timelines").addEventListener("click", (event) => {
    if (event.target.closest("a")) openSheet("shelf", false);
  });
}

makeTabs();
startKeys({
  stop,
  again: guarded(again),
  closeSheets: () => ["shelf", "why"].forEach((name) => openSheet(name, false)),
});
startBox(guarded(send));
byId("stop").addEventListener("click", stop);
startControls();
startSheets();
end.hold();
startEarlier(tell);
startSearch(tell);
startCreation((id) => (location.hash = id));
window.addEventListener("hashchange", guarded(route));
guarded(startDocuments)();
guarded(route)();
