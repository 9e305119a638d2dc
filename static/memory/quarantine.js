// Putting memories in quarantine and taking them out again. What it reaches is always shown before anything is done.

import { api } from "../api.js";
import { el } from "../dom.js";
import { attempt, choice, originOptions, ranges, tell, tellDone, tellFailure } from "./parts.js";
import { closeSheet, reasonField, showSheet } from "./sheet.js";
import { page } from "./state.js";
import { words } from "./strings.js";

/** Who wants to know that memories changed their state: called with their ids and the new state. */
export const changed = { states() {} };

/** Ask which memories, then show the reach. */
export function askQuarantine(scope = "rounds") {
  const { timeline } = page;
  const { sessions, models } = originOptions();
  const from = el("input", { name: "from", type: "number", min: 1, max: timeline.rounds, step: 1, value: "" });
  const to = el("input", { name: "to", type: "number", min: 1, max: timeline.rounds, step: 1, value: "" });
  const fields = {
    rounds: el("div", { class: "row field-row" }, el("label", {}, words.from, from), el("label", {}, words.to, to)),
    model: choice(words.model, "model", models),
    session: choice(words.session, "session", sessions),
  };
  // Nothing to choose from where everything was imported.
  if (!models.length) delete fields.model;
  const show = (name) => Object.entries(fields).forEach(([other, field]) => (field.hidden = other !== name));
  const radios = Object.keys(fields).map((name) => {
    const radio = el("input", { type: "radio", name: "scope", value: name, checked: name === scope });
    radio.addEventListener("change", () => show(name));
    return el("label", { class: "radio" }, radio, words.scopes[name]);
  });
  show(scope);
  const sheet = showSheet({
    title: words.quarantineTitle,
    body: [
      el("p", { class: "hint" }, words.quarantineHelp),
      el("fieldset", {}, el("legend", {}, words.which), radios),
      ...Object.values(fields),
    ],
    label: words.look,
    submit: async (say, fail) => {
      const name = sheet.form.elements.scope.value;
      const which = chosenScope(name, fields);
      if (!which) return say(words.rangeWrong);
      await attempt(sheet.submit, () => askWith(which, () => askQuarantine(name)), fail);
    },
  });
}

function chosenScope(name, fields) {
  if (name !== "rounds") {
    const { value } = fields[name].querySelector("select");
    return value ? { [name]: value } : null;
  }
  const [from, to] = [...fields.rounds.querySelectorAll("input")].map((input) => Number(input.value));
  return Number.isInteger(from) && Number.isInteger(to) && from >= 1 && from <= to ? { rounds: [from, to] } : null;
}

/** Show what quarantine of some memories reaches, and do it when the person says so. `which` as the server takes it. */
export async function askWith(which, back = null) {
  tell(words.looking);
  const reach = await api.quarantine(page.timeline.id, { ...which, dry_run: true });
  tell("");
  const { input, field } = reasonField();
  const list = reach.rounds?.length ? words.roundList(ranges(reach.rounds), reach.rounds.length === 1) : "";
  const sheet = showSheet({
    title: words.quarantineTitle,
    body: reach.count
      ? [
          el("p", { class: "reached" }, words.reachQuarantine(reach.count, list)),
          el("p", { class: "hint" }, words.quarantineHelp),
          field,
        ]
      : el("p", {}, words.reachNone),
    label: reach.count ? words.doQuarantine(reach.count) : null,
    back,
    submit: (_, fail) =>
      attempt(
        sheet.submit,
        async () => {
          tell(words.working);
          // What was shown is what is done, though a turn may have ended since.
          const given = { memories: reach.memories, reason: input.value.trim() || undefined };
          const done = await api.quarantine(page.timeline.id, given);
          closeSheet();
          tell("");
          tellDone(words.quarantined(done.count), words.undo, () => undo(done.memories));
          changed.states(done.memories, "quarantined");
        },
        fail,
      ),
  });
}

/** Quarantine of memories by id, from a button. */
export async function askForMemories(memories) {
  try {
    await askWith({ memories });
  } catch (error) {
    tell("");
    tellFailure(words.notDone(error.message));
  }
}

/** Take memories out of quarantine, after asking. */
export function askRelease(memories) {
  const { input, field } = reasonField();
  const sheet = showSheet({
    title: words.releaseTitle,
    body: [el("p", {}, words.releaseHelp(memories.length)), field],
    label: words.doRelease(memories.length),
    submit: (_, fail) =>
      attempt(
        sheet.submit,
        async () => {
          await release(memories, input.value.trim() || undefined);
          closeSheet();
        },
        fail,
      ),
  });
}

async function undo(memories) {
  try {
    await release(memories, words.undo);
  } catch (error) {
    tellFailure(words.notDone(error.message));
  }
}

/** Take memories out of quarantine at once. */
export async function release(memories, reason) {
  const done = await api.release(page.timeline.id, memories, reason);
  tellDone(words.released(done.count));
  changed.states(done.memories, "active");
}

/** The ids of everything that is in quarantine on the timeline. */
export async function everythingInQuarantine() {
  const ids = [];
  for (let before, more = true; more;) {
    const view = await api.memories(page.timeline.id, { state: "quarantined", limit: 100, before });
    ids.push(...view.memories.map((memory) => memory.id));
    before = view.memories.at(-1)?.seq;
    more = view.more && view.memories.length > 0;
    tell(words.collecting(ids.length));
  }
  tell("");
  return ids;
}
