// One reply with its question, its evidence, and the form that marks it. By mouse, or by keys alone while it has the focus.

import { el } from "../dom.js";
import { button, choice, memoryLinks, turnWays, when } from "./parts.js";
import { words } from "./strings.js";

const QUESTIONS = ["support", "correct"];
const VERDICTS = { y: "yes", n: "no", u: "unsure" };

/**
 * The reply of a turn's view. `mine` is the person's standing review of it, or undefined. `save(review)` writes one and
 * may throw; `move(step)` goes to another reply.
 */
export function reviewForm(view, mine, { save, move }) {
  const { turn, record } = view;
  const card = el("article", { class: "reply-card", tabIndex: -1, "aria-label": words.round(turn.round) });
  if (!record.body) {
    card.append(el("p", { class: "empty" }, words.recordErased));
    return card;
  }
  const evidence = record.body.evidence.map((item) => ({ ...item, text: view.memories[item.memory]?.text ?? "" }));
  const quote = el("textarea", { id: "quote", rows: 2, value: mine?.quote ?? "" });
  const from = choice(words.quoteFrom, "quote-from", [["", words.noQuote], ...evidence.map(({ memory, label }) => [memory, label])], mine?.memory ?? "");
  const reason = el("textarea", { id: "reason", rows: 2, value: mine?.reason ?? "" });
  const pending = el("input", { type: "checkbox", id: "pending", checked: mine?.pending ?? false });
  const error = el("p", { class: "alarm", role: "alert" });
  const saving = el("button", { class: "primary" }, words.save);
  const form = el(
    "form",
    { class: "marking" },
    el("div", { class: "questions" }, QUESTIONS.map((question) => verdicts(question, mine?.[question]))),
    el("div", { class: "quoting" }, el("label", { class: "stacked" }, words.quote, quote, el("span", { class: "hint" }, words.quoteHint)), from),
    el("label", { class: "stacked" }, words.reason, reason),
    el("label", { class: "tick" }, pending, words.pending),
    error,
    el("div", { class: "row wrap" }, saving, el("p", { class: "hint" }, words.keysHelp)),
  );

  function take(item) {
    const selected = String(getSelection()).trim();
    // Only what is selected within this very memory; else all of it.
    quote.value = selected && compact(item.text).includes(compact(selected)) ? selected : item.text;
    from.querySelector("select").value = item.memory;
    (form.querySelector("input:checked") ? reason : quote).focus();
  }

  const given = (question) => form.querySelector(`input[name=${question}]:checked`)?.value ?? "";

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const review = { support: given("support"), correct: given("correct"), reason: reason.value.trim(), pending: pending.checked };
    if (quote.value.trim()) review.quote = quote.value;
    const memory = from.querySelector("select").value;
    if (memory) review.memory = memory;
    error.textContent = review.support && review.correct && review.reason ? "" : words.incomplete;
    if (error.textContent) return point(review);
    saving.disabled = true;
    try {
      await save(review);
    } catch (failure) {
      error.textContent = words.notSaved(failure.message);
    } finally {
      saving.disabled = false;
    }
  });

  function point(review) {
    const missing = QUESTIONS.find((question) => !review[question]);
    (missing ? form.querySelector(`input[name=${missing}]`) : reason).focus();
  }

  card.addEventListener("keydown", (event) => {
    const writes = event.target.matches("textarea, select, input:not([type=radio])");
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      return form.requestSubmit();
    }
    if (event.key === "Escape" && writes) return card.focus();
    if (writes || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const key = event.key.toLowerCase();
    if (key === "j" || key === "k") return move(key === "j" ? 1 : -1);
    if (VERDICTS[key]) mark(VERDICTS[key], event);
  });

  /** Answer the question in focus, else the first that has no answer; then go on to what is missing. */
  function mark(verdict, event) {
    event.preventDefault();
    const question = event.target.name || QUESTIONS.find((name) => !given(name)) || QUESTIONS[0];
    form.querySelector(`input[name=${question}][value=${verdict}]`).checked = true;
    if (event.target.name) form.querySelector(`input[name=${question}]:checked`).focus();
    if (QUESTIONS.every(given)) (given("support") === "yes" && !quote.value ? quote : reason).focus();
  }

  card.append(
    el("header", { class: "hint" }, words.round(turn.round), " · ", when(turn.at), " · ", turn.model),
    el("p", {}, turnWays(record.timeline, record.id, turn.round)),
    mine ? el("p", { class: "hint" }, words.mine(mine)) : "",
    said(words.question, turn.message, "user"),
    said(words.answer, turn.response),
    el("h3", {}, words.evidence),
    evidence.length
      ? el("ol", { class: "plain shown-evidence" }, evidence.map((item) => shownEvidence(record.timeline, item, record.body.cited.includes(item.label), take)))
      : el("p", { class: "hint" }, words.noEvidence),
    form,
  );
  return card;
}

const compact = (text) => text.replace(/\s+/g, "");

const said = (who, text, kind = "") =>
  el("div", { class: `said ${kind}` }, el("h3", {}, who), el("p", { class: "words" }, text));

function verdicts(question, chosen) {
  return el(
    "fieldset",
    {},
    el("legend", {}, words[question], " ", el("span", { class: "hint" }, words[`${question}Help`])),
    el(
      "div",
      { class: "row wrap" },
      Object.entries(VERDICTS).map(([letter, verdict]) =>
        el(
          "label",
          { class: "tick" },
          el("input", { type: "radio", name: question, value: verdict, checked: chosen === verdict }),
          words.verdicts[verdict],
          el("kbd", { "aria-hidden": "true" }, letter),
        ),
      ),
    ),
  );
}

function shownEvidence(timeline, item, isCited, take) {
  return el(
    "li",
    {},
    el(
      "div",
      { class: "row wrap" },
      el("span", { class: "label" }, item.label),
      isCited ? el("span", { class: "mark used" }, words.cited) : null,
      button(words.quoteThis, () => take(item), { class: "quiet", "aria-label": words.quoteNamed(item.label) }),
    ),
    el("p", { class: "words" }, item.text),
    el("p", {}, memoryLinks(timeline, item.memory)),
  );
}
