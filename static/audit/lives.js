// Memories: which was shown when, how its weight fell over rounds and hours, and which replies cited it.

import { api } from "../api.js";
import { el, fill } from "../dom.js";
import { score } from "../format.js";
import { go, place } from "./address.js";
import { button, choice, facts, growing, link, mark, memoryLinks, plot, room, share, short, table, turnLink, when } from "./parts.js";
import { page } from "./state.js";
import { words } from "./strings.js";

/** How many lines of a table are put at once. */
const PAGE = 100;

/** Show all memories of the open timeline in short, or the one in the address. */
export async function livesSection(section) {
  const { memory } = place();
  return memory ? showOne(section, memory) : showAll(section);
}

const damage = (text) => (text ? el("p", { class: "warning" }, words.livesUntil(text)) : null);

/** Weights over rounds or hours; the choice is in the address. */
function weights(query, text) {
  const over = place().over || "rounds";
  const picker = choice(words.over, "over", Object.entries(words.overs), over, (value) => go({ over: value }, true));
  return el(
    "section",
    { class: "weights" },
    el("div", { class: "row wrap asking" }, picker),
    plot("weights", { timeline: page.timeline.id, over, ...query }, words.weightsPlot(words.overs[over]), text),
  );
}

// -- all of them ------------------------------------------------------------------------------------------------------

async function showAll(section) {
  const { signal } = page;
  const load = async (after) => {
    const found = await api.lives(page.timeline.id, { after, limit: after ? PAGE : 20 });
    return { ...found, rows: found.memories };
  };
  const found = await load(0);
  if (signal.aborted) return;
  const heads = Object.entries(words.livesHeads);
  const whole = room(words.livesTitle, heads, [], FIGURES);
  const body = whole.querySelector("tbody");
  const list = growing(load, (rows) => {
    const some = table(words.livesTitle, heads, rows.map(outline), FIGURES);
    body.append(...some.querySelector("tbody").children);
  });
  list.take(found);
  fill(
    section,
    el("p", { class: "hint" }, words.livesHelp),
    damage(found.damage),
    found.count
      ? [
          el("p", { class: "verdict" }, words.livesCount(found.shown, found.count - found.shown)),
          weights({}, words.weightsText(Math.min(found.count, 8))),
          el("h2", {}, words.livesTitle),
          whole,
          list.more,
        ]
      : el("p", { class: "empty" }, words.noLives),
  );
}

const FIGURES = ["candidate", "shown", "cited", "rounds"];

function outline(row) {
  return {
    memory: el(
      "div",
      {},
      el("p", { class: "words clipped", dir: "auto" }, row.text === null ? words.erasedMemory : short(row.text.replace(/\s+/g, " "), 300)),
      link({ memory: row.memory }, words.life, { "aria-label": words.actOn(words.life, row.memory) }),
      " ",
      el("code", { class: "hint" }, row.memory),
    ),
    candidate: words.number(row.candidate),
    shown: words.number(row.shown),
    cited: words.number(row.cited),
    rounds: words.rounds(row.first_round, row.last_round),
    weight: words.fromTo(row.first_weight.toFixed(3), row.last_weight.toFixed(3)),
  };
}

// -- one of them ------------------------------------------------------------------------------------------------------

async function showOne(section, memory) {
  const { signal } = page;
  const found = await api.life(page.timeline.id, memory);
  if (signal.aborted) return;
  const { sightings, count } = found;
  const shown = sightings.filter(({ label }) => label);
  const heads = Object.entries(words.lifeHeads);
  const whole = room(words.lifeTitle, heads, [], ["ago", "hours"]);
  const body = whole.querySelector("tbody");
  const more = button(words.more, put, { class: "older" });
  let at = 0;
  function put() {
    const some = table(words.lifeTitle, heads, sightings.slice(at, at + PAGE).map(sighting), ["ago", "hours"]);
    body.append(...some.querySelector("tbody").children);
    at += PAGE;
    more.hidden = at >= sightings.length;
  }
  put();
  fill(
    section,
    el("p", {}, link({ memory: "" }, words.allLives)),
    el("h2", { class: "name" }, words.lifeOf(memory)),
    el("p", { class: "words", dir: "auto" }, found.text ?? words.erasedMemory),
    el("p", {}, memoryLinks(page.timeline.id, memory, true)),
    damage(found.damage),
    facts([
      [words.livesHeads.candidate, words.inTurns(count)],
      [words.livesHeads.shown, words.inTurns(shown.length)],
      [words.livesHeads.cited, words.inTurns(sightings.filter(({ cited }) => cited).length)],
    ]),
    count
      ? [
          weights({ memory }, words.weightText(sightings[0], sightings.at(-1))),
          el("h2", {}, words.lifeTitle),
          count > sightings.length ? el("p", { class: "hint" }, words.newestOf(sightings.length, count)) : null,
          whole,
          more,
        ]
      : el("p", { class: "empty" }, words.neverCandidate),
  );
}

function sighting(item) {
  const told = (value, digits) => (value === null ? words.none : value.toFixed(digits));
  return {
    round: turnLink(page.timeline.id, item.turn, item.round),
    at: when(item.at),
    ago: item.rounds_ago === null ? words.none : words.number(item.rounds_ago),
    hours: told(item.hours_ago, 1),
    weight: share(item.weight, item.weight.toFixed(3)),
    by: words.byBoth(item.round_weight.toFixed(3), item.clock_weight.toFixed(3)),
    final: words.fromTo(score(item.base), score(item.final)),
    became: item.label ? [mark(item.label, "strong"), item.bound ? ` ${words.citedRepeated}` : item.cited ? ` ${words.cited}` : ""] : el("span", { class: "hint" }, words.reasonOf(item.reason)),
  };
}
