// The tab "Messages": what the context policy made of every earlier message, and why.

import { el } from "./dom.js";
import { score } from "./format.js";
import { strings } from "./strings.js";

// Left-out messages shown one by one; longer runs are one line.
const FEW = 3;

/** The earlier messages of a turn. */
export function messagesTab(view) {
  const { body } = view.record;
  if (!body) return el("p", { class: "empty" }, strings.erased);
  const policy = body.config?.policy;
  if (!body.history?.length) return el("p", { class: "empty" }, strings.noMessages(policy, body.window ?? []));
  const count = (fidelity) => body.history.filter((row) => row.fidelity === fidelity).length;
  const tokens = body.history.reduce((sum, row) => sum + row.tokens, 0);
  const focused = body.history.some((row) => row.focus);
  return [
    el("p", { class: "hint" }, strings.policies[policy] ?? policy),
    el(
      "p",
      { class: "hint" },
      strings.messageFacts(count("FULL"), count("COMPRESSED"), count("PLACEHOLDER"), count(null), tokens),
    ),
    el(
      "div",
      { class: "wide", tabIndex: 0, role: "region", "aria-label": strings.tabs.messages },
      el(
        "table",
        { "aria-label": strings.tabs.messages },
        el("thead", {}, el("tr", {}, headings(focused))),
        el(
          "tbody",
          {},
          runs(body.history).map((run) => (run.length > FEW ? runRow(run, focused) : run.map((row) => line(row, view, focused)))),
        ),
      ),
    ),
  ];
}

function headings(focused) {
  const names = ["message", "shown", "tokens", "reason"];
  return [...names, ...(focused ? ["importance", "similarity", "recency", "score"] : [])].map((name) =>
    el("th", { scope: "col", title: strings.messageColumns[name][1] }, strings.messageColumns[name][0]),
  );
}

/** Neighbours that were left out for one reason together, each other message alone. */
function runs(rows) {
  const found = [];
  for (const row of rows) {
    const last = found.at(-1);
    const same = last && row.fidelity === null && last[0].fidelity === null && last[0].reason === row.reason;
    if (same) last.push(row);
    else found.push([row]);
  }
  return found;
}

function runRow(run, focused) {
  const words = strings.leftOutRun(run[0].round, run.at(-1).round, run.length, run[0].reason);
  return el("tr", { class: "dropped" }, el("th", { scope: "row", colSpan: focused ? 8 : 4 }, words));
}

function line(row, view, focused) {
  const shown = row.fidelity === null ? strings.leftOut : strings.shownAs(row.fidelity);
  const { focus } = row;
  const said = view.memories[row.memory];
  return el(
    "tr",
    { class: row.fidelity === null ? "dropped" : "kept" },
    el(
      "th",
      { scope: "row" },
      el("div", { class: "source" }, `${strings.round(row.round)}, ${strings.parts[row.part]}`),
      said ? el("div", { class: "excerpt", dir: "auto" }, sideOf(said, row.part)) : null,
    ),
    el("td", {}, shown),
    el("td", { class: "figure" }, String(row.tokens)),
    el("td", {}, row.note ? `${row.reason} (${row.note})` : row.reason),
    focused ? focusCells(focus) : null,
  );
}

/** The words of one side of a remembered round, as far as the view has them. */
function sideOf(memory, part) {
  return (part === "user" ? memory.message : memory.reply) ?? memory.text;
}

function focusCells(focus) {
  return [
    el(
      "td",
      {},
      focus ? strings.importances[focus.importance] : "–",
      // Records from before it was kept, and messages that were not judged, have no reason.
      focus?.reason ? el("div", { class: "source" }, strings.sure(focus.probability, focus.reason)) : null,
    ),
    ...["similarity", "recency", "score"].map((name) => el("td", { class: "figure" }, focus ? score(focus[name]) : "–")),
  ];
}
