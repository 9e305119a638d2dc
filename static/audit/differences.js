// What does not follow from a record: by place in the record, and turn by turn.

import { api } from "../api.js";
import { el } from "../dom.js";
import { failure, short, table, timelineName, turnLink, turnWays } from "./parts.js";
import { words } from "./strings.js";

/** How many turns are opened into their own tables. */
const OPENED = 100;

/** The places at which any turn disagrees, whatever memory it is about, those of most turns first. */
export function byPlace(turns) {
  const places = new Map();
  for (const turn of turns) {
    const here = new Set(turn.disagreements.map(({ place }) => place.replace(/\[[^\]]*\]/g, "[…]")));
    for (const place of here) places.set(place, [...(places.get(place) ?? []), turn]);
  }
  const rows = [...places]
    .sort(([, a], [, b]) => b.length - a.length)
    .map(([place, [first, ...others]]) => ({
      place: el("code", {}, place),
      turns: words.number(others.length + 1),
      example: turnLink(first.timeline, first.event, first.round),
    }));
  return table(words.byPlace, Object.entries(words.placeHeads), rows, ["turns"]);
}

/** Each turn with what disagrees in it. */
export function byTurn(turns) {
  return el(
    "ul",
    { class: "plain opened-turns" },
    turns.slice(0, OPENED).map((turn, index) => el("li", {}, oneTurn(turn, index === 0))),
  );
}

function oneTurn(turn, open) {
  const rows = turn.disagreements.map(({ place, recorded, expected }) => ({
    place: el("code", {}, place),
    recorded: el("code", {}, short(recorded)),
    expected: el("code", {}, short(expected)),
  }));
  const name = `${timelineName(turn.timeline)}, ${turn.round ? words.round(turn.round) : words.eventNumber(turn.seq)}`;
  return el(
    "details",
    { open },
    el("summary", {}, name, " ", el("span", { class: "hint number" }, `(${turn.disagreements.length + turn.more})`)),
    el("p", {}, turn.round ? turnWays(turn.timeline, turn.event, turn.round) : words.none, " ", el("span", { class: "hint number" }, words.eventNumber(turn.seq))),
    table(name, Object.entries(words.disagreementHeads), rows),
    turn.more ? el("p", { class: "hint" }, words.moreDisagreements(turn.more)) : null,
  );
}

/** Why turns could not be done again, with how many. */
export function reasons(turns) {
  const counts = new Map();
  for (const { skipped } of turns) for (const reason of skipped) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  if (!counts.size) return null;
  return el(
    "section",
    {},
    el("h3", {}, words.reasons),
    el("ul", {}, [...counts].map(([reason, count]) => el("li", {}, words.reasonCount(reason, count)))),
  );
}

/** Turns that a model answered again: its reply beside the recorded one, which is fetched when it is asked for. */
export function answeredAgain(turns) {
  return el(
    "ul",
    { class: "plain opened-turns" },
    turns.slice(0, OPENED).map((turn) => el("li", {}, bothReplies(turn))),
  );
}

function bothReplies({ timeline, event, round, reply }) {
  const recorded = el("div", { class: "reply-side" }, el("h4", {}, words.recordedReply), el("p", { class: "hint" }, words.loading));
  const details = el(
    "details",
    {},
    el("summary", {}, `${timelineName(timeline)}, ${words.round(round)}: `, el("span", { class: "words" }, short(reply))),
    el("p", {}, turnWays(timeline, event, round)),
    el(
      "div",
      { class: "sides" },
      recorded,
      el("div", { class: "reply-side" }, el("h4", {}, words.newReply), el("p", { class: "words", dir: "auto" }, reply)),
    ),
  );
  details.addEventListener("toggle", () => showRecorded(recorded, event), { once: true });
  return details;
}

async function showRecorded(node, event) {
  try {
    const { turn } = await api.turn(event);
    node.lastChild.replaceWith(el("p", { class: "words", dir: "auto" }, turn.response ?? words.erased));
  } catch (error) {
    node.lastChild.replaceWith(failure(error, () => showRecorded(node, event)));
  }
}
