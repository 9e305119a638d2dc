// The memory page: puts its sections together. What is shown is in the address: a reload and the back button keep it.

import { api } from "../api.js";
import { byId, el, fill } from "../dom.js";
import { TABS, addressOf, go, place, startAddress } from "./address.js";
import { askAsAddressed } from "./asked.js";
import { erased } from "./erase.js";
import { experienceSection, statesChanged } from "./experience.js";
import { instructionsSection } from "./instructions.js";
import { knowledgeSection, startDropping } from "./knowledge.js";
import { failure, tell, tellFailure } from "./parts.js";
import { changed } from "./quarantine.js";
import { closeSheet } from "./sheet.js";
import { page } from "./state.js";
import { words } from "./strings.js";

const SECTIONS = { instructions: instructionsSection, experience: experienceSection, knowledge: knowledgeSection };
const view = byId("view");
// Raised whenever something else is to be shown; what was still on its way for the earlier is dropped.
let turn = 0;

/** Show what the address asks for. */
async function show() {
  const mine = (turn += 1);
  tell("");
  try {
    const { timeline } = place();
    const isKnown = () => page.timelines.some((item) => item.id === timeline);
    if (!page.timelines.length || (timeline && !isKnown())) await loadTimelines();
    const id = isKnown() ? timeline : (page.timelines[0]?.id ?? "");
    if (timeline && id !== timeline) tellFailure(words.gone);
    if (id !== timeline) return go({ timeline: id }, true);
    const known = id === (page.timeline?.id ?? "") ? {} : await readTimeline(id);
    if (mine !== turn) return;
    Object.assign(page, known);
    showHead();
    await showSection();
    if (mine === turn) await askAsAddressed();
  } catch (error) {
    if (mine === turn) fill(view, failure(error, show));
  }
}

async function loadTimelines() {
  const isFirst = !page.timelines.length;
  const { timelines, damaged } = await api.timelines();
  page.timelines = timelines;
  if (isFirst) for (const { name, message } of damaged) tellFailure(words.damaged(name, message));
}

/** What `page` says of a timeline, or of none. */
async function readTimeline(id) {
  if (!id) return { timeline: null, sessions: [], origins: { sessions: [], models: [] } };
  const [{ timeline, sessions }, origins] = await Promise.all([api.timeline(id), api.memories(id, { limit: 1 })]);
  return { timeline, sessions, origins };
}

async function showSection() {
  const { tab } = place();
  // A node of its own, so that a slow answer for an earlier section has nowhere to appear.
  const section = el("section", { class: tab });
  fill(view, section);
  if (page.timeline || tab === "knowledge") return SECTIONS[tab](section);
  fill(
    section,
    el("div", { class: "empty" }, el("p", {}, words.needsTimeline), el("a", { href: "/" }, words.openChat)),
  );
}

// -- the head ---------------------------------------------------------------------------------------------------------

function showHead() {
  const { tab } = place();
  const options = page.timelines.map((item) =>
    el("option", { value: item.id, selected: item.id === page.timeline?.id }, words.chooser(item)),
  );
  fill(byId("timeline"), options.length ? options : el("option", { value: "" }, words.noTimeline));
  byId("timeline").disabled = !options.length;
  document.title = words.title(words.tabs[tab], page.timeline?.title || page.timeline?.character);
  for (const link of byId("tabs").children) {
    const isChosen = link.id === `tab-${tab}`;
    link.setAttribute("aria-selected", String(isChosen));
    link.tabIndex = isChosen ? 0 : -1;
    link.href = addressOf({ tab: link.id.slice(4) });
  }
  view.setAttribute("aria-labelledby", `tab-${tab}`);
}

/** Tabs are links: they can be copied and opened elsewhere. Arrow keys move between them, as readers expect of tabs. */
function makeTabs() {
  const links = TABS.map((tab) => el("a", { role: "tab", id: `tab-${tab}`, "aria-controls": "view" }, words.tabs[tab]));
  byId("tabs").addEventListener("click", (event) => {
    const link = event.target.closest("a");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    go({ tab: link.id.slice(4) });
  });
  byId("tabs").addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1, " ": 0 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const next = links[(links.indexOf(document.activeElement) + step + links.length) % links.length];
    next.focus();
    next.click();
  });
  fill(byId("tabs"), links);
}

// -- what happens -----------------------------------------------------------------------------------------------------

changed.states = statesChanged;
erased.done = async (what) => {
  try {
    await loadTimelines();
    const isThere = page.timelines.some((item) => item.id === page.timeline?.id);
    Object.assign(page, await readTimeline(isThere ? page.timeline.id : ""));
    if (!page.timeline && what.timeline) return go({ timeline: "" }, true);
    showHead();
    await showSection();
  } catch (error) {
    fill(view, failure(error, show));
  }
};

byId("timeline").addEventListener("change", (event) => {
  // What was said of another timeline does not stand above this one.
  byId("notices").replaceChildren();
  go({ timeline: event.target.value });
});
window.addEventListener("popstate", () => byId("sheet").open && closeSheet());
byId("skip").addEventListener("click", (event) => {
  // Its address would take the timeline's place.
  event.preventDefault();
  view.focus();
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || byId("sheet").open) return;
  const search = view.querySelector("input[name=q]");
  if (!search || event.target.matches("input, textarea, select")) return;
  event.preventDefault();
  search.focus();
});
makeTabs();
startDropping(view, () => place().tab === "knowledge");
startAddress(show);
