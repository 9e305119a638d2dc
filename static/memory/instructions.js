// The section "Instructions": what the person asked for once and for all. Added, edited and retired here.

import { api } from "../api.js";
import { el, fill } from "../dom.js";
import { strings } from "../strings.js";
import { attempt, button, loadInto, tell, turnLink, when } from "./parts.js";
import { page } from "./state.js";
import { words } from "./strings.js";

/** Show the instructions of the open timeline in `node`. */
export function instructionsSection(node) {
  const box = el("div", { class: "instructions-box" });
  fill(node, el("p", { class: "hint" }, words.instructionsHelp), addForm(box), box);
  return loadInto(box, async () => show(box, await api.instructions(page.timeline.id)));
}

/** Take over a new list from the server, and say what happened. */
function renew(box, view, message) {
  const hadFocus = box.contains(document.activeElement);
  const wasOpen = box.querySelector("details.retired")?.open ?? false;
  fill(box, show(box, view));
  const retired = box.querySelector("details.retired");
  if (retired) retired.open = wasOpen;
  // What had the focus is gone.
  if (hadFocus) box.querySelector("h2").focus();
  tell(message);
}

function show(box, view) {
  const active = view.instructions.filter((item) => item.active);
  const retired = view.instructions.filter((item) => !item.active);
  return [
    contradictions(box, view),
    el("h2", { tabIndex: -1 }, words.active),
    active.length
      ? el(
          "ul",
          { class: "plain cards" },
          active.map((item) => activeItem(box, item)),
        )
      : el("p", { class: "empty" }, words.noInstructions),
    retired.length ? retiredList(retired, view.instructions) : null,
  ].filter(Boolean);
}

/** Pairs in force that cannot both be kept, side by side: which of them holds, and about what they differ. */
function contradictions(box, view) {
  const found = (id) => view.instructions.find((item) => item.id === id);
  const pairs = view.contradictions.map((pair) => ({ ...pair, older: found(pair.older), newer: found(pair.newer) }));
  if (!pairs.length) return null;
  return el(
    "section",
    { class: "contradictions" },
    el("h2", { tabIndex: -1 }, words.contradictions),
    el("p", { class: "hint" }, words.contradictionsHelp),
    pairs.map((pair) => [
      el("p", {}, words.contradict(pair.about)),
      el(
        "ul",
        { class: "plain beside" },
        activeItem(box, pair.older, words.yields),
        activeItem(box, pair.newer, words.holds),
      ),
    ]),
  );
}

function addForm(box) {
  const input = el("input", { name: "text", required: true, autocomplete: "off" });
  const send = el("button", { class: "primary" }, words.add);
  const form = el("form", { class: "one-line" }, el("label", {}, words.newInstruction, input), send);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(send, async () => {
      renew(box, await api.addInstruction(page.timeline.id, input.value), words.added);
      input.value = "";
    });
  });
  return form;
}

// -- one in force -----------------------------------------------------------------------------------------------------

function activeItem(box, item, mark) {
  const place = el("li", { class: "card" });
  const rest = () => {
    const edit = button(
      words.edit,
      () =>
        fill(
          place,
          editForm(box, item, () => back(0)),
        ),
      {
        "aria-label": words.editNamed(item.text),
      },
    );
    const retire = button(
      words.retire,
      () =>
        fill(
          place,
          retireForm(box, item, () => back(1)),
        ),
      {
        "aria-label": words.retireNamed(item.text),
      },
    );
    fill(
      place,
      el("div", {}, mark ? el("p", { class: "hint" }, mark) : null, text(item), el("p", { class: "hint" }, origin(item))),
      el("div", { class: "row" }, edit, retire),
    );
    return [edit, retire];
  };
  // The focus comes back to the button that was pressed.
  const back = (which) => rest()[which].focus();
  rest();
  return place;
}

function editForm(box, item, cancel) {
  const input = el("textarea", { name: "text", rows: 2, required: true, value: item.text });
  return smallForm(el("label", {}, words.editedText, input), words.save, cancel, async () => {
    renew(box, await api.replaceInstruction(page.timeline.id, item.id, input.value), words.replaced);
  });
}

function retireForm(box, item, cancel) {
  const input = el("input", { name: "reason", maxLength: 500, autocomplete: "off" });
  const body = el("div", { class: "field" }, text(item), el("label", {}, words.retireReason, input));
  return smallForm(body, words.retire, cancel, async () => {
    const view = await api.retireInstruction(page.timeline.id, item.id, input.value.trim() || undefined);
    renew(box, view, words.retiredNow);
  });
}

/** A form in the place of an item. Escape leaves it. */
function smallForm(body, label, cancel, act) {
  const send = el("button", { class: "primary" }, label);
  const form = el(
    "form",
    { class: "small-form" },
    body,
    el("div", { class: "row" }, button(words.cancel, cancel), send),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(send, act);
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Escape") cancel();
  });
  queueMicrotask(() => form.querySelector("input, textarea").focus());
  return form;
}

const text = (item) => el("p", { class: "words", dir: "auto" }, item.text);

/** Where an instruction comes from: by hand, or said in a round. */
function origin(item) {
  if (item.kind === "hand") return [words.byHand, " ", when(item.at)];
  const sure = item.probability === null ? null : [" · ", strings.sure(item.probability, item.reason)];
  return [words.recognised, " ", turnLink(page.timeline.id, item.turn, item.round), " · ", when(item.at), sure];
}

// -- retired ----------------------------------------------------------------------------------------------------------

function retiredList(retired, all) {
  const items = [...retired]
    .reverse()
    .map((item) => el("li", { class: "card" }, el("div", {}, text(item), end(item, all))));
  return el(
    "details",
    { class: "retired" },
    el("summary", {}, words.retired(retired.length)),
    el("ul", { class: "plain cards" }, items),
  );
}

/** When and why an instruction was retired, and what took its place. */
function end(item, all) {
  const why = item.retired_reason;
  // An edit names the one that follows; where a message asked for something else, its words are the reason.
  const heir = all.find(
    (other) => other !== item && (other.replaces === item.id || why === `replaced by ${other.id}` || why === other.text),
  );
  return [
    el("p", { class: "hint" }, origin(item)),
    el(
      "p",
      { class: "hint" },
      words.retiredAt,
      " ",
      when(item.retired_at),
      heir || !why ? null : [", ", words.because(why)],
    ),
    heir ? el("p", { class: "hint" }, words.replacedBy, " ", el("q", { dir: "auto" }, heir.text)) : null,
  ];
}
