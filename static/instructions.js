// The tab "Instructions": what the person asked for once and for all, added and retired by hand.

import { api } from "./api.js";
import { el, notice } from "./dom.js";
import { state } from "./state.js";
import { strings } from "./strings.js";

/** What changed the list calls: set once by `app.js`. */
export const changed = { instructions() {} };

/** The instructions of the open timeline; those in the selected turn's prompt are marked. */
export function instructionsTab(view) {
  const shown = new Set(view?.record.body?.instructions_shown ?? []);
  const omitted = view?.record.body?.instructions_omitted?.length ?? 0;
  const active = state.instructions.filter((item) => item.active);
  const retired = state.instructions.filter((item) => !item.active);
  return [
    el("p", { class: "hint" }, strings.instructionsHelp),
    omitted ? el("p", { class: "warning" }, strings.instructionsOmitted(omitted)) : null,
    active.length
      ? el("ul", { class: "plain instructions" }, active.map((item) => activeItem(item, shown.has(item.id))))
      : el("p", { class: "empty" }, strings.noInstructions),
    addForm(),
    retired.length ? retiredList(retired, shown) : null,
  ];
}

function activeItem(item, isShown) {
  const retire = el("button", { type: "button", "aria-label": `${strings.retire}: ${item.text}` }, strings.retire);
  retire.addEventListener("click", () => change(api.retireInstruction(state.timeline.id, item.id)));
  return el("li", {}, words(item, isShown, strings.givenBy(item.kind, item.round)), retire);
}

function retiredList(retired, shown) {
  const items = retired.map((item) => el("li", {}, words(item, shown.has(item.id), strings.retiredFor(item.retired_reason))));
  return el("details", {}, el("summary", {}, strings.retired(retired.length)), el("ul", { class: "plain instructions" }, items));
}

function words(item, isShown, origin) {
  return el(
    "div",
    {},
    el("p", { class: "words" }, item.text),
    el("p", { class: "hint" }, origin, " ", isShown ? el("span", { class: "mark" }, strings.inPrompt) : null),
  );
}

function addForm() {
  const input = el("input", { name: "text", required: true, autocomplete: "off", "aria-label": strings.newInstruction });
  input.placeholder = strings.newInstruction;
  const form = el("form", { class: "row" }, input, el("button", {}, strings.add));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (state.timeline) change(api.addInstruction(state.timeline.id, input.value));
  });
  return form;
}

async function change(request) {
  try {
    state.instructions = (await request).instructions;
    changed.instructions();
  } catch (error) {
    notice(error.message, strings.dismiss);
  }
}
