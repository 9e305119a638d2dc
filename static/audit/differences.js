// What does not follow from a record: by place in the record, and turn by turn.

import { el } from "../dom.js";
import { short, table, timelineName, turnLink } from "./parts.js";
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
    el("p", {}, turnLink(turn.timeline, turn.event, turn.round), " ", el("span", { class: "hint number" }, words.eventNumber(turn.seq))),
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
