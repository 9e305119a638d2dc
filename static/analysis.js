// The tab "Analysis": what the model said of its evidence, what broke the protocol, what was done, and the time it took.

import { el } from "./dom.js";
import { duration, inOrder } from "./format.js";
import { strings } from "./strings.js";

/** The analysis of a turn. */
export function analysisTab(view) {
  const { body } = view.record;
  if (!body) return el("p", { class: "empty" }, strings.erased);
  return [
    body.error ? errorPart(body) : analysisPart(body.analysis),
    body.violations ? violationsPart(body.violations) : null,
    body.repairs?.length ? repairsPart(body.repairs) : null,
    body.admission ? admissionPart(body.admission) : null,
    timingsPart(body.timings),
    body.attempts.length ? attemptsPart(body.attempts) : null,
  ];
}

const section = (title, ...children) => el("section", {}, el("h3", {}, title), children);

function facts(pairs) {
  return el("dl", { class: "facts" }, pairs.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

function errorPart(body) {
  return section(
    strings.error,
    el("p", {}, `${body.error.text} (${body.error.kind})`),
    el("p", { class: "hint" }, strings.failedSafe),
    body.partial ? [el("h4", {}, strings.partial), el("p", { class: "words" }, body.partial)] : null,
  );
}

function analysisPart(analysis) {
  if (!analysis || !(analysis.text || analysis.need || analysis.cited.length)) {
    return section(strings.tabs.analysis, el("p", { class: "hint" }, strings.noAnalysis));
  }
  return section(
    strings.tabs.analysis,
    facts([
      [strings.need, analysis.need ?? "–"],
      [strings.labels, analysis.cited.join(", ") || strings.none],
      [strings.check, analysis.check ?? "–"],
    ]),
    el("details", {}, el("summary", {}, strings.analysisText), el("pre", {}, analysis.text ?? "")),
  );
}

function violationsPart(violations) {
  if (!violations.length) return section(strings.violations, el("p", { class: "hint" }, strings.noViolations));
  const items = violations.map((item) => el("li", {}, el("span", { class: "mark" }, item.kind), " ", item.detail));
  return section(strings.violations, el("ul", { class: "plain" }, items));
}

function repairsPart(repairs) {
  const items = repairs.map((item) => {
    const words = `${strings.rungs[item.rung] ?? item.rung}: ${item.steps.join(", ")}`;
    return el("li", {}, words, " ", el("span", { class: "mark" }, item.fixed ? strings.fixed : strings.notFixed));
  });
  return section(strings.repairs, el("ol", {}, items));
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
      el("pre", {}, item.raw),
    ),
  );
  return section(strings.attempts, items);
}
