// Replay: recorded turns done again, and what differs from their records, by place and by turn.

import { api } from "../api.js";
import { el, fill } from "../dom.js";
import { answeredAgain, byPlace, byTurn, reasons } from "./differences.js";
import { button, choice, table, tell, timelineName, timelinesChoice } from "./parts.js";
import { runPart, soon } from "./run.js";
import { page } from "./state.js";
import { words } from "./strings.js";

/** Show the replay of the open timeline or all, and the last one that ran. */
export async function replaySection(section) {
  const { signal } = page;
  const [{ runs }, { models }] = await Promise.all([api.auditLedgers(), api.models()]);
  if (signal.aborted) return;
  const outcome = el("div", { class: "outcome" }, el("p", { class: "empty" }, words.nothingRun));
  const start = el("button", { class: "primary" }, words.replay);
  const depths = choice(words.depth, "depth", Object.entries(words.depths), runs.replay?.asked.depth ?? "retrieval", showModel);
  const names = [["", words.recordedModel], ...models.map(({ name }) => [name, name])];
  const model = choice(words.model, "model", names, runs.replay?.asked.model ?? "");
  const slow = el("p", { class: "hint" }, words.generationHelp);
  const which = timelinesChoice("which");
  let timelines = [];
  let turns = [];
  const draw = () => fill(outcome, results(timelines, turns));
  const later = soon(draw);
  const run = runPart("replay", {
    controls: () => [start],
    begun: () => {
      [timelines, turns] = [[], []];
      fill(outcome);
    },
    happened: (name, data) => {
      if (name === "timeline") timelines.push(data);
      if (name === "turn") turns.push(data);
      later();
    },
    ended: (how) => {
      // Not once more after that: who has opened a turn meanwhile would see it close.
      later.now();
      if (how === "done") tell(verdict(timelines));
    },
  });
  const depth = () => depths.querySelector("select").value;
  /** Only at the depth of generation does a model answer. */
  function showModel() {
    model.hidden = slow.hidden = depth() !== "generation";
  }
  const form = el("form", { class: "row wrap asking" }, which, depths, model, start);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (start.disabled) return;
    const all = which.querySelector("select").value === "all";
    const given = { timelines: all ? [] : [page.timeline.id], depth: depth() };
    const chosen = model.querySelector("select").value;
    run.begin(chosen && given.depth === "generation" ? { ...given, model: chosen } : given);
  });
  showModel();
  fill(section, el("p", { class: "hint" }, words.replayHelp), form, slow, run.node, outcome);
  if (runs.replay) run.follow();
}

const sum = (rows, name) => rows.reduce((total, row) => total + row[name], 0);

function verdict(timelines) {
  const [count, different] = [sum(timelines, "turns"), sum(timelines, "different")];
  if (different) return words.someDiffer(different, count);
  // What could not be done is said by itself.
  const same = sum(timelines, "same");
  if (!same) return words.noneDone;
  return timelines.some(({ error }) => error) ? words.sameUntil(same) : words.allSame(same);
}

function results(timelines, turns) {
  if (!timelines.length && !turns.length) return [];
  const skipped = sum(timelines, "skipped");
  const differing = turns.filter(({ disagreements }) => disagreements.length);
  const again = turns.filter(({ reply }) => typeof reply === "string");
  const rows = timelines.map((row) => ({
    timeline: timelineName(row.timeline),
    turns: words.number(row.turns),
    same: words.number(row.same),
    different: row.different ? el("strong", {}, words.number(row.different)) : "0",
    skipped: words.number(row.skipped),
    speed: row.seconds ? words.number(Math.round(row.turns / row.seconds)) : words.none,
  }));
  return [
    el("h2", {}, words.replayTitle),
    timelines.length ? el("p", { class: "verdict" }, verdict(timelines)) : null,
    skipped ? el("p", {}, words.notDone(skipped)) : null,
    timelines
      .filter(({ error }) => error)
      .map(({ timeline, error }) => el("p", { class: "warning" }, words.brokeOff(timelineName(timeline), error))),
    rows.length
      ? table(words.replayTitle, Object.entries(words.replayHeads), rows, ["turns", "same", "different", "skipped", "speed"])
      : null,
    differing.length ? [el("h3", {}, words.byPlace), byPlace(differing), el("h3", {}, words.byTurn), byTurn(differing)] : null,
    again.length ? [el("h3", {}, words.answeredAgain(again.length)), el("p", { class: "hint" }, words.answeredHelp), answeredAgain(again)] : null,
    reasons(turns),
  ];
}
