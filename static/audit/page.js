// The audit page: puts its sections together. What is shown is in the address: a reload and the back button keep it.

import { api } from "../api.js";
import { byId, el, fill } from "../dom.js";
import { TABS, addressOf, go, place, startAddress } from "./address.js";
import { checkpointsSection } from "./checkpoints.js";
import { diffSection } from "./diff.js";
import { exportsSection } from "./exports.js";
import { ledgersSection } from "./ledgers.js";
import { livesSection } from "./lives.js";
import { failure, tell, tellFailure } from "./parts.js";
import { replaySection } from "./replay.js";
import { reviewSection } from "./review.js";
import { page } from "./state.js";
import { statisticsSection } from "./statistics.js";
import { words } from "./strings.js";
import { whatifSection } from "./whatif.js";

const SECTIONS = {
  ledgers: ledgersSection,
  checkpoints: checkpointsSection,
  replay: replaySection,
  whatif: whatifSection,
  diff: diffSection,
  lives: livesSection,
  review: reviewSection,
  statistics: statisticsSection,
  exports: exportsSection,
};
// These are of all ledgers, those of documents too.
const OF_ALL = ["ledgers", "checkpoints"];
const view = byId("view");
let shown = new AbortController();

/** Show what the address asks for. What was still on its way for what was shown before is dropped. */
async function show() {
  shown.abort();
  shown = new AbortController();
  const { signal } = shown;
  page.signal = signal;
  tell("");
  try {
    const { timeline, tab } = place();
    const known = () => page.timelines.find((item) => item.id === timeline);
    if (!page.timelines.length || (timeline && !known())) page.timelines = (await api.timelines()).timelines;
    if (signal.aborted) return;
    const chosen = known() ?? page.timelines[0] ?? null;
    if (timeline && chosen?.id !== timeline) tellFailure(words.gone);
    if ((chosen?.id ?? "") !== timeline) return go({ timeline: chosen?.id ?? "" }, true);
    page.timeline = chosen;
    showHead();
    // A node of its own, so that a slow answer for an earlier section has nowhere to appear.
    const section = el("section", { class: tab }, el("p", { class: "hint" }, words.loading));
    fill(view, section);
    if (!chosen && !OF_ALL.includes(tab)) return fill(section, noTimeline());
    await SECTIONS[tab](section);
    if (!signal.aborted) document.body.dataset.ready = tab;
  } catch (error) {
    if (!signal.aborted) fill(view, failure(error, show));
  }
}

const noTimeline = () =>
  el("div", { class: "empty" }, el("p", {}, words.needsTimeline), el("a", { href: "/" }, words.openChat));

// -- the head ---------------------------------------------------------------------------------------------------------

function showHead() {
  const { tab } = place();
  delete document.body.dataset.ready;
  const options = page.timelines.map((item) =>
    el("option", { value: item.id, selected: item.id === page.timeline?.id }, words.chooser(item)),
  );
  fill(byId("timeline"), options.length ? options : el("option", { value: "" }, words.noTimeline));
  byId("timeline").disabled = !options.length;
  byId("timeline").closest("label").hidden = OF_ALL.includes(tab);
  document.title = words.title(words.tabs[tab], OF_ALL.includes(tab) ? "" : page.timeline?.title || page.timeline?.character);
  for (const link of byId("views").children) {
    const isChosen = link.id === `tab-${tab}`;
    link.setAttribute("aria-selected", String(isChosen));
    link.tabIndex = isChosen ? 0 : -1;
    link.href = addressOf(toTab(link));
  }
  view.setAttribute("aria-labelledby", `tab-${tab}`);
}

/** Where a tab leads: to the beginning of its section. */
const toTab = (link) => ({ tab: link.id.slice(4), ledger: "", kind: "", event: "", first: "", second: "", memory: "" });

/** Tabs are links: they can be copied and opened elsewhere. Arrow keys move between them, as readers expect of tabs. */
function makeTabs() {
  const links = TABS.map((tab) => el("a", { role: "tab", id: `tab-${tab}`, "aria-controls": "view" }, words.tabs[tab]));
  byId("views").addEventListener("click", (event) => {
    const link = event.target.closest("a");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    go(toTab(link));
  });
  byId("views").addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1, " ": 0 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const next = links[(links.indexOf(document.activeElement) + step + links.length) % links.length];
    next.focus();
    next.click();
  });
  fill(byId("views"), links);
}

// -- what happens -----------------------------------------------------------------------------------------------------

byId("timeline").addEventListener("change", (event) => {
  // What was said of another timeline does not stand above this one.
  byId("notices").replaceChildren();
  go({ timeline: event.target.value, turn: "", memory: "", first: "", second: "" });
});
byId("skip").addEventListener("click", (event) => {
  // Its address would take the timeline's place.
  event.preventDefault();
  view.focus();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") view.querySelector(".run:not([hidden]) .stop")?.click();
});
makeTabs();
startAddress(show);
