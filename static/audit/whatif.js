// What if: recorded turns under other settings. Which evidence would have been lost, gained or moved.

import { api } from "../api.js";
import { el, fill } from "../dom.js";
import { control, facts as settingFacts } from "../panel/control.js";
import { inStages, range, read, shown } from "../panel/values.js";
import { words as panelWords } from "../panel/strings.js";
import { choice, facts, memoryLinks, plot, share, table, timelineName, timelinesChoice, turnWays } from "./parts.js";
import { runPart, soon } from "./run.js";
import { page } from "./state.js";
import { words } from "./strings.js";

/** What is changed, as it was put in; kept while the page is open. */
let changes = {};
let preset = "";
let model = "";

/** How many turns are listed at once. */
const LISTED = 100;

/** Show the form, and the last question that was asked. */
export async function whatifSection(section) {
  const { signal } = page;
  const [{ runs }, { presets, settings }, { models }] = await Promise.all([api.auditLedgers(), api.presets(), api.models()]);
  if (signal.aborted) return;
  const outcome = el("div", { class: "outcome" }, el("p", { class: "empty" }, words.nothingAsked));
  const error = el("p", { class: "alarm", role: "alert" });
  const start = el("button", { class: "primary" }, words.ask);
  const which = timelinesChoice("which");
  const titles = presets.map(({ name }) => [name, panelWords.titles[name] ?? name]);
  const presetChoice = choice(words.preset, "preset", [["", words.recordedConfig], ...titles], preset, (chosen) => {
    preset = chosen;
  });
  const names = [["", words.noModel], ...models.map(({ name }) => [name, name])];
  const modelChoice = choice(words.alsoModel, "model", names, model, (name) => {
    model = name;
  });
  const chosen = el("div", { class: "chosen-settings" });
  const asked = el("p", { class: "hint" });
  let found = [];
  let errors = [];
  let whole = null;
  const draw = () => fill(outcome, results(found, whole, errors));
  const later = soon(draw);
  const run = runPart("counterfactual", {
    controls: () => [start],
    begun: () => {
      [found, errors, whole] = [[], [], null];
      fill(outcome);
    },
    happened: (name, data) => {
      if (name === "shift") found.push(data);
      if (name === "timeline") errors.push(data);
      if (name === "summary") whole = data;
      later();
    },
    ended: later.now,
  });

  function tellAsked(given) {
    const list = Object.entries(given.changes ?? {}).map(([name, value]) => `${name} = ${shown(value)}`);
    if (given.model) list.push(words.askedModel(given.model));
    asked.textContent = words.asked(given.preset && (panelWords.titles[given.preset] ?? given.preset), list);
  }

  function drawSettings() {
    fill(chosen, Object.keys(changes).map(changed), adder());
  }

  function changed(name) {
    const setting = settings.find((item) => item.name === name);
    const id = `what-${name}`;
    const input = control(setting, id, [`${id}-help`], (raw) => {
      changes[name] = raw;
      input.say(read(setting, raw).error);
    });
    input.put(changes[name]);
    input.say(read(setting, changes[name]).error);
    const remove = () => {
      delete changes[name];
      drawSettings();
      chosen.querySelector("#what-add").focus();
    };
    return el(
      "div",
      { class: "setting" },
      el("label", { for: id, class: "name" }, name),
      el("div", { class: "value" }, input.node),
      el("button", { type: "button", "aria-label": words.removeNamed(name), onclick: remove }, words.remove),
      el("p", { class: "hint help", id: `${id}-help` }, `${setting.help} (${settingFacts(setting, range(setting))})`),
      input.problem,
    );
  }

  function adder() {
    const groups = inStages(settings).flatMap(([stage, inStage]) =>
      inStage.map(([group, members]) => {
        const free = members.filter(({ name }) => !(name in changes));
        const label = `${panelWords.stages[stage][0]}: ${group}`;
        return el("optgroup", { label }, free.map(({ name }) => el("option", { value: name }, name)));
      }),
    );
    const select = el("select", { id: "what-add" }, el("option", { value: "" }, words.chooseSetting), groups);
    select.addEventListener("change", () => {
      const setting = settings.find(({ name }) => name === select.value);
      if (!setting) return;
      // A switch is taken to be turned over; anything else begins at what it is by default.
      changes[setting.name] = setting.type === "bool" ? !setting.default : String(setting.default);
      drawSettings();
      chosen.querySelector(`#what-${setting.name}`).focus();
    });
    return el("label", { class: "stacked" }, words.addSetting, select);
  }

  const form = el(
    "form",
    { class: "asking-form" },
    el("div", { class: "row wrap asking" }, which, presetChoice, modelChoice),
    chosen,
    error,
    el("div", { class: "row" }, start),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (start.disabled) return;
    const values = Object.entries(changes).map(([name, raw]) => [name, read(settings.find((item) => item.name === name), raw)]);
    const wrong = values.find(([, { error: problem }]) => problem);
    error.textContent = wrong ? words.unusable : preset || model || values.length ? "" : words.nothingChanged;
    if (wrong) return chosen.querySelector(`#what-${wrong[0]}`).focus();
    if (error.textContent) return presetChoice.querySelector("select").focus();
    const all = which.querySelector("select").value === "all";
    const given = { timelines: all ? [] : [page.timeline.id], changes: Object.fromEntries(values.map(([name, { value }]) => [name, value])) };
    if (preset) given.preset = preset;
    if (model) given.model = model;
    tellAsked(given);
    run.begin(given);
  });
  drawSettings();
  fill(section, el("p", { class: "hint" }, words.whatifHelp), form, run.node, asked, outcome);
  if (runs.counterfactual) {
    tellAsked(runs.counterfactual.asked);
    run.follow();
  }
}

// -- what came out ----------------------------------------------------------------------------------------------------

function results(found, whole, errors) {
  return [
    whole ? [el("h2", {}, words.totals), totals(whole)] : null,
    whole && whole.turns > whole.skipped ? changesPlot(whole) : null,
    errors.map(({ timeline, error }) => el("p", { class: "warning" }, words.brokeOff(timelineName(timeline), error))),
    whole && !found.length ? el("p", { class: "empty" }, words.noneChange) : null,
    found.length ? [el("h2", {}, words.changedTurns), shiftTable(found)] : null,
    whole?.untold || found.length > LISTED
      ? el("p", { class: "hint" }, words.untold((whole?.untold ?? 0) + Math.max(found.length - LISTED, 0)))
      : null,
  ];
}

function totals(whole) {
  const done = whole.turns - whole.skipped;
  const overlap = Object.entries(whole.overlap).map(([cut, value]) => [words.overlapAt(cut), done ? shareInWords(value) : null]);
  return facts([
    [words.totalRows.changed, done ? share(whole.changed / done, words.ofTurns(whole.changed, done)) : words.none],
    [words.totalRows.lost, words.number(whole.lost)],
    [words.totalRows.gained, words.number(whole.gained)],
    [words.totalRows.moved, words.number(whole.moved)],
    ...overlap,
    [words.totalRows.correlation, rho(whole.correlation)],
    [words.totalRows.tokens, words.fromTo(words.number(Math.round(whole.tokens_before)), words.number(Math.round(whole.tokens_after)))],
    [words.totalRows.skipped, whole.skipped ? words.number(whole.skipped) : null],
  ]);
}

// The picture is of the last run: another address for each, and drawn once for it.
const picture = { run: 0, of: null, node: null };

function changesPlot(whole) {
  if (picture.of !== whole) {
    picture.run += 1;
    const node = plot("counterfactual", { run: picture.run }, words.changesPlot, words.changesPlotText(whole));
    Object.assign(picture, { of: whole, node });
  }
  return picture.node;
}

const shareInWords = (value) =>
  el("span", {}, share(value), el("span", { class: "hint" }, words.shareWords(value)));

function rho(value) {
  const figure = value === null ? words.none : value.toFixed(2);
  return el("span", {}, el("span", { class: "number" }, figure), " ", el("span", { class: "hint" }, words.rhoWords(value)));
}

function shiftTable(found) {
  const rows = found.slice(0, LISTED).map((shift) => ({
    turn: el("span", {}, timelineName(shift.timeline), ", ", turnWays(shift.timeline, shift.event, shift.round)),
    message: el("div", {}, el("p", { class: "words clipped" }, shift.message), which(shift), replies(shift)),
    ...(shift.skipped
      ? { lost: el("span", { class: "hint" }, words.skippedBecause(shift.skipped)) }
      : {
          lost: words.number(shift.lost.length),
          gained: words.number(shift.gained.length),
          moved: words.number(shift.moved.length),
          overlap: share(shift.overlap["5"]),
          rho: shift.correlation === null ? words.none : shift.correlation.toFixed(2),
        }),
  }));
  return table(words.changedTurns, Object.entries(words.shiftHeads), rows, ["lost", "gained", "moved", "rho"]);
}

/** Which memories were lost and gained, each with the way to it. */
function which(shift) {
  if (!shift.lost.length && !shift.gained.length) return null;
  const items = [
    ...shift.lost.map((memory) => ["−", words.lostMemory, memory]),
    ...shift.gained.map((memory) => ["+", words.gainedMemory, memory]),
  ];
  return el(
    "details",
    { class: "which" },
    el("summary", { class: "hint" }, words.memoriesOf(shift.lost.length, shift.gained.length)),
    el(
      "ul",
      { class: "plain" },
      items.map(([sign, word, memory]) =>
        el("li", {}, `${sign} ${word} `, memoryLinks(shift.timeline, memory)),
      ),
    ),
  );
}

/** Both replies, where another model answered too. */
function replies({ reply_before: before, reply_after: after }) {
  if (typeof after !== "string") return null;
  const side = (name, text) => el("div", { class: "reply-side" }, el("h3", {}, name), el("p", { class: "words", dir: "auto" }, text));
  return el(
    "details",
    { class: "which" },
    el("summary", { class: "hint" }, words.bothReplies),
    el("div", { class: "sides" }, side(words.recordedReply, before ?? words.erased), side(words.newReply, after)),
  );
}
