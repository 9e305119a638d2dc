// Which later replies were shown a memory: a strip of dots over the rounds, and the table of the same behind it.

import { el, svg } from "../dom.js";
import { excerpt, turnLink, when } from "./parts.js";
import { page } from "./state.js";
import { words } from "./strings.js";

const HEIGHT = 34;
const LINE = 13;
const useOf = (item) => (item.bound ? "bound" : item.cited ? "cited" : "shown");

/** `uses` newest first as the server gives them; `more` when there are older ones. */
export function usesOverTime(uses, memory, more) {
  if (!uses.length) return el("p", { class: "hint" }, words.noUses);
  const here = uses.filter((item) => item.timeline === page.timeline?.id);
  return [
    here.length ? strip(here, memory) : el("p", { class: "hint" }, words.usesElsewhere),
    more ? el("p", { class: "hint" }, words.moreUses(uses.length)) : null,
    el("details", {}, el("summary", {}, words.usesTable), table(uses, here.length < uses.length)),
  ];
}

function strip(uses, memory) {
  const seen = uses.map((item) => item.round);
  const first = Math.min(memory.round ?? Infinity, ...seen);
  const last = Math.max(page.timeline.rounds, ...seen);
  const x = (round) => `${2 + (96 * (round - first)) / Math.max(1, last - first)}%`;
  const cited = uses.filter((item) => useOf(item) !== "shown").length;
  const label = words.usesStrip(uses.length, cited, Math.min(...seen), Math.max(...seen));
  const picture = svg(
    "svg",
    { class: "strip", height: HEIGHT, width: "100%", role: "img", "aria-label": label },
    svg("line", { x1: "2%", x2: "98%", y1: LINE, y2: LINE }),
    [...uses].reverse().map((item) => dot(useOf(item), x(item.round), LINE, item)),
    write(words.round(first), "1%", "start"),
    last > first ? write(words.round(last), "99%", "end") : [],
  );
  return el("div", {}, picture, legend(uses));
}

/** Hollow, filled, or filled with a ring around it: told apart without colour. */
function dot(use, cx, cy, item) {
  const ring = use === "bound" ? svg("circle", { class: "ring", cx, cy, r: 8 }) : [];
  const title = item ? svg("title", {}, `${words.round(item.round)}, ${item.label}: ${words.use[use]}`) : [];
  return svg("g", { class: `dot ${use}` }, svg("circle", { cx, cy, r: 4.5 }), ring, title);
}

/** What the kinds of dots mean, of those that are there. */
function legend(uses) {
  const kinds = Object.keys(words.use).filter((use) => uses.some((item) => useOf(item) === use));
  const items = kinds.map((use) => {
    const picture = svg("svg", { class: "strip", width: 20, height: 20, "aria-hidden": "true" }, dot(use, 10, 10));
    return el("li", {}, picture, words.use[use]);
  });
  return el("ul", { class: "plain dot-legend" }, items);
}

function table(uses, elsewhere) {
  const head = [words.when.round, words.when.at, words.when.label, words.when.use, words.when.message];
  if (elsewhere) head.splice(1, 0, words.when.timeline);
  const rows = uses.map((item) => {
    const other = page.timelines.find((timeline) => timeline.id === item.timeline);
    return el(
      "tr",
      {},
      el("th", { scope: "row" }, turnLink(item.timeline, item.turn, item.round)),
      elsewhere ? el("td", {}, other?.title || other?.character || item.timeline) : null,
      el("td", {}, when(item.at)),
      el("td", {}, el("span", { class: "label" }, item.label)),
      el("td", {}, words.use[useOf(item)]),
      el("td", { class: "message", dir: "auto" }, excerpt(item.message, 160)),
    );
  });
  const whole = el(
    "table",
    {},
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        head.map((name) => el("th", { scope: "col" }, name)),
      ),
    ),
    el("tbody", {}, rows),
  );
  return el("div", { class: "uses wide", tabIndex: 0, role: "region", "aria-label": words.usesTitle }, whole);
}

function write(text, x, anchor) {
  return svg("text", { x, y: HEIGHT - 3, "text-anchor": anchor }, text);
}
