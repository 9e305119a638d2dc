// The tab "Analysis": what the model said of its evidence, what broke the protocol, what was done, and the times.

import { adherencePart } from "./adherence.js";
import { el, fill, notice } from "./dom.js";
import { duration, inOrder } from "./format.js";
import { recordOf } from "./records.js";
import { strings } from "./strings.js";

/** The analysis of a turn. */
export function analysisTab(view) {
  const { body } = view.record;
  if (!body) return el("p", { class: "empty" }, strings.erased);
  return [
    body.error ? errorPart(body) : analysisPart(body.analysis),
    body.violations ? violationsPart(body.violations) : null,
    body.repairs?.length ? repairsPart(body.repairs) : null,
    body.adherence?.length ? adherencePart(body.adherence, view.instructions) : null,
    body.admission ? admissionPart(body.admission) : null,
    timingsPart(body.timings),
    body.attempts.length ? attemptsPart(body.attempts) : null,
  ];
}

/** What was wrong with what the model wrote, each fault once, repaired since or not. */
function faultsOf({ attempts, violations }) {
  const all = [...attempts.flatMap((attempt) => attempt.violations ?? []), ...violations];
  const faults = new Map(all.map((item) => [`${item.kind} ${item.detail}`, item]));
  return faults.size ? violationsList([...faults.values()]) : null;
}

/** The analysis under a reply, in a fold that loads it when it is opened. */
export function analysisFold(turn) {
  const inside = el("div", { class: "analysis" });
  const words = turn.need ? strings.analysisNeed(strings.needs[turn.need] ?? turn.need) : strings.tabs.analysis;
  const fold = el("details", { class: "fold" }, el("summary", {}, words), inside);
  fold.addEventListener("toggle", async () => {
    if (!fold.open || inside.childElementCount) return;
    try {
      const { body } = (await recordOf(turn.id)).record;
      if (!body) fill(inside, el("p", { class: "hint" }, strings.erased));
      else
        fill(
          inside,
          analysisFacts(body.analysis),
          faultsOf(body),
          body.repairs.length ? repairsList(body.repairs) : null,
        );
    } catch (error) {
      fold.open = false;
      notice(error.message, strings.dismiss);
    }
  });
  return fold;
}

const section = (title, ...children) => el("section", {}, el("h3", {}, title), children);

function facts(pairs) {
  return el(
    "dl",
    { class: "facts" },
    pairs.map(([name, value]) => [el("dt", {}, name), el("dd", { dir: "auto" }, value)]),
  );
}

function errorPart(body) {
  return section(
    strings.error,
    el("p", {}, `${body.error.text} (${body.error.kind})`),
    el("p", { class: "hint" }, strings.failedSafe),
    body.partial ? [el("h4", {}, strings.partial), el("p", { class: "words", dir: "auto" }, body.partial)] : null,
  );
}

function analysisPart(analysis) {
  if (!hasAnalysis(analysis)) return section(strings.tabs.analysis, analysisFacts(analysis));
  return section(
    strings.tabs.analysis,
    analysisFacts(analysis),
    el("details", {}, el("summary", {}, strings.analysisText), el("pre", { dir: "auto" }, analysis.text ?? "")),
  );
}

const hasAnalysis = (analysis) => Boolean(analysis && (analysis.text || analysis.need || analysis.cited.length));

/** What the model said of its evidence, as pairs. */
function analysisFacts(analysis) {
  if (!hasAnalysis(analysis)) return el("p", { class: "hint" }, strings.noAnalysis);
  const unknown = new Set(analysis.unknown ?? []);
  const cited = [...new Set([...analysis.cited, ...unknown])];
  const labels = cited.map((label) => (unknown.has(label) ? `${label} (${strings.unknown})` : label));
  return facts([
    [strings.need, strings.needs[analysis.need] ?? analysis.need ?? "–"],
    [strings.labels, labels.join(", ") || strings.none],
    [strings.check, analysis.check ?? "–"],
  ]);
}

function violationsPart(violations) {
  if (!violations.length) return section(strings.violations, el("p", { class: "hint" }, strings.noViolations));
  return section(strings.violations, violationsList(violations));
}

function violationsList(violations) {
  const items = violations.map((item) =>
    el(
      "li",
      {},
      el("span", { class: "mark", title: item.kind }, strings.violationKinds[item.kind] ?? item.kind),
      " ",
      item.detail,
    ),
  );
  return el("ul", { class: "plain" }, items);
}

const repairsPart = (repairs) => section(strings.repairs, repairsList(repairs));

function repairsList(repairs) {
  const items = repairs.map((item) => {
    const words = `${strings.rungs[item.rung] ?? item.rung}: ${item.steps.join(", ")}`;
    return el("li", {}, words, " ", el("span", { class: "mark" }, item.fixed ? strings.fixed : strings.notFixed));
  });
  return el("ol", { class: "repairs" }, items);
}

function admissionPart(admission) {
  const words = admission.admitted ? strings.admitted(admission.reason) : strings.notAdmitted(admission.reason);
  return section(strings.admission, el("p", {}, words));
}

function timingsPart(timings) {
  const rows = inOrder(timings).map(([name, seconds]) => [strings.stages[name] ?? name, seconds]);
  rows.push([strings.total, Object.values(timings).reduce((sum, value) => sum + value, 0)]);
  const cells = rows.map(([name, seconds]) =>
    el("tr", {}, el("th", { scope: "row" }, name), el("td", { class: "figure" }, duration(seconds))),
  );
  return section(strings.timings, el("table", { class: "timings" }, el("tbody", {}, cells)));
}

function attemptsPart(attempts) {
  const items = attempts.map((item) =>
    el(
      "details",
      {},
      el("summary", {}, strings.attempt(item.purpose, item.finish, duration(item.seconds))),
      el("pre", { dir: "auto" }, item.raw),
    ),
  );
  return section(strings.attempts, items);
}
