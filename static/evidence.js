// The tab "Evidence": the memories as the model read them, in prompt order, and what the reply made of each.

import { bar, el } from "./dom.js";
import { absolute, relative, score } from "./format.js";
import { state } from "./state.js";
import { strings } from "./strings.js";

/** The evidence of a turn; the item labelled `label` is pointed at. */
export function evidenceTab(view, label) {
  const { body } = view.record;
  if (!body) return el("p", { class: "empty" }, strings.erased);
  if (!body.evidence) return el("p", { class: "empty" }, strings.noEvidenceFailed);
  const finals = finalScores(body);
  return [
    unknownLabels(body),
    body.evidence.length
      ? [
          el("p", { class: "hint" }, summary(body)),
          el(
            "ol",
            { class: "evidence plain" },
            body.evidence.map((item) => entry(item, view, finals, label)),
          ),
        ]
      : el("p", { class: "empty" }, strings.noEvidence),
  ];
}

function summary({ evidence, cited }) {
  const tokens = evidence.reduce((sum, item) => sum + item.tokens, 0);
  const used = evidence.filter(({ label }) => cited.includes(label)).length;
  return strings.evidenceFacts(evidence.length, tokens, used);
}

/** Labels that the reply cites and the prompt did not hold. */
function unknownLabels(body) {
  const unknown = body.analysis?.unknown ?? [];
  if (!unknown.length) return null;
  const labels = unknown.map((label) => [el("span", { class: "label unbound" }, label), " "]);
  return el("p", { class: "warning" }, labels, strings.unknownMeaning);
}

function entry(item, view, finals, label) {
  const { body } = view.record;
  const memory = view.memories[item.memory];
  return el(
    "li",
    { class: item.label === label ? "pointed" : "" },
    el(
      "header",
      {},
      el("span", { class: "label" }, item.label),
      el("span", {}, strings.kinds[item.route]),
      el("span", { title: strings.fidelity[item.fidelity] }, strings.shownAs(item.fidelity)),
      item.fidelity === "PLACEHOLDER" ? null : useOf(item, body),
    ),
    el(
      "p",
      { class: "source" },
      sourceOf(memory),
      dateOf(memory),
      item.cue ? [" · ", el("span", {}, strings.cue(item.cue))] : null,
    ),
    el("p", { class: "words", dir: "auto" }, wordsOf(item, memory, view)),
    el("footer", {}, finalOf(finals.get(item.memory)), el("span", { class: "number" }, strings.tokens(item.tokens))),
  );
}

/** What the model read: the whole memory, or the form of one side of it that the prompt showed. */
function wordsOf(item, memory, view) {
  return view.shown?.[item.label] ?? (memory ? memory.text : strings.erasedMemory);
}

/** What the reply made of an item, as a word. */
function useOf({ label }, { cited, bound }) {
  if (bound.includes(label)) return el("span", { class: "mark used", title: strings.boundMeaning }, strings.bound);
  if (cited.includes(label)) return el("span", { class: "mark used", title: strings.unbound }, strings.cited);
  return el("span", { class: "mark" }, strings.notCited);
}

function sourceOf(memory) {
  if (!memory) return null;
  return el("span", {}, memory.source ?? strings.round(memory.round));
}

function dateOf(memory) {
  if (!memory?.at) return null;
  return [
    " · ",
    el("time", { datetime: memory.at, title: absolute(memory.at, state.timeline.timezone) }, relative(memory.at)),
  ];
}

function finalOf(final) {
  if (final === undefined) return null;
  return el(
    "span",
    {},
    `${strings.finalScore} `,
    el("span", { class: "number" }, score(final)),
    bar(final),
    strings.score(final),
  );
}

function finalScores(body) {
  const rows = [...body.candidates.knowledge, ...body.candidates.experience];
  return new Map(rows.map((row) => [row.memory, row.final]));
}
