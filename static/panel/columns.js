// The columns of a comparison, as a person sets them: preset, model, changed settings. Kept over a reload.

import { byId, el, fill } from "../dom.js";
import { control, facts } from "./control.js";
import { configOf, remember, remembered, state } from "./state.js";
import { words } from "./strings.js";
import { inStages, range, read } from "./values.js";

const KEY = "panel.compare";
const FEWEST = 2;
const MOST = 4;
/** Which preset a further column begins with. */
const FURTHER = [null, "G", "B", "C"];

/** Each column: {preset, model, changes}; null means as the session is. `changes` are as put in. */
let columns = [];

/** Make the form work, with what this tab remembers. */
export function startColumns() {
  const kept = remembered(KEY, {});
  columns = usable(kept.columns);
  byId("question").value = typeof kept.message === "string" ? kept.message : "";
  byId("question").addEventListener("input", keep);
  byId("add-column").addEventListener("click", () => {
    columns.push({ preset: FURTHER[columns.length] ?? null, model: null, changes: {} });
    redraw();
    byId(`column-${columns.length - 1}-preset`).focus();
  });
  showColumns();
}

/** Remembered columns without what has gone meanwhile; two of them when nothing is remembered. */
function usable(kept) {
  const named = (list, name) => (list.some((item) => item.name === name) ? name : null);
  const known = (changes) => Object.entries(changes ?? {}).filter(([name]) => named(state.settings, name));
  const columns = (Array.isArray(kept) ? kept : []).slice(0, MOST).map((column) => ({
    preset: named(state.presets, column?.preset),
    model: named(state.models, column?.model),
    changes: Object.fromEntries(known(column?.changes)),
  }));
  while (columns.length < FEWEST) columns.push({ preset: FURTHER[columns.length], model: null, changes: {} });
  return columns;
}

function keep() {
  remember(KEY, { message: byId("question").value, columns });
}

function redraw() {
  keep();
  showColumns();
}

/** Draw every column. */
export function showColumns() {
  fill(byId("columns"), columns.map(columnFields));
  byId("columns").dataset.count = columns.length;
  byId("add-column").hidden = columns.length >= MOST;
}

function columnFields(column, index) {
  const id = `column-${index}`;
  return el(
    "fieldset",
    { class: "column-setup", id },
    el("legend", {}, words.column(index + 1)),
    chooser(`${id}-preset`, words.preset, column.preset, presetChoices(), (value) => {
      column.preset = value;
      redraw();
      byId(`${id}-preset`).focus();
    }),
    state.models.length > 1
      ? chooser(`${id}-model`, words.model, column.model, modelChoices(), (value) => {
          column.model = value;
          keep();
        })
      : null,
    Object.keys(column.changes).map((name) => changedSetting(column, name, id)),
    settingChooser(column, id),
    columns.length > FEWEST ? remover(index) : null,
  );
}

function chooser(id, label, chosen, choices, onchange) {
  const options = choices.map(([value, text]) =>
    el("option", { value: value ?? "", selected: value === chosen }, text),
  );
  const select = el("select", { id, onchange: () => onchange(select.value || null) }, options);
  return el("label", { class: "stacked" }, label, select);
}

function presetChoices() {
  const count = Object.keys(state.held?.differences ?? {}).length;
  const own = state.held ? words.asSessionNamed(state.held.preset, count) : words.asSession;
  return [[null, own], ...state.presets.map(({ name }) => [name, words.titles[name] ?? name])];
}

function modelChoices() {
  const own = words.asSessionModel(state.sessions.at(-1)?.model ?? "");
  return [[null, own], ...state.models.map(({ name }) => [name, name])];
}

const baseOf = (column) => (column.preset ? configOf(column.preset) : (state.held?.config ?? configOf("default")));

function changedSetting(column, name, columnId) {
  const setting = state.settings.find((item) => item.name === name);
  const id = `${columnId}-${name}`;
  const helpId = `${id}-help`;
  const input = control(setting, id, [helpId], (raw) => {
    column.changes[name] = raw;
    keep();
    input.say(read(setting, raw).error);
  });
  input.put(column.changes[name]);
  input.say(read(setting, column.changes[name]).error);
  const remove = () => {
    delete column.changes[name];
    redraw();
    byId(`${columnId}-add`).focus();
  };
  return el(
    "div",
    { class: "setting changed" },
    el("label", { for: id, class: "name" }, name),
    el("div", { class: "value" }, input.node),
    el("p", { class: "hint help", id: helpId }, `${setting.help} (${facts(setting, range(setting))})`),
    el(
      "button",
      { type: "button", class: "remove", "aria-label": words.removeSetting(name), onclick: remove },
      words.remove,
    ),
    input.problem,
  );
}

/** The list out of which a setting is taken to change it in this column. */
function settingChooser(column, columnId) {
  const id = `${columnId}-add`;
  const groups = inStages(state.settings).flatMap(([stage, groups]) =>
    groups.map(([group, settings]) => {
      const free = settings.filter(({ name }) => !(name in column.changes));
      const label = `${words.stages[stage][0]}: ${group}`;
      return free.length
        ? el(
            "optgroup",
            { label },
            free.map(({ name }) => el("option", { value: name }, name)),
          )
        : null;
    }),
  );
  const select = el("select", { id }, el("option", { value: "" }, words.chooseSetting), groups);
  select.addEventListener("change", () => {
    const setting = state.settings.find(({ name }) => name === select.value);
    if (!setting) return;
    const base = baseOf(column)[setting.name];
    // A switch is taken to be turned over; anything else begins at what it would be.
    column.changes[setting.name] = setting.type === "bool" ? !base : setting.type === "choice" ? base : String(base);
    redraw();
    byId(`${columnId}-${setting.name}`).focus();
  });
  return el("label", { class: "stacked" }, words.addSetting, select);
}

function remover(index) {
  const remove = () => {
    columns.splice(index, 1);
    redraw();
    byId("add-column").focus();
  };
  return el("button", { type: "button", onclick: remove }, words.removeColumn(index + 1));
}

/** What is to be compared: {asked: [as the API takes it]}, or {wrong: the control to mend first, count}. */
export function askedColumns() {
  const wrong = [];
  const asked = columns.map((column, index) => {
    const given = {};
    if (column.preset) given.preset = column.preset;
    if (column.model) given.model = column.model;
    const changes = Object.entries(column.changes).map(([name, raw]) => {
      const setting = state.settings.find((item) => item.name === name);
      const { value, error } = read(setting, raw);
      if (error) wrong.push(byId(`column-${index}-${name}`));
      return [name, value];
    });
    if (changes.length) given.changes = Object.fromEntries(changes);
    return given;
  });
  return wrong.length ? { wrong: wrong[0], count: wrong.length } : { asked };
}

/** What a column is called in the results: its preset, in words. */
export function columnTitle(index) {
  const { preset } = columns[index];
  return preset ? (words.titles[preset] ?? preset) : words.asSession;
}
