// The tab "Evidence": the memories as the model read them, in prompt order.

import { bar, el } from "./dom.js";
import { score } from "./format.js";
import { strings } from "./strings.js";

/** The evidence of a turn; the item labelled `label` is pointed at. */
export function evidenceTab(view, label) {
  const { body } = view.record;
  if (!body?.evidence) return el("p", { class: "empty" }, strings.noEvidenceFailed);
  if (!body.evidence.length) return el("p", { class: "empty" }, strings.noEvidence);
  const finals = finalScores(body);
  return el("ol", { class: "evidence plain" }, body.evidence.map((item) => entry(item, view, finals, label)));
}

function entry(item, view, finals, label) {
  const { body } = view.record;
  const memory = view.memories[item.memory];
  const final = finals.get(item.memory);
  const use = body.bound.includes(item.label) ? strings.bound : body.cited.includes(item.label) ? strings.cited : null;
  return el(
    "li",
    { class: item.label === label ? "pointed" : "" },
    el(
      "header",
      {},
      el("span", { class: "label" }, item.label),
      el("span", {}, strings.kinds[item.route]),
      item.cue ? el("span", {}, item.cue) : null,
      use ? el("span", { class: "mark" }, use) : null,
    ),
    memory?.source ? el("p", { class: "source" }, memory.source) : null,
    el("p", { class: "words" }, memory ? memory.text : strings.erasedMemory),
    el(
      "footer",
      {},
      final === undefined
        ? null
        : el("span", {}, `${strings.finalScore} `, el("span", { class: "number" }, score(final)), bar(final), strings.score(final)),
      el("span", { class: "number" }, strings.tokens(item.tokens)),
    ),
  );
}

function finalScores(body) {
  const rows = [...body.candidates.knowledge, ...body.candidates.experience];
  return new Map(rows.map((row) => [row.memory, row.final]));
}
