// The side bar: the timelines with their search, the sessions of the open one, and the form that begins one.

import { api } from "./api.js";
import { byId, el, fill, notice } from "./dom.js";
import { absolute, relative } from "./format.js";
import { state } from "./state.js";
import { strings } from "./strings.js";

// Typing is over when nothing was typed for this long.
const PAUSE = 200;

/** What the side bar asks of the rest of the page: set once by `app.js`. */
export const go = {
  /** Open a timeline at a round. */
  round(timeline, round) {},
  /** Show where a session of the open timeline begins. */
  async session(id) {},
  /** The open timeline has another title. */
  renamed(timeline) {},
};

/** Show the timelines that fit the search, the open one marked. Returns what the server has of all of them. */
export async function showTimelines() {
  const query = byId("search").value.trim();
  const [all, fitting] = await Promise.all([api.timelines(), query ? api.timelines(query) : null]);
  // A newer search may have been typed, and a name that is being written is not taken away.
  if (byId("search").value.trim() === query && !byId("timelines").querySelector("form")) {
    show(fitting?.timelines ?? all.timelines, query);
  }
  return all;
}

function show(timelines, query) {
  const isOpenSessions = byId("timelines").querySelector(".sessions")?.open ?? false;
  fill(
    byId("timelines"),
    timelines.map((timeline) => entry(timeline, query, isOpenSessions)),
  );
  byId("search-status").textContent = query ? strings.found(timelines.length) : "";
}

function entry(timeline, query, isOpenSessions) {
  const isOpen = timeline.id === state.timeline?.id;
  const link = el(
    "a",
    { href: `#${timeline.id}` },
    el("span", { class: "name", dir: "auto" }, nameOf(timeline)),
    el("span", { class: "hint" }, about(timeline)),
  );
  if (isOpen) link.setAttribute("aria-current", "page");
  const item = el("li", { class: isOpen ? "open" : "" }, link, match(timeline, query));
  if (isOpen) item.append(renameButton(item, timeline), sessions(isOpenSessions));
  return item;
}

/** What a timeline is called: its title, or who the character is. */
export const nameOf = (timeline) => timeline.title || timeline.character;

function about(timeline) {
  const whom = timeline.title ? strings.whoWith(timeline.character, timeline.user) : strings.with(timeline.user);
  return `${whom} · ${strings.rounds(timeline.rounds)}`;
}

/** The place where the words that were searched for are said. */
function match(timeline, query) {
  if (!query || !timeline.match) return null;
  const { round, text } = timeline.match;
  const link = el(
    "a",
    { class: "match", href: `/?round=${round}#${timeline.id}`, dir: "auto" },
    el("span", { class: "hint" }, `${strings.round(round)}: `),
    highlighted(text, query),
  );
  link.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    go.round(timeline.id, round);
  });
  return link;
}

function highlighted(text, query) {
  const place = text.toLowerCase().indexOf(query.toLowerCase());
  if (place < 0) return text;
  const end = place + query.length;
  return [text.slice(0, place), el("mark", {}, text.slice(place, end)), text.slice(end)];
}

// -- the name ------------------------------------------------------------------------------------------------------

function renameButton(item, timeline) {
  const button = el("button", { type: "button", class: "quiet" }, strings.rename);
  button.addEventListener("click", () => item.replaceChildren(renameForm(timeline)));
  button.addEventListener("click", () => item.querySelector("input").select());
  return button;
}

function renameForm(timeline) {
  const input = el("input", { name: "title", maxLength: 200, autocomplete: "off", "aria-label": strings.title });
  input.value = timeline.title ?? "";
  input.placeholder = timeline.character;
  const form = el(
    "form",
    { class: "rename" },
    input,
    el("p", { class: "hint" }, strings.titleHelp),
    el(
      "p",
      { class: "row" },
      el("button", { class: "primary" }, strings.save),
      el("button", { type: "button", onclick: () => close(form) }, strings.cancel),
    ),
  );
  form.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    close(form);
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const { timeline: renamed } = await api.renameTimeline(timeline.id, input.value.trim());
      if (state.timeline?.id === renamed.id) go.renamed(renamed);
      close(form);
    } catch (error) {
      notice(error.message, strings.dismiss);
    }
  });
  return form;
}

async function close(form) {
  form.remove();
  await showTimelines();
  byId("timelines").querySelector("[aria-current]")?.focus();
}

// -- sessions ------------------------------------------------------------------------------------------------------

function sessions(isOpen) {
  const items = state.sessions.map((session) => {
    const cause = strings.causes[session.cause] ?? session.cause;
    const time = el("time", { datetime: session.at, title: absolute(session.at, state.timeline.timezone) });
    time.append(relative(session.at));
    const words = [el("span", { class: "number" }, session.number), ` ${cause} · ${session.model} · `, time];
    // What was imported is in memory and not in the conversation.
    if (session.cause === "import") return el("li", { class: "hint" }, words);
    return el("li", {}, el("button", { type: "button", class: "quiet", onclick: () => go.session(session.id) }, words));
  });
  return el(
    "details",
    { class: "sessions", open: isOpen },
    el("summary", {}, strings.sessions(items.length)),
    el("ol", { class: "plain" }, items),
  );
}

// -- search --------------------------------------------------------------------------------------------------------

/** Make the search box work. `failed` gets an error. */
export function startSearch(failed) {
  let timer = null;
  byId("search").addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => showTimelines().catch(failed), PAUSE);
  });
}

/** Say which ledgers could not be opened. */
export function tellDamage(damaged) {
  for (const { name, message } of damaged) notice(strings.damaged(name, message), strings.dismiss);
}

// -- a new timeline ------------------------------------------------------------------------------------------------

/** Make the form work. `opened` gets the id of a new timeline. */
export function startCreation(opened) {
  const dialog = byId("creation");
  const form = dialog.querySelector("form");
  byId("new-timeline").addEventListener("click", openCreation);
  byId("creation-cancel").addEventListener("click", () => dialog.close());
  form.elements.timezone.value = ownTimezone();
  fill(
    byId("zones"),
    zones().map((zone) => el("option", { value: zone })),
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const { timeline } = await api.createTimeline(Object.fromEntries(new FormData(form)));
      dialog.close();
      form.elements.character.value = form.elements.persona.value = "";
      opened(timeline.id);
    } catch (error) {
      byId("creation-error").textContent = error.message;
    }
  });
}

/** Open the form. */
export function openCreation() {
  byId("creation-error").textContent = "";
  byId("creation").showModal();
}

const ownTimezone = () => Intl.DateTimeFormat().resolvedOptions().timeZone || document.body.dataset.timezone;
const zones = () => (Intl.supportedValuesOf ? Intl.supportedValuesOf("timeZone") : []);
