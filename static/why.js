// The drawer "Why this answer": one turn's record, a tab for each question a person may have.

import { analysisTab } from "./analysis.js";
import { candidatesTab } from "./candidates.js";
import { decayTab } from "./decay.js";
import { byId, el, fill } from "./dom.js";
import { evidenceTab } from "./evidence.js";
import { instructionsTab } from "./instructions.js";
import { messagesTab } from "./messages.js";
import { promptTab } from "./prompt.js";
import { recordTab } from "./record.js";
import { recordOf } from "./records.js";
import { state } from "./state.js";
import { strings } from "./strings.js";

const TABS = {
  evidence: evidenceTab,
  candidates: candidatesTab,
  messages: messagesTab,
  decay: decayTab,
  analysis: analysisTab,
  instructions: instructionsTab,
  prompt: promptTab,
  record: recordTab,
};
let current = "evidence";
/** The tab and the turn that are in the panel: another one is read from its beginning. */
let shown = "";

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
  document.body.classList.toggle("wide-why", name === "candidates" || name === "messages");
  const view = state.selected ? await recordOf(state.selected) : null;
  // Another tab or turn may have been chosen while the record was on its way.
  if (current !== name || (view?.turn.id ?? null) !== state.selected) return;
  byId("why-title").textContent = view ? strings.whyRound(view.turn.round) : strings.why;
  const needsTurn = name !== "instructions";
  const what = `${name} ${state.selected}`;
  if (what !== shown) byId("why").scrollTop = 0;
  shown = what;
  fill(byId("panel"), needsTurn && !view ? el("p", { class: "empty" }, strings.chooseTurn) : TABS[name](view, label));
  byId("panel").querySelector(".pointed")?.scrollIntoView({ block: "nearest" });
}
