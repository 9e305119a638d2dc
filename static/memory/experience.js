// The section "Experience": what was said and is remembered. Filtered, paged, searched; put in quarantine or erased.

import { api } from "../api.js";
import { el, fill, focused } from "../dom.js";
import { addressOf, go, place } from "./address.js";
import { askErase, askToErase } from "./erase.js";
import { memoryFold } from "./item.js";
import { attempt, button, choice, excerpt, failure, loadInto, originOptions, tell, when } from "./parts.js";
import { askForMemories, askQuarantine, askRelease, everythingInQuarantine } from "./quarantine.js";
import { searchForm, searchResults } from "./search.js";
import { page } from "./state.js";
import { words } from "./strings.js";

const PAGE = 20;

/** What is listed now: entries {memory, item} by id, the way to older ones, and the chosen ids. */
let list = null;

/** Show the memories of the open timeline in `node`, as the address asks. */
export async function experienceSection(node) {
  const asked = place();
  const results = el("div", { class: "results" });
  const counts = el("div", { class: "counts" });
  list = { asked, entries: new Map(), chosen: new Set(), before: undefined, counts, node: results };
  fill(
    node,
    el("h2", { class: "unseen" }, words.tabs.experience),
    el("p", { class: "hint" }, words.experienceHelp),
    searchForm(),
  );
  if (asked.q) {
    node.append(results);
    const load = () => searchResults(asked.q, "experience", { experience: memoryActions });
    return loadInto(results, load);
  }
  if (asked.memory) return showLinked(node, asked.memory);
  node.append(counts, filters(asked), results);
  showCounts();
  return startList(results);
}

/** The one memory that the address names, opened. */
function showLinked(node, id) {
  const fold = memoryFold(id, el("summary", {}, words.linked), memoryActions, true);
  node.append(
    el("p", {}, el("a", { href: addressOf({ memory: "" }) }, words.showAll)),
    el("div", { class: "memories" }, fold),
  );
}

// -- counts and filters -----------------------------------------------------------------------------------------------

async function showCounts() {
  const { counts } = list;
  try {
    const states = ["active", "quarantined", "replaced"];
    const views = await Promise.all(states.map((state) => api.memories(page.timeline.id, { state, limit: 1 })));
    const [active, quarantined, replaced] = views.map((view) => view.count);
    const hadFocus = counts.contains(document.activeElement);
    fill(
      counts,
      el("p", { class: "number" }, words.counts(active, quarantined, replaced)),
      el(
        "div",
        { class: "row wrap" },
        quarantined && list.asked.state !== "quarantined"
          ? button(words.inQuarantine(quarantined), () => go({ state: "quarantined", session: "", model: "" }))
          : null,
        active ? button(words.quarantine, () => askQuarantine()) : null,
        active + quarantined + replaced ? button(words.erase, askErase) : null,
      ),
    );
    // The button that was pressed is gone.
    if (hadFocus) counts.querySelector("button")?.focus();
  } catch (error) {
    fill(counts, failure(error, showCounts));
  }
}

function filters(asked) {
  const { sessions, models } = originOptions();
  const states = Object.entries(words.states).map(([value, text]) => [value === "all" ? "" : value, text]);
  const change = (event) => go({ [event.target.name]: event.target.value });
  return el(
    "div",
    { class: "filters", role: "group", "aria-label": words.filters },
    choice(words.state, "state", states, asked.state, change),
    choice(words.session, "session", [["", words.everySession], ...sessions], asked.session, change),
    choice(words.model, "model", [["", words.everyModel], ...models], asked.model, change),
  );
}

// -- the list ---------------------------------------------------------------------------------------------------------

function startList(node) {
  const mine = list;
  mine.items = el("ul", { class: "plain memories" });
  mine.older = button(words.older, () => attempt(mine.older, showOlder), { class: "older" });
  mine.tray = el("div", { class: "tray", role: "group", "aria-label": words.tray, hidden: true });
  return loadInto(node, async () => {
    const { memories, more } = await pageOf(mine);
    mine.older.hidden = !more;
    if (!memories.length && !more) return empty(mine.asked);
    add(mine, memories);
    return [releaseAll(mine.asked), mine.items, mine.older, mine.tray];
  });
}

async function showOlder() {
  const mine = list;
  tell(words.loading);
  const { memories, more } = await pageOf(mine);
  const first = add(mine, memories);
  mine.older.hidden = !more;
  tell(words.shown(mine.entries.size));
  // When the button goes, the focus goes on to what it brought.
  if (!more) first?.querySelector("summary")?.focus();
}

/** The next page of what the address asks for. */
async function pageOf(mine) {
  const { state, session, model } = mine.asked;
  const query = { limit: PAGE, before: mine.before, state: state || "all", session, model };
  const view = await api.memories(page.timeline.id, query);
  mine.before = view.memories.at(-1)?.seq ?? mine.before;
  return view;
}

function empty({ state, session, model }) {
  if (state === "quarantined") return el("p", { class: "empty" }, words.quarantineEmpty);
  if (state || session || model) return el("p", { class: "empty" }, words.noneLikeThis);
  const spoken = page.timeline.rounds;
  const chat = el("a", { href: `/#${page.timeline.id}` }, words.openChat);
  return el("div", { class: "empty" }, el("p", {}, spoken ? words.noneAdmitted(spoken) : words.noExperience), chat);
}

/** Add memories to the end of the list; returns the first of the new items. */
function add(mine, memories) {
  let first = null;
  for (const memory of memories) {
    if (mine.entries.has(memory.id)) continue;
    const item = el("li", {});
    mine.entries.set(memory.id, { memory, item });
    fill(item, entry(mine, memory));
    mine.items.append(item);
    first ??= item;
  }
  return first;
}

function entry(mine, memory) {
  const pick = el("input", {
    type: "checkbox",
    checked: mine.chosen.has(memory.id),
    "aria-label": words.choose(`${words.round(memory.round)}, ${excerpt(memory.message || memory.text, 60)}`),
  });
  pick.addEventListener("change", () => {
    mine.chosen[pick.checked ? "add" : "delete"](memory.id);
    showTray(mine);
  });
  return [el("label", { class: "pick" }, pick), memoryFold(memory.id, summary(memory), memoryActions)];
}

function summary(memory) {
  return el(
    "summary",
    { class: memory.state === "active" ? "" : "out" },
    el(
      "span",
      { class: "facts-line" },
      el("span", { class: "number" }, words.round(memory.round)),
      memory.at ? when(memory.at) : null,
      el("span", {}, memory.model ?? words.imported),
      memory.state === "active" ? null : el("span", { class: "mark" }, words.states[memory.state]),
      el("span", { class: "number" }, words.uses(memory.uses ?? 0)),
    ),
    memory.message || memory.reply
      ? [line("user", memory.message), line("character", memory.reply)]
      : line("", memory.text),
  );
}

function line(who, text) {
  if (!text) return null;
  const name = who ? [el("span", { class: "who" }, page.timeline[who]), " "] : null;
  return el("span", { class: `words clipped ${who}` }, name, el("bdi", {}, excerpt(text, 280)));
}

// -- what can be done -------------------------------------------------------------------------------------------------

/** The buttons for one memory. */
export function memoryActions(memory) {
  const { id } = memory;
  return [
    memory.state === "active" ? button(words.quarantine, () => askForMemories([id])) : null,
    memory.state === "quarantined" ? button(words.releaseMany, () => askRelease([id])) : null,
    button(words.erase, () => askToErase({ timeline: page.timeline.id, memories: [id] })),
  ];
}

/** What can be done with the chosen memories. */
function showTray(mine) {
  const chosen = [...mine.chosen].map((id) => mine.entries.get(id)?.memory).filter(Boolean);
  const of = (state) => chosen.filter((memory) => memory.state === state).map((memory) => memory.id);
  const [active, quarantined] = [of("active"), of("quarantined")];
  mine.tray.hidden = !chosen.length;
  fill(
    mine.tray,
    el("span", { class: "number", role: "status" }, words.chosen(chosen.length)),
    active.length ? button(words.quarantine, () => askForMemories(active)) : null,
    quarantined.length ? button(words.releaseMany, () => askRelease(quarantined)) : null,
    button(words.erase, () => askToErase({ timeline: page.timeline.id, memories: chosen.map((memory) => memory.id) })),
    button(words.unchoose, () => {
      mine.chosen.clear();
      for (const box of mine.items.querySelectorAll(".pick input")) box.checked = false;
      showTray(mine);
    }),
  );
}

function releaseAll(asked) {
  if (asked.state !== "quarantined") return null;
  const control = button(words.releaseAll, () =>
    attempt(control, async () => askRelease(await everythingInQuarantine())),
  );
  return el("p", {}, control);
}

/** Memories changed their state: show it where they stand. */
export function statesChanged(ids, state) {
  if (!list?.items?.isConnected) return reopen();
  for (const id of ids) {
    const known = list.entries.get(id);
    if (!known) continue;
    known.memory = { ...known.memory, state };
    const wasOpen = known.item.querySelector("details").open;
    fill(known.item, entry(list, known.memory));
    known.item.querySelector("details").open = wasOpen;
  }
  showTray(list);
  showCounts();
  // The button that was pressed has gone with the item it stood in.
  const first = ids.map((id) => list.entries.get(id)?.item).find(Boolean);
  if (focused() === document.body) first?.querySelector("summary").focus();
}

/** Read the opened memories anew. */
function reopen() {
  for (const fold of document.querySelectorAll("details.memory[open]")) fold.load();
}
