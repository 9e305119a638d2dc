// The chat page: puts its parts together. The open timeline is in the address (#ID), so a reload comes back to it.

import { api } from "./api.js";
import { actions, countMessage, leave, markSelected, resume, send, showConversation, stop, toEnd } from "./conversation.js";
import { startDocuments } from "./documents.js";
import { byId, clearNotices, el, fill, notice } from "./dom.js";
import { changed } from "./instructions.js";
import { startKeys } from "./keys.js";
import { state } from "./state.js";
import { strings } from "./strings.js";
import { openCreation, showTimelines, startCreation, tellDamage } from "./timelines.js";
import { makeTabs, showTab } from "./why.js";

/** Run an action and tell the person when it fails. */
const guarded = (act) => async (...args) => {
  try {
    await act(...args);
  } catch (error) {
    notice(error.message, strings.dismiss);
  }
};

// -- opening a timeline ---------------------------------------------------------------------------------------------

async function open(id) {
  const [shown, { instructions }] = await Promise.all([api.timeline(id), api.instructions(id)]);
  if (location.hash !== `#${id}`) return;
  leave();
  Object.assign(state, shown, { instructions, selected: null, records: new Map() });
  clearNotices();
  byId("whom").textContent = shown.timeline.character;
  document.title = `${shown.timeline.character} · ARPM`;
  if (shown.torn) notice(strings.torn(shown.torn), strings.dismiss);
  byId("composer").hidden = false;
  byId("controls").hidden = false;
  showConversation();
  toEnd();
  byId("message").focus({ preventScroll: true });
  await Promise.all([showTimelines(), showControls()]);
  // Unless the person has chosen another one meanwhile.
  if (!state.selected) await select(shown.turns.at(-1) ?? null);
  if (shown.running) await resume(shown.running.message);
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

function welcome() {
  byId("composer").hidden = true;
  byId("controls").hidden = true;
  const begin = el("button", { type: "button", class: "primary", onclick: openCreation }, strings.begin);
  fill(byId("log"), el("div", { class: "empty" }, el("p", {}, strings.noTimelines), begin));
  showTab();
}

async function reopen() {
  const { sessions, timeline } = await api.timeline(state.timeline.id);
  Object.assign(state, { sessions, timeline });
  showConversation();
  toEnd();
  await Promise.all([showTimelines(), showControls()]);
}

async function earlier() {
  const { turns, more } = await api.timeline(state.timeline.id, state.turns[0].seq);
  const scroll = byId("scroll");
  const below = scroll.scrollHeight - scroll.scrollTop;
  Object.assign(state, { turns: [...turns, ...state.turns], more });
  showConversation();
  scroll.scrollTop = scroll.scrollHeight - below;
}

// -- model and preset -----------------------------------------------------------------------------------------------

async function showControls() {
  const [{ models }, { presets }, config] = await Promise.all([api.models(), api.presets(), api.config(state.timeline.id)]);
  const session = state.sessions.at(-1);
  fill(byId("model"), models.map(({ name }) => el("option", { value: name, selected: name === session.model }, name)));
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
  byId("model").addEventListener("change", guarded(async (event) => {
    await api.switchModel(state.timeline.id, event.target.value);
    await reopen();
  }));
  byId("preset").addEventListener("change", guarded(async (event) => {
    await api.choosePreset(state.timeline.id, event.target.value);
    await showControls();
  }));
  byId("clear").addEventListener("click", guarded(async () => {
    await api.clearContext(state.timeline.id);
    await reopen();
  }));
  byId("earlier").addEventListener("click", guarded(earlier));
}

// -- turns ----------------------------------------------------------------------------------------------------------

async function select(turn, label = null) {
  state.selected = turn?.id ?? null;
  markSelected();
  await (label ? showTab("evidence", label) : showTab());
}

actions.select = guarded(select);
actions.reload = guarded(route);
actions.finished = async (turn) => {
  const { instructions } = await api.instructions(state.timeline.id);
  state.instructions = instructions;
  await Promise.all([select(turn), showTimelines()]);
};
changed.instructions = () => showTab("instructions");

function startComposer() {
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
  box.addEventListener("input", countMessage);
  byId("stop").addEventListener("click", stop);
}

const SHEETS = [["show-shelf", "shelf"], ["hide-shelf", "shelf"], ["show-why", "why"], ["hide-why", "why"]];

/** On a narrow page the two sides are sheets over the conversation. */
function startSheets() {
  for (const [button, name] of SHEETS) {
    byId(button).addEventListener("click", () => {
      const isOpen = document.body.classList.toggle(`open-${name}`);
      byId(`show-${name}`).setAttribute("aria-expanded", String(isOpen));
    });
  }
  byId("timelines").addEventListener("click", () => document.body.classList.remove("open-shelf"));
}

makeTabs();
startKeys();
startComposer();
startControls();
startSheets();
startCreation((id) => (location.hash = id));
window.addEventListener("hashchange", guarded(route));
guarded(startDocuments)();
guarded(route)();
