// Statistics: how models behaved, by model and stage, each number with what it means.

import { api, files } from "../api.js";
import { bar, el, fill } from "../dom.js";
import { go, place } from "./address.js";
import { button, choice, plot, room, share, table, timelineName, timelinesChoice } from "./parts.js";
import { page } from "./state.js";
import { words } from "./strings.js";

/** Show the statistics of the open timeline or all. */
export async function statisticsSection(section) {
  const { signal } = page;
  const { stage, of } = place();
  const chosen = stage || "session";
  const stages = { session: words.stages.session, ...words.stages };
  if (!stages[chosen]) stages[chosen] = words.otherStage(chosen);
  const query = { stage: chosen, timeline: of === "all" ? "" : page.timeline.id };
  const [found, { sessions }] = await Promise.all([
    api.auditStatistics(query),
    api.timeline(page.timeline.id, undefined, 1),
  ]);
  if (signal.aborted) return;
  // Whole numbers come first in an object, and sessions are what one looks for.
  const order = ["session", "all", ...Object.keys(stages).filter((name) => !["session", "all"].includes(name))];
  fill(
    section,
    el("p", { class: "hint" }, words.statisticsHelp),
    el(
      "div",
      { class: "row wrap asking" },
      timelinesChoice("which", of, (value) => go({ of: value }, true)),
      choice(words.stage, "stage", order.map((name) => [name, stages[name]]), chosen, (value) => go({ stage: value }, true)),
    ),
    found.damaged.map(({ name, message }) => el("p", { class: "warning" }, words.damagedStatistics(name, message))),
    found.rows.length ? tables(found.rows.map((row) => ({ ...row, stage: stageName(row.stage, sessions) }))) : el("p", { class: "empty" }, words.noStatistics),
    found.rows.length ? figures(found.rows, query) : null,
    found.adherence.length ? adherence(found, query) : null,
    found.erased ? el("p", { class: "hint" }, words.notCounted(found.erased)) : null,
    found.other_imports ? el("p", { class: "hint" }, words.otherImports(found.other_imports)) : null,
  );
}

const said = (value) => (value === null || value === undefined ? words.none : words.number(value));
const sum = (counts) => Object.values(counts).reduce((total, count) => total + count, 0);

/** A stage for a person: sessions have numbers, and timelines names. */
function stageName(stage, sessions) {
  const session = sessions.find(({ id }) => stage.endsWith(id));
  const named = session ? stage.replace(session.id, words.session(session.number)) : stage;
  return named.replace(/^t-[0-9a-f]{12}/, (id) => `${timelineName(id)},`);
}

/** How many rows the server draws. */
const DRAWN = 40;
/** Rows of a table at a time. */
const PAGE = 50;

function figures(rows, query) {
  const captions = Object.entries(words.statisticsPlots);
  return el(
    "section",
    {},
    el("h2", {}, words.plots),
    el("p", { class: "hint" }, words.plotRows(Math.min(rows.length, DRAWN), rows.length)),
    captions.map(([of, caption]) => plot("statistics", { ...query, of }, caption, words.statisticsPlotText(caption, rows.length))),
    el(
      "p",
      { class: "ways" },
      el("a", { href: files.statistics(query), download: "" }, words.saveTable),
      el("a", { href: files.statistics({ ...query, published: 1 }), download: "" }, words.savePublished),
    ),
  );
}

/** Standing instructions kept along the rounds: the picture, and its numbers by round, newest first. */
function adherence(found, query) {
  const { adherence: curves, adherence_curves: count } = found;
  const many = curves.some(({ timeline }) => timeline);
  const heads = Object.entries(words.adherenceHeads).filter(([name]) => many || name !== "timeline");
  const points = curves.flatMap(({ model, timeline, points: own }) => own.map((point) => ({ ...point, model, timeline })));
  points.sort((one, other) => other.round - one.round);
  const cells = (point) => ({
    round: words.number(point.round),
    model: point.model,
    timeline: timelineName(point.timeline),
    kept: words.keptOf(point.kept, point.checked),
    share: share(point.share),
  });
  const whole = room(words.adherenceTitle, heads, []);
  const body = whole.querySelector("tbody");
  const more = button(words.more, put, { class: "older" });
  let at = 0;
  function put() {
    const some = table(words.adherenceTitle, heads, points.slice(at, at + PAGE).map(cells));
    body.append(...some.querySelector("tbody").children);
    at += PAGE;
    more.hidden = at >= points.length;
  }
  put();
  return el(
    "section",
    { class: "adherence-curves" },
    el("h2", {}, words.adherenceTitle),
    count > curves.length ? el("p", { class: "hint" }, words.adherenceFirst(curves.length, count)) : null,
    plot("statistics", { ...query, of: "adherence" }, words.adherencePlot, words.adherencePlotText(points.length, points[0])),
    whole,
    more,
  );
}

function tables(rows) {
  return [behaviour(rows), needs(rows), violations(rows)];
}

function behaviour(rows) {
  const longest = Math.max(...rows.map((row) => row.analysis_mean ?? 0), 1);
  const figures = Object.keys(words.statisticsHeads).filter((name) => !["stage", "model", "analysis_mean", "admission_rate", "adherence_rate"].includes(name));
  const cells = rows.map((row) => ({
    ...Object.fromEntries(Object.keys(words.statisticsHeads).map((name) => [name, said(row[name])])),
    stage: row.stage,
    model: row.model,
    rounds: words.rounds(row.first_round, row.last_round),
    analysis_mean: row.analysis_mean === null ? words.none : measure(row.analysis_mean, longest),
    analysis_median: row.analysis_median === null ? words.none : words.number(Math.round(row.analysis_median)),
    repaired: words.repairs(sum(row.repairs_fixed), sum(row.repairs_tried)),
    admission_rate: row.admission_rate === null ? words.none : share(row.admission_rate),
    adherence_rate: row.adherence_rate === null ? words.none : share(row.adherence_rate),
  }));
  return room(words.statisticsCaption, Object.entries(words.statisticsHeads), cells, figures);
}

const measure = (value, longest) =>
  el("span", { class: "share" }, el("span", { class: "number" }, words.number(Math.round(value))), bar(value / longest));

/** One column for each kind, a share of the replies in each. */
function needs(rows) {
  const known = rows.filter((row) => row.needs);
  if (!known.length) return null;
  const heads = [["stage", words.statisticsHeads.stage], ...Object.entries(words.needs)];
  const cells = known.map((row) => ({
    stage: words.stageModel(row),
    ...Object.fromEntries(Object.entries(row.needs).map(([name, count]) => [name, share(count / Math.max(sum(row.needs), 1), words.number(count))])),
  }));
  return el("section", {}, el("h2", {}, words.needsTitle), table(words.needsTitle, heads, cells));
}

function violations(rows) {
  const known = rows.filter((row) => row.violations);
  const kinds = [...new Set(known.flatMap((row) => Object.keys(row.violations).filter((kind) => row.violations[kind])))];
  const head = el("h2", {}, words.violationsTitle);
  if (!known.length) return null;
  if (!kinds.length) return el("section", {}, head, el("p", { class: "empty" }, words.noViolations));
  const heads = [["stage", words.statisticsHeads.stage], ...kinds.map((kind) => [kind, kind.replaceAll("_", " ")])];
  const cells = known.map((row) => ({
    stage: words.stageModel(row),
    ...Object.fromEntries(kinds.map((kind) => [kind, share(row.violations[kind] / Math.max(row.replies, 1), words.number(row.violations[kind]))])),
  }));
  return el("section", {}, head, room(words.violationsTitle, heads, cells));
}
