// One turn in the conversation, finished or failed.

import { el } from "./dom.js";
import { absolute, duration, inOrder, relative } from "./format.js";
import { strings } from "./strings.js";

/** A finished or failed turn as an article. `actions`: select(turn, tab), retry(turn). */
export function turnArticle(turn, timeline, actions) {
  const failed = turn.kind === "turn_failed";
  const article = el(
    "article",
    { class: failed ? "turn failed" : "turn", tabIndex: 0, id: `turn-${turn.id}`, "data-turn": turn.id },
    header(turn, timeline),
    said("user", timeline.user, turn.message),
    failed ? failure(turn, actions) : said("character", timeline.character, turn.response),
    turn.erased ? el("p", { class: "hint" }, strings.erased) : null,
    failed ? null : citations(turn, actions),
  );
  article.addEventListener("click", () => actions.select(turn));
  article.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target === article) actions.select(turn);
  });
  return article;
}

/** Words of one side. */
export function said(side, name, text) {
  return el("div", { class: `said ${side}` }, el("h3", {}, name), el("p", { class: "words" }, text));
}

/** The steps of a turn as small blocks; `seconds` by stage, in order. */
export function steps(seconds) {
  const items = inOrder(seconds).map(([name, value]) => {
    const label = `${strings.stages[name] ?? name}, ${duration(value)}`;
    return el("li", { title: label }, el("span", { class: "unseen" }, label));
  });
  return el("ol", { class: "steps", "aria-label": strings.steps }, items);
}

function header(turn, timeline) {
  const failed = turn.kind === "turn_failed";
  const total = Object.values(turn.timings).reduce((sum, value) => sum + value, 0);
  return el(
    "header",
    {},
    el("span", { class: "number" }, failed ? strings.tried(turn.round) : strings.round(turn.round)),
    el("time", { datetime: turn.at, title: absolute(turn.at, timeline.timezone) }, relative(turn.at)),
    el("span", {}, turn.model),
    steps(turn.timings),
    total ? el("span", { class: "number" }, duration(total)) : null,
    marks(turn).map((word) => el("span", { class: "mark" }, word)),
  );
}

/** What was unusual about a turn, as words. */
function marks(turn) {
  const words = strings.marks;
  if (turn.kind === "turn_failed") return [words.failed];
  if (turn.erased) return [];
  return [
    turn.evidence === 0 ? words.nothingMatched : null,
    ...new Set(turn.repairs.map((rung) => words[rung] ?? rung)),
    turn.admitted ? null : words.notRemembered,
  ].filter(Boolean);
}

function failure(turn, actions) {
  const stopped = turn.error?.kind === "cancelled";
  const reason = stopped ? strings.failed.cancelled : `${strings.failed.other} ${turn.error?.text ?? ""}`;
  const retry = el("button", { type: "button" }, strings.retry);
  retry.addEventListener("click", (event) => {
    event.stopPropagation();
    actions.retry(turn);
  });
  return el("div", { class: "reason" }, el("p", {}, `${reason} ${strings.failedSafe}`), retry);
}

/** The labels a reply cites, each leading to the memory. */
function citations(turn, actions) {
  if (!turn.cited.length) return null;
  const labels = turn.cited.map((label) => {
    const bound = turn.bound.includes(label);
    const button = el(
      "button",
      { type: "button", class: bound ? "label" : "label unbound", title: bound ? undefined : strings.unbound },
      label,
    );
    const show = () => actions.select(turn, label);
    button.addEventListener("click", (event) => {
      event.stopPropagation();
      show();
    });
    return button;
  });
  return el("p", { class: "cites" }, `${strings.cites} `, labels);
}
