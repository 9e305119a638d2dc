// One turn in the conversation, finished or failed.

import { api } from "./api.js";
import { analysisFold } from "./analysis.js";
import { el, fill, notice } from "./dom.js";
import { absolute, duration, inOrder, relative } from "./format.js";
import { markdown } from "./markdown.js";
import { strings } from "./strings.js";

// A longer message is shown by its beginning until it is asked for.
const LONG = 4000;

/**
 * A finished or failed turn as an article. `actions`: select(turn, label), again(turn), edit(turn), tryAgain(turn),
 * putBack(turn). What only the newest reply offers is hidden until `markNewest` shows it.
 */
export function turnArticle(turn, timeline, actions) {
  const failed = turn.kind === "turn_failed";
  const article = el(
    "article",
    {
      class: failed ? "turn failed" : "turn",
      tabIndex: 0,
      id: `turn-${turn.id}`,
      "data-turn": turn.id,
      "data-round": turn.round,
      "data-session": turn.session,
      "aria-label": failed ? strings.tried(turn.round) : strings.round(turn.round),
    },
    header(turn, timeline),
    said("user", timeline.user, turn.message),
    failed ? failure(turn, actions) : said("character", timeline.character, turn.response),
    turn.erased ? el("p", { class: "hint" }, strings.erased) : null,
    failed || turn.erased ? null : foot(turn, actions),
    turn.branches ? earlierReplies(turn, timeline, actions) : null,
  );
  article.addEventListener("click", (event) => {
    // A link or a control does its own work.
    if (!event.target.closest("a[href], button, summary, pre")) actions.select(turn);
  });
  article.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target === article) actions.select(turn);
  });
  return article;
}

/** Words of one side: the person's as they were written, the character's as Markdown. */
export function said(side, name, text) {
  const words = side === "user" ? userWords(text) : el("div", { class: "words prose" }, text ? markdown(text) : "");
  return el("div", { class: `said ${side}` }, el("h3", { dir: "auto" }, name), words);
}

function userWords(text) {
  const whole = text ?? "";
  if (whole.length <= LONG) return el("p", { class: "words", dir: "auto" }, whole);
  const words = el("p", { class: "words", dir: "auto" }, `${whole.slice(0, LONG)} …`);
  const more = el("button", { type: "button", class: "quiet" }, strings.showWhole(whole.length));
  more.addEventListener("click", () => {
    words.textContent = whole;
    more.remove();
  });
  return [words, more];
}

/** The steps of a turn as small blocks; `seconds` by stage, in order. */
export function steps(seconds) {
  const items = inOrder(seconds).map(([name, value]) => {
    const label = `${strings.stages[name] ?? name}, ${duration(value)}`;
    return el("li", { title: label }, el("span", { class: "unseen" }, label));
  });
  return el("ol", { class: "steps", "aria-label": strings.steps }, items);
}

/** Offer on the newest reply, and on no other, what only it can do. */
export function markNewest(newest, lastFailed) {
  for (const node of document.querySelectorAll("#log [data-newest]")) node.hidden = node.dataset.newest !== newest?.id;
  for (const node of document.querySelectorAll("#log [data-last]")) node.hidden = node.dataset.last !== lastFailed?.id;
}

// -- header --------------------------------------------------------------------------------------------------------

function header(turn, timeline) {
  const failed = turn.kind === "turn_failed";
  const total = Object.values(turn.timings).reduce((sum, value) => sum + value, 0);
  return el(
    "header",
    {},
    el("span", { class: "number" }, failed ? strings.tried(turn.round) : strings.round(turn.round)),
    el("time", { datetime: turn.at, title: absolute(turn.at, timeline.timezone) }, relative(turn.at)),
    el("span", {}, turn.model),
    total
      ? el("span", { class: "timing" }, steps(turn.timings), " ", el("span", { class: "number" }, duration(total)))
      : null,
    marks(turn).map(([word, meaning]) => el("span", { class: "mark", title: meaning }, word)),
  );
}

/** What was unusual about a turn, as [word, what it means]. */
function marks(turn) {
  const words = strings.marks;
  const found = [];
  if (turn.kind === "turn_failed") found.push([turn.error?.kind === "cancelled" ? words.stopped : words.failed]);
  if (turn.clock && turn.clock !== "system") found.push([words.clock(turn.clock), strings.clockMeaning]);
  if (turn.kind === "turn_failed" || turn.erased) return found;
  if (turn.evidence === 0) found.push([words.nothingMatched, strings.noEvidence]);
  const rungs = [...new Set(turn.repairs)];
  const done = rungs.map((rung) => words[rung] ?? rung).join(", ");
  if (done || turn.violations.length) {
    found.push([`${done || words.violated}${wrong(turn)}`, rungs.map((rung) => strings.rungs[rung]).join(". ")]);
  }
  if (!turn.admitted && !turn.replaced_by) found.push([words.notRemembered]);
  return found;
}

/** What was wrong with a reply before it was repaired: ": evidence not checked, reply not marked". */
function wrong({ faults = [], violations }) {
  const words = [...new Set([...faults, ...violations])].map((kind) => strings.violationKinds[kind] ?? kind);
  return words.length ? `: ${words.join(", ")}` : "";
}

// -- failure -------------------------------------------------------------------------------------------------------

function failure(turn, actions) {
  const stopped = turn.error?.kind === "cancelled";
  const reason = stopped ? strings.failed.cancelled : `${strings.failed.other} ${turn.error?.text ?? ""}`;
  return el(
    "div",
    { class: "reason" },
    el("p", {}, `${reason} ${strings.failedSafe}`),
    el(
      "p",
      { class: "row" },
      el("button", { type: "button", onclick: () => actions.putBack(turn) }, strings.putBack),
      el(
        "button",
        { type: "button", hidden: true, "data-last": turn.id, onclick: () => actions.tryAgain(turn) },
        strings.tryAgain,
      ),
    ),
  );
}

// -- under a reply -------------------------------------------------------------------------------------------------

function foot(turn, actions) {
  const only = { type: "button", class: "quiet", hidden: true, "data-newest": turn.id };
  return el(
    "footer",
    {},
    citations(turn, actions),
    el(
      "p",
      { class: "acts" },
      el("button", { ...only, title: strings.againMeaning, onclick: () => actions.again(turn) }, strings.again),
      el("button", { ...only, title: strings.editMeaning, onclick: () => actions.edit(turn) }, strings.edit),
    ),
    analysisFold(turn),
  );
}

/** The labels a reply cites, each leading to the memory; one that the prompt did not hold leads nowhere. */
function citations(turn, actions) {
  const unknown = new Set(turn.unknown ?? []);
  const cited = [...turn.cited.filter((label) => !unknown.has(label)), ...unknown];
  if (!cited.length) return null;
  const labels = cited.map((label) => {
    if (unknown.has(label))
      return el("span", { class: "label unbound", title: strings.unknownMeaning }, `${label} ${strings.unknown}`);
    const bound = turn.bound.includes(label);
    return el(
      "button",
      {
        type: "button",
        class: bound ? "label" : "label unbound",
        title: bound ? strings.showMemory : strings.unbound,
        onclick: () => actions.select(turn, label),
      },
      label,
    );
  });
  return el("p", { class: "cites" }, `${strings.cites} `, labels);
}

/** The replies of the same round that this one replaced, folded. */
function earlierReplies(turn, timeline, actions) {
  const list = el("div", { class: "branches" });
  const fold = el("details", { class: "fold" }, el("summary", {}, strings.earlierReplies(turn.branches)), list);
  fold.addEventListener("toggle", async () => {
    if (!fold.open || list.childElementCount) return;
    try {
      const { turns } = await api.round(timeline.id, turn.round);
      const earlier = turns.filter(({ id, kind }) => kind === "turn" && id !== turn.id);
      fill(
        list,
        earlier.map((item) => branch(item, turn, timeline, actions)),
      );
    } catch (error) {
      notice(error.message, strings.dismiss);
    }
  });
  return fold;
}

function branch(item, current, timeline, actions) {
  return el(
    "section",
    { class: "branch", "data-turn": item.id },
    el(
      "p",
      { class: "hint" },
      el("time", { datetime: item.at, title: absolute(item.at, timeline.timezone) }, relative(item.at)),
      ` · ${item.model} · `,
      el("span", { class: "mark" }, strings.replaced),
    ),
    item.message === current.message ? null : said("user", timeline.user, item.message),
    said("character", timeline.character, item.response),
    el("button", { type: "button", class: "quiet", onclick: () => actions.select(item) }, strings.why),
  );
}
