// Every switch and constant, as the turn runs. Changes are collected and applied together, as one intervention.

import { api } from "../api.js";
import { byId, el, fill } from "../dom.js";
import { control, facts } from "./control.js";
import { configOf, remember, remembered, sessionNumber, state } from "./state.js";
import { words } from "./strings.js";
import { inStages, range, read, refusedSetting, shown } from "./values.js";

/** What the page gives: `applied(held)` after changes were applied, `drafted()` after what waits has changed. */
export const tuneActions = { applied: () => {}, drafted: () => {} };

/** What was put in and is not applied, by name, as it was put in. */
let drafts = new Map();
/** What the server refused, by name, until the value is changed. */
const refusals = new Map();
/** The row of each setting, by name. */
let rows = new Map();

const key = () => `panel.drafts.${state.timeline.id}`;
const place = (name) => `setting-${name}`;

/** How many changes wait to be applied. */
export const draftCount = () => drafts.size;

/** Make the rows of all settings; once, since no setting comes or goes while the page is open. */
export function makeSettings() {
  rows = new Map();
  fill(
    byId("settings"),
    inStages(state.settings).map(([stage, groups]) => {
      const [title, meaning] = words.stages[stage];
      return el(
        "section",
        { class: "stage", "data-stage": stage },
        el("h3", { id: `stage-${stage}`, tabIndex: -1 }, title),
        el("p", { class: "hint" }, meaning),
        groups.map(([group, settings]) =>
          el(
            "section",
            { class: "group" },
            el("h4", {}, group),
            settings.map((setting) => row(setting)),
          ),
        ),
      );
    }),
  );
  byId("filter").addEventListener("input", showFiltered);
  byId("only-changed").addEventListener("change", showFiltered);
  byId("apply").addEventListener("submit", apply);
  byId("discard").addEventListener("click", discard);
  byId("dismiss-result").addEventListener("click", () => {
    sayResult("");
    byId("filter").focus({ preventScroll: true });
  });
}

/** Take up what waits for the open timeline. */
export function takeUpDrafts() {
  const known = new Set(rows.keys());
  drafts = new Map(Object.entries(remembered(key(), {})).filter(([name]) => known.has(name)));
  refusals.clear();
  sayResult("");
}

function row(setting) {
  const id = place(setting.name);
  const helpId = `${id}-help`;
  const factsId = `${id}-facts`;
  const input = control(setting, id, [helpId, factsId], (raw) => put(setting, raw));
  const change = el("p", { class: "change", hidden: true });
  const node = el(
    "div",
    { class: "setting" },
    el("label", { for: id, class: "name" }, setting.name),
    el("p", { class: "help", id: helpId }, setting.help),
    el("div", { class: "value" }, input.node),
    el("p", { class: "hint facts-line", id: factsId }, facts(setting, range(setting))),
    change,
    input.problem,
  );
  rows.set(setting.name, { setting, node, input, change });
  return node;
}

/** What a person put into a control. */
function put(setting, raw) {
  refusals.delete(setting.name);
  const held = state.held.config[setting.name];
  if (read(setting, raw).value === held) drafts.delete(setting.name);
  else drafts.set(setting.name, raw);
  sayResult("");
  drafted();
  showRow(setting.name);
}

function drafted() {
  remember(key(), Object.fromEntries(drafts));
  showApply();
  showJumps();
  tuneActions.drafted();
}

/** Show every setting as it holds or waits. */
export function showSettings() {
  // What waits may hold by now, set from another page.
  for (const [name, raw] of drafts) {
    if (read(rows.get(name).setting, raw).value === state.held.config[name]) drafts.delete(name);
  }
  for (const name of rows.keys()) showRow(name);
  drafted();
  showFiltered();
}

const rawOf = (name) => (drafts.has(name) ? drafts.get(name) : state.held.config[name]);

function showRow(name) {
  const { setting, node, input, change } = rows.get(name);
  const raw = rawOf(name);
  const base = configOf(state.held.preset)[name];
  const { value, error } = read(setting, raw);
  input.put(raw);
  input.say(error ?? refusals.get(name));
  const changed = value !== base;
  node.classList.toggle("changed", changed);
  change.hidden = !changed && !drafts.has(name);
  if (change.hidden) return fill(change);
  const back = el(
    "button",
    { type: "button", "aria-label": words.backNamed(name, shown(base)) },
    words.backTo(shown(base)),
  );
  back.addEventListener("click", () => {
    put(setting, setting.type === "bool" || setting.type === "choice" ? base : String(base));
    input.input.focus();
  });
  fill(
    change,
    changed ? el("span", { class: "mark strong" }, words.changed) : null,
    drafts.has(name) ? el("span", { class: "mark" }, words.pending) : null,
    changed ? el("span", { class: "number" }, words.presetHas(state.held.preset, shown(base))) : null,
    changed ? back : null,
  );
}

// -- finding --------------------------------------------------------------------------------------------------------

function isChanged(name) {
  return drafts.has(name) || state.held.config[name] !== configOf(state.held.preset)[name];
}

function showFiltered() {
  const text = byId("filter").value.trim();
  const wanted = text.toLowerCase();
  const only = byId("only-changed").checked;
  let count = 0;
  for (const [name, { setting, node }] of rows) {
    const found = `${name} ${name.replaceAll("_", " ")} ${setting.help} ${setting.group}`
      .toLowerCase()
      .includes(wanted);
    node.hidden = !found || (only && !isChanged(name));
    if (!node.hidden) count += 1;
  }
  for (const node of byId("settings").querySelectorAll(".group, .stage")) {
    node.hidden = !node.querySelector(".setting:not([hidden])");
  }
  byId("filter-status").textContent = words.shown(count, rows.size);
  const all = el("button", { type: "button", onclick: showAll }, words.showAll);
  fill(byId("none-shown"), count ? null : [el("p", {}, words.noneShown(text)), all]);
}

function showAll() {
  byId("filter").value = "";
  byId("only-changed").checked = false;
  showFiltered();
  byId("filter").focus();
}

/** The ways to the stages, with how many settings are changed in each. */
function showJumps() {
  const focused = document.activeElement?.dataset?.jump;
  const buttons = Object.entries(words.stages).map(([stage, [title]]) => {
    const count = state.settings.filter(({ name, stage: at }) => at === stage && isChanged(name)).length;
    const jump = () => {
      const heading = byId(`stage-${stage}`);
      if (heading.closest(".stage").hidden) showAll();
      heading.scrollIntoView({ block: "start" });
      heading.focus({ preventScroll: true });
    };
    return el("button", { type: "button", "data-jump": stage, onclick: jump }, words.jump(title, count));
  });
  fill(byId("jumps"), buttons);
  if (focused) byId("jumps").querySelector(`[data-jump="${focused}"]`)?.focus();
}

// -- applying -------------------------------------------------------------------------------------------------------

function showApply() {
  byId("apply-buttons").hidden = !drafts.size;
  byId("apply-now").textContent = words.apply(drafts.size);
  byId("apply-note").textContent = drafts.size ? words.applyNote(sessionNumber()) : "";
  const told = byId("apply-result").textContent + byId("apply-error").textContent;
  byId("dismiss-result").hidden = !told || drafts.size > 0;
  byId("apply").hidden = !told && !drafts.size;
}

/** Say how applying went; `alarm` when it did not. */
export function sayResult(text, alarm = false) {
  byId("apply-result").textContent = alarm ? "" : text;
  byId("apply-error").textContent = alarm ? text : "";
  showApply();
}

async function apply(event) {
  event.preventDefault();
  const values = [...drafts].map(([name, raw]) => [name, read(rows.get(name).setting, raw)]);
  const wrong = values.filter(([, { error }]) => error).map(([name]) => name);
  if (wrong.length) return point(wrong[0], words.unusable(wrong.length));
  const changes = Object.fromEntries(values.map(([name, { value }]) => [name, value]));
  const sent = new Map(drafts);
  const timeline = state.timeline.id;
  byId("apply-now").disabled = true;
  try {
    const held = await api.changeConfig(timeline, { changes });
    if (state.timeline.id !== timeline) return;
    // What was put in while the changes were on their way goes on waiting.
    for (const [name, raw] of sent) if (drafts.get(name) === raw) drafts.delete(name);
    tuneActions.applied(held);
    sayResult(words.applied(sent.size, sessionNumber()));
    // The button that had the focus is gone.
    byId("apply-result").focus({ preventScroll: true });
  } catch (error) {
    if (state.timeline.id === timeline) refused(error);
  } finally {
    byId("apply-now").disabled = false;
  }
}

/** The server refused, so nothing was changed: said at the field it is about, else beside the buttons. */
function refused(error) {
  const name = error.kind === "input" ? refusedSetting(state.settings, error.message) : null;
  if (!name) return sayResult(words.refused(error.message), true);
  refusals.set(name, error.message);
  showRow(name);
  point(name, words.refused(error.message));
}

function point(name, text) {
  if (rows.get(name).node.hidden) showAll();
  sayResult(text, true);
  const { input } = rows.get(name).input;
  input.focus({ preventScroll: true });
  input.scrollIntoView({ block: "center" });
}

function discard() {
  const count = drafts.size;
  drafts.clear();
  refusals.clear();
  showSettings();
  sayResult(words.discarded(count));
  byId("apply-result").focus({ preventScroll: true });
}
