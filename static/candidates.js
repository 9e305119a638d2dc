// The tab "Candidates": every memory both routes considered, with every score that led to its place.

import { bar, el } from "./dom.js";
import { score } from "./format.js";
import { strings } from "./strings.js";

const BARS = new Set(["final", "base", "similarity", "coverage", "weight"]);
// Scores in the order in which they arise, read backwards: the verdict first, then what led to it.
const COLUMNS = [
  "rank",
  "memory",
  "verdict",
  "final",
  "base",
  "weight",
  "round_weight",
  "clock_weight",
  "rounds_ago",
  "hours_ago",
  "similarity",
  "cosine",
  "vector_rank",
  "bm25",
  "bm25_rank",
  "coverage",
  "other_ranks",
  "context_cosine",
  "nearness",
  "fused",
  "lent_by",
  "normalised",
  "bonuses",
  "superseded_by",
  "kinship",
  "relevant",
  "tokens",
];
const TEXTS = new Set(["memory", "verdict", "other_ranks", "lent_by", "superseded_by", "bonuses", "relevant"]);
/** Columns whose value stands inside another field of a row. Ranks count from 0 there, from 1 for people. */
const DERIVED = {
  verdict: (row) => row.reason,
  vector_rank: (row) => place(row.ranks?.vector),
  bm25_rank: (row) => place(row.ranks?.bm25),
  other_ranks: (row) => otherRanks(row),
};
// A record of before there was a field does not have it.
const valueOf = (name, row) => (DERIVED[name] ? DERIVED[name](row) : (row[name] ?? null));
const place = (rank) => (rank === undefined || rank === null ? null : rank + 1);

function otherRanks({ ranks }) {
  const others = Object.entries(ranks ?? {}).filter(([lane]) => lane !== "vector" && lane !== "bm25");
  return Object.fromEntries(others.map(([lane, rank]) => [lane, place(rank)]));
}

/** The candidates of a turn: one table for each route. */
export function candidatesTab(view) {
  const { body } = view.record;
  if (!body?.candidates) return el("p", { class: "empty" }, strings.noEvidenceFailed);
  const routes = Object.keys(strings.routes);
  const kept = (route) => body.candidates[route].some((row) => row.kept);
  // What was used comes first.
  return [...routes.filter(kept), ...routes.filter((route) => !kept(route))].map((route) =>
    section(route, body.candidates[route], view),
  );
}

function section(route, rows, view) {
  const kept = rows.filter((row) => row.kept).length;
  const facts = rows.length ? `${strings.kept(kept)}, ${strings.dropped(rows.length - kept)}` : strings.noCandidates;
  return el(
    "section",
    {},
    el("h3", {}, strings.routes[route]),
    el("p", { class: "hint" }, facts),
    rows.length ? table(route, rows, view) : null,
  );
}

function table(route, rows, view) {
  const labels = new Map(view.record.body.evidence.map((item) => [item.memory, item.label]));
  const body = el("tbody");
  const draw = (order) => body.replaceChildren(...order.map((row) => tableRow(row, view, labels)));
  const columns = COLUMNS.map((name) => heading(name, () => draw(sorted(rows, name, columns))));
  // Kept above dropped, each best first.
  draw([...rows].sort((a, b) => Number(b.kept) - Number(a.kept) || a.rank - b.rank));
  const whole = el(
    "table",
    { "aria-label": strings.routes[route] },
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        columns.map((column) => column.cell),
      ),
    ),
    body,
  );
  return el("div", { class: "wide", tabIndex: 0, role: "region", "aria-label": strings.routes[route] }, whole);
}

function heading(name, onclick) {
  const [words, meaning] = strings.columns[name];
  const button = el("button", { type: "button", title: meaning, "aria-label": strings.sortBy(words), onclick }, words);
  return { name, cell: el("th", { scope: "col", class: TEXTS.has(name) ? "" : "figure" }, button) };
}

/** The rows by one column, the other way round when it was sorted by it already. */
function sorted(rows, name, columns) {
  const { cell } = columns.find((column) => column.name === name);
  const falling = cell.getAttribute("aria-sort") !== "descending";
  for (const column of columns) column.cell.removeAttribute("aria-sort");
  cell.setAttribute("aria-sort", falling ? "descending" : "ascending");
  const key = (row) => sortable(valueOf(name, row));
  const order = [...rows].sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0));
  return falling ? order.reverse() : order;
}

function sortable(value) {
  if (typeof value === "number" || typeof value === "string") return value;
  if (typeof value === "boolean") return Number(value);
  if (value && typeof value === "object") return Object.values(value).reduce((sum, part) => sum + part, 0);
  return -Infinity;
}

function tableRow(row, view, labels) {
  const cells = COLUMNS.map((name) => cell(name, row, view, labels));
  return el("tr", { class: row.kept ? "kept" : "dropped" }, cells);
}

function cell(name, row, view, labels) {
  if (name === "memory") return memoryCell(view.memories[row.memory], row.memory);
  if (name === "verdict") {
    const label = labels.get(row.memory);
    return el("td", {}, label ? el("span", { class: "label" }, label) : null, label ? " " : "", row.reason);
  }
  if (name === "relevant") return el("td", {}, row.relevant ? strings.yes : strings.no);
  if (name === "lent_by" || name === "superseded_by") return el("td", {}, other(row[name], view));
  if (name === "other_ranks" || name === "bonuses") return el("td", { class: "figures" }, pairs(valueOf(name, row)));
  if (name === "rank") return el("td", { class: "figure" }, String(row.rank + 1));
  const value = valueOf(name, row);
  const shown = typeof value === "number" && BARS.has(name) ? bar(value) : null;
  return el("td", { class: "figure" }, name === "hours_ago" && value !== null ? value.toFixed(1) : score(value), shown);
}

function memoryCell(memory, id) {
  if (!memory) return el("th", { scope: "row" }, `${strings.erasedMemory} (${id})`);
  const source = memory.source ?? strings.round(memory.round);
  const parts = [el("div", { class: "source" }, source), el("div", { class: "excerpt", dir: "auto" }, memory.text)];
  return el("th", { scope: "row", title: `${source}\n${memory.text}` }, parts);
}

/** Another past turn that a row names: by its round where that is known. */
function other(memory, view) {
  if (!memory) return "–";
  const round = view.memories[memory]?.round;
  return round ? strings.round(round) : memory;
}

/** "user 0.100, character 0.100"; a bonus of 0 is none. */
function pairs(values) {
  const entries = Object.entries(values ?? {}).filter(([, value]) => value !== 0 && value !== null);
  return entries.map(([key, value]) => `${key} ${score(value)}`).join(", ") || "–";
}
