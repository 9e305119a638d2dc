// What a message would bring back now, from both memories: for every candidate its score, and why it was kept or not.

import { api } from "../api.js";
import { bar, el } from "../dom.js";
import { score } from "../format.js";
import { go, place } from "./address.js";
import { memoryFold } from "./item.js";
import { button, excerpt, when } from "./parts.js";
import { page } from "./state.js";
import { words } from "./strings.js";

const LIMIT = 20;
const BARS = ["similarity", "coverage", "weight"];

/** The box for a message. */
export function searchForm() {
  const { q } = place();
  const input = el("input", {
    type: "search",
    name: "q",
    value: q,
    autocomplete: "off",
    "aria-describedby": "search-hint",
  });
  const form = el(
    "form",
    { class: "search", role: "search" },
    el("label", {}, words.searchLabel, input),
    el("button", {}, words.search),
    q ? button(words.clearSearch, () => go({ q: "" })) : null,
    el("p", { class: "hint", id: "search-hint" }, words.searchHint),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    go({ q: input.value.trim(), memory: "", document: "" });
  });
  return form;
}

/** The candidates of both routes for a message; the routes in the order `first` says. `actions` as of `memoryFold`. */
export async function searchResults(query, first, actions) {
  const { evidence, candidates } = await api.memories(page.timeline.id, { q: query, limit: LIMIT });
  const labels = new Map(evidence.map((item) => [item.memory, item.label]));
  const routes = first === "knowledge" ? ["knowledge", "experience"] : ["experience", "knowledge"];
  return [
    el("h2", { class: "found" }, words.found(query)),
    routes.map((route) => routeSection(route, candidates[route], labels, actions[route])),
  ];
}

function routeSection(route, rows, labels, actions) {
  const kept = rows.filter((row) => row.kept).length;
  const ordered = [...rows].sort((a, b) => Number(b.kept) - Number(a.kept) || a.rank - b.rank);
  return el(
    "section",
    { class: "route" },
    el("h3", {}, words.foundRoute(route, kept, rows.length - kept)),
    rows.length
      ? el(
          "ul",
          { class: "plain memories" },
          ordered.map((row) => el("li", {}, candidate(row, labels, actions))),
        )
      : el("p", { class: "hint" }, words.nothingFound),
  );
}

function candidate(row, labels, actions) {
  const label = labels.get(row.memory);
  const summary = el(
    "summary",
    { class: row.kept ? "kept" : "dropped" },
    el(
      "span",
      { class: "facts-line" },
      label ? el("span", { class: "label" }, label) : null,
      el("span", { class: "mark" }, row.kept ? words.kept : words.dropped),
      el("span", {}, words.reasons[row.reason] ?? row.reason),
      row.round ? el("span", {}, words.round(row.round)) : el("span", { class: "source" }, row.source),
      row.at ? when(row.at) : null,
    ),
    el("span", { class: "words clipped", dir: "auto" }, excerpt(row.text, 280)),
    scores(row),
  );
  return memoryFold(row.memory, summary, actions);
}

/** The final score in a word, and what it was made of. */
function scores(row) {
  const part = (name) => [`${words.scores[name]} `, el("span", { class: "number" }, score(row[name])), bar(row[name])];
  const parts = BARS.filter((name) => typeof row[name] === "number").map((name) => el("span", {}, part(name)));
  return el("span", { class: "scores" }, el("span", { class: "final" }, part("final"), words.score(row.final)), parts);
}
