// The drawer "Why this answer": one turn's record, a tab for each question a person may have.

import { analysisTab } from "./analysis.js";
import { api } from "./api.js";
import { candidatesTab } from "./candidates.js";
import { byId, el, fill } from "./dom.js";
import { evidenceTab } from "./evidence.js";
import { instructionsTab } from "./instructions.js";
import { promptTab, recordTab } from "./record.js";
import { state } from "./state.js";
import { strings } from "./strings.js";

const RECORDS_KEPT = 50;
const TABS = {
  evidence: evidenceTab,
  candidates: candidatesTab,
  analysis: analysisTab,
  instructions: instructionsTab,
  prompt: promptTab,
  record: recordTab,
};
let current = "evidence";

/** Make the tabs. Arrow keys move between them, as readers expect of tabs. */
export function makeTabs() {
  const buttons = Object.keys(TABS).map((name) =>
    el(
      "button",
      { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": "panel", onclick: () => showTab(name) },
      strings.tabs[name],
    ),
  );
  byId("tabs").addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.stopPropagation();
    const place = buttons.indexOf(document.activeElement);
    const next = buttons[(place + step + buttons.length) % buttons.length];
    next.focus();
    next.click();
  });
  fill(byId("tabs"), buttons);
}

/** Show a tab of the selected turn; `label` is the evidence to point at. */
export async function showTab(name = current, label = null) {
  current = name;
  for (const button of byId("tabs").children) {
    const chosen = button.id === `tab-${name}`;
    button.setAttribute("aria-selected", String(chosen));
    button.tabIndex = chosen ? 0 : -1;
  }
  byId("panel").setAttribute("aria-labelledby", `tab-${name}`);
  document.body.classList.toggle("wide-why", name === "candidates");
  const view = await viewOfSelected();
  // Another tab or turn may have been chosen while the record was on its way.
  if (current !== name || (view && view.turn.id !== state.selected)) return;
  byId("why-title").textContent = view ? strings.whyRound(view.turn.round) : strings.why;
  const needsTurn = name !== "instructions";
  fill(byId("panel"), needsTurn && !view ? el("p", { class: "empty" }, strings.chooseTurn) : TABS[name](view, label));
  byId("panel").querySelector(".pointed")?.scrollIntoView({ block: "nearest" });
}

async function viewOfSelected() {
  const id = state.selected;
  if (!id) return null;
  if (!state.records.has(id)) {
    const view = await api.turn(id);
    state.records.set(id, view);
    if (state.records.size > RECORDS_KEPT) state.records.delete(state.records.keys().next().value);
  }
  return state.records.get(id);
}
