// Review: the replies of the timeline one after the other, each marked by a person; and what the reviews come to.

import { api } from "../api.js";
import { el, fill } from "../dom.js";
import { place, addressOf } from "./address.js";
import { curveFigure } from "./curve.js";
import { button, facts, failure, share, table, tell } from "./parts.js";
import { reviewForm } from "./review_form.js";
import { page, remember, remembered } from "./state.js";
import { words } from "./strings.js";

const NAME = "audit.reviewer";

/** Show the queue of the open timeline and the reports of its reviewers. */
export async function reviewSection(section) {
  const { signal } = page;
  const timeline = page.timeline.id;
  let reviewer = remembered(NAME, "");
  let replies = [];
  let at = 0;

  const name = el("input", { id: "reviewer", autocomplete: "name", maxLength: 200, value: reviewer });
  const naming = el("label", { class: "stacked name-field" }, words.reviewer, name, el("span", { class: "hint" }, words.reviewerHint));
  const queue = el("section", { class: "queue" });
  const outcome = el("section", { class: "outcome" });
  name.addEventListener("change", async () => {
    reviewer = name.value.trim();
    remember(NAME, reviewer);
    await loadQueue(true);
  });

  async function loadQueue(first) {
    try {
      ({ replies } = await api.replies(timeline, reviewer));
      if (signal.aborted) return;
      if (first) at = begin();
      await showReply();
    } catch (error) {
      if (!signal.aborted) fill(queue, failure(error, () => loadQueue(first)));
    }
  }

  /** The reply in the address, else the first that the person has not reviewed. */
  function begin() {
    const wanted = replies.findIndex(({ turn }) => turn === place().turn);
    const open = replies.findIndex(({ support }) => !support);
    return Math.max(wanted >= 0 ? wanted : open, 0);
  }

  async function showReply(focus = false) {
    if (!replies.length) return fill(queue, el("p", { class: "empty" }, words.nothingToReview));
    const done = replies.filter(({ support }) => support).length;
    const head = el("h2", { tabIndex: -1 }, words.queue);
    const states = el("p", { class: "row wrap" }, share(done / replies.length, words.queueState(done, replies.length)));
    if (!reviewer) return fill(queue, head, el("p", { class: "empty" }, words.nameFirst));
    const { turn, round } = replies[at];
    // The address names the reply without a way back for each.
    history.replaceState(null, "", addressOf({ turn }));
    const [view, { reviews }] = await Promise.all([api.turn(turn), api.turnReviews(turn)]);
    if (signal.aborted || replies[at].turn !== turn) return;
    const mine = reviews.find((review) => review.reviewer === reviewer && review.standing);
    const card = reviewForm(view, mine, { save: (given) => save(turn, round, given), move });
    const steps = el(
      "div",
      { class: "row wrap" },
      button(words.previous, () => move(-1), { disabled: at === 0 }),
      button(words.next, () => move(1), { disabled: at === replies.length - 1 }),
      el("span", { class: "hint number" }, `${at + 1} / ${replies.length}`),
    );
    fill(queue, head, states, done === replies.length ? el("p", { class: "hint" }, words.allReviewed) : null, steps, card);
    if (focus) card.focus();
  }

  async function move(step) {
    const next = at + step;
    if (next < 0 || next >= replies.length) return;
    at = next;
    await guarded(() => showReply(true));
  }

  async function save(turn, round, given) {
    await api.addReview(turn, { ...given, reviewer });
    tell(words.saved(round));
    Object.assign(replies[at], { support: given.support, correct: given.correct });
    const later = replies.findIndex(({ support }, index) => index > at && !support);
    const open = replies.findIndex(({ support }) => !support);
    at = later >= 0 ? later : open >= 0 ? open : at;
    await guarded(() => showReply(true));
    await showOutcome();
  }

  async function guarded(act) {
    try {
      await act();
    } catch (error) {
      if (!signal.aborted) fill(queue, failure(error, () => guarded(act)));
    }
  }

  async function showOutcome() {
    try {
      const found = await api.reviews(timeline, { limit: 1 });
      if (!signal.aborted) fill(outcome, comesTo(found));
    } catch (error) {
      if (!signal.aborted) fill(outcome, failure(error, showOutcome));
    }
  }

  fill(section, el("p", { class: "hint" }, words.reviewHelp), naming, queue, outcome);
  await Promise.all([loadQueue(true), showOutcome()]);
}

// -- what the reviews come to -----------------------------------------------------------------------------------------

function comesTo({ reports, agreement }) {
  return [
    el("h2", {}, words.outcome),
    reports.length ? reports.map(reportPart) : el("p", { class: "empty" }, words.noReviews),
    agreement ? agreementPart(agreement) : null,
  ];
}

function reportPart(report) {
  const counted = (right, of, accuracy) =>
    accuracy === null ? null : el("span", {}, share(accuracy), el("span", { class: "hint number" }, words.shareOf(right, of)));
  return el(
    "section",
    { class: "report" },
    el("h3", {}, words.reportOf(report.reviewer)),
    facts([
      [words.accuracy, counted(report.manual_correct, report.rounds, report.manual_accuracy)],
      [words.automatic, counted(report.automatic_correct, report.judged, report.automatic_accuracy)],
      ...Object.entries(words.corrections).map(([key, text]) => [text, words.inRounds(report[key])]),
    ]),
    curveFigure(report),
  );
}

function agreementPart(agreement) {
  const rows = ["support", "correct"].flatMap((question) =>
    agreement[question].pairs.map((pair) => ({
      question: words[question],
      pair: words.and(pair.first, pair.second),
      items: words.number(pair.items),
      observed: pair.observed === null ? words.none : share(pair.observed),
      kappa: el(
        "span",
        {},
        el("span", { class: "number" }, pair.kappa === null ? words.none : pair.kappa.toFixed(2)),
        " ",
        el("span", { class: "hint" }, words.kappaWords(pair.kappa)),
      ),
    })),
  );
  return el(
    "section",
    { class: "report" },
    el("h3", {}, words.agreement),
    el("p", { class: "hint" }, words.agreementHelp),
    table(words.agreement, Object.entries(words.agreementHeads), rows, ["items"]),
  );
}
