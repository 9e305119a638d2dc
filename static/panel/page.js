// The intervention panel: puts its parts together. The open timeline is in the address (#ID), as on the chat page.

import { api } from "../api.js";
import { byId, clearNotices, el, fill, notice } from "../dom.js";
import { refreshClock, startClock } from "./clock.js";
import { showColumns, startColumns } from "./columns.js";
import { leaveComparison, startCompare } from "./compare.js";
import { closePreview, presetActions, showPresets } from "./presets.js";
import { remember, remembered, state } from "./state.js";
import { words } from "./strings.js";
import { draftCount, makeSettings, sayResult, showSettings, takeUpDrafts, tuneActions } from "./tune.js";
import { differencesInWords } from "./values.js";
import { told } from "./zones.js";

const VIEWS = ["tune", "compare", "clock"];
const KEY = "panel.view";

/** Run an action and tell the person when it fails. */
const guarded =
  (act) =>
  async (...args) => {
    try {
      await act(...args);
    } catch (error) {
      notice(error.message, words.dismiss);
    }
  };

// -- the timeline ---------------------------------------------------------------------------------------------------

/** Open the timeline in the address, or the newest one. */
async function route() {
  const { timelines } = await api.timelines();
  state.timelines = timelines;
  const wanted = location.hash.slice(1);
  const id = timelines.some((timeline) => timeline.id === wanted) ? wanted : timelines[0]?.id;
  for (const part of [byId("views"), byId("timeline").closest("label")]) part.hidden = !id;
  byId("nothing").hidden = Boolean(id);
  byId("something").hidden ||= !id;
  if (!id) return fill(byId("nothing"), el("p", {}, words.noTimelines), el("a", { href: "/" }, words.toChat));
  // Changing the address comes back here by `hashchange`.
  if (id !== wanted) return location.replace(`#${id}`);
  await open(id);
}

async function open(id) {
  const [shown, held] = await Promise.all([api.timeline(id), api.config(id)]);
  if (location.hash !== `#${id}`) return;
  const other = state.timeline?.id !== id;
  Object.assign(state, { timeline: shown.timeline, sessions: shown.sessions, held });
  clearNotices();
  document.title = words.title(shown.timeline.title || shown.timeline.character);
  fill(
    byId("timeline"),
    state.timelines.map((timeline) =>
      el("option", { value: timeline.id, selected: timeline.id === id }, words.timeline(timeline)),
    ),
  );
  if (other) {
    closePreview();
    leaveComparison();
    takeUpDrafts();
  }
  showHeld();
  byId("something").hidden = false;
}

/** Show what holds in the running session, everywhere. */
function showHeld() {
  showSession();
  showPresets();
  showSettings();
  showColumns();
}

function showSession() {
  const session = state.sessions.at(-1);
  const { preset, differences } = state.held;
  const changed = differencesInWords(differences);
  const since = told(new Date(session.at), state.timeline.timezone);
  const facts = [
    [words.running, words.session(session.number, since, words.causes[session.cause] ?? session.cause)],
    [words.model, session.model],
    [words.preset, words.titles[preset] ?? preset],
    [
      words.differences,
      changed.length ? changed.map((text) => el("span", { class: "mark" }, text)) : words.noDifferences,
    ],
  ];
  fill(
    byId("session"),
    facts.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))),
  );
}

/** Another page may have changed what holds; what waits here stays. */
async function refresh() {
  if (document.visibilityState !== "visible" || !state.timeline) return;
  const id = state.timeline.id;
  const [shown, held] = await Promise.all([api.timeline(id), api.config(id), refreshClock()]);
  if (state.timeline.id !== id) return;
  const same = JSON.stringify([state.held, state.sessions]) === JSON.stringify([held, shown.sessions]);
  Object.assign(state, { timeline: shown.timeline, sessions: shown.sessions, held });
  if (!same) showHeld();
}

presetActions.drafts = draftCount;
presetActions.taken = (held, result) => {
  state.held = held;
  showHeld();
  sayResult(result);
};
tuneActions.applied = (held) => {
  state.held = held;
  showHeld();
};

// -- the three views ------------------------------------------------------------------------------------------------

function showView(name) {
  for (const view of VIEWS) {
    const chosen = view === name;
    byId(`view-${view}`).hidden = !chosen;
    byId(`tab-${view}`).setAttribute("aria-selected", String(chosen));
    byId(`tab-${view}`).tabIndex = chosen ? 0 : -1;
  }
  remember(KEY, name);
}

/** Arrow keys move between the tabs, as readers expect of tabs. */
function startViews() {
  for (const view of VIEWS) byId(`tab-${view}`).addEventListener("click", () => showView(view));
  byId("views").addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const place = VIEWS.findIndex((view) => byId(`tab-${view}`) === document.activeElement);
    const next = VIEWS[(place + step + VIEWS.length) % VIEWS.length];
    showView(next);
    byId(`tab-${next}`).focus();
  });
  const kept = remembered(KEY, VIEWS[0]);
  showView(VIEWS.includes(kept) ? kept : VIEWS[0]);
}

async function start() {
  startViews();
  byId("skip").addEventListener("click", (event) => {
    // The address holds the timeline; a link to a part of the page would put it out.
    event.preventDefault();
    byId("content").focus();
  });
  byId("timeline").addEventListener("change", (event) => (location.hash = event.target.value));
  const [{ models }, { presets, settings }] = await Promise.all([api.models(), api.presets()]);
  Object.assign(state, { models, presets, settings });
  makeSettings();
  startColumns();
  startCompare();
  window.addEventListener("hashchange", guarded(route));
  document.addEventListener("visibilitychange", guarded(refresh));
  await Promise.all([guarded(route)(), guarded(startClock)()]);
  document.body.dataset.ready = "true";
}

guarded(start)();
