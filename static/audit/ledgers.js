// Ledgers: every ledger with its state, the verification of all or one, and the events of an opened one.

import { api } from "../api.js";
import { el, fill } from "../dom.js";
import { go, place } from "./address.js";
import { byTurn } from "./differences.js";
import { eventList } from "./events.js";
import { button, choice, facts, failure, hash, link, mark, table, tell, when } from "./parts.js";
import { runPart } from "./run.js";
import { page } from "./state.js";
import { words } from "./strings.js";

/** Show the ledgers, or the one in the address. */
export async function ledgersSection(section) {
  const { signal } = page;
  const { ledger } = place();
  let { ledgers, runs } = await api.auditLedgers();
  if (signal.aborted) return;
  if (!ledgers.some(({ events }) => events)) return fill(section, el("p", { class: "empty" }, words.noLedgers));
  const opened = ledgers.find(({ name }) => name === ledger);
  const findings = el("div", { class: "findings" });
  const overview = el("div", { class: "overview" });
  const start = button(opened ? words.verifyThis : words.verifyAll, () => run.begin(opened ? { ledgers: [ledger] } : {}), {
    class: "primary",
  });
  let told = [];

  function draw() {
    const mine = opened ? told.filter(({ name }) => name === ledger) : told;
    fill(overview, opened ? ledgerFacts(ledgers.find(({ name }) => name === ledger)) : ledgersTable(ledgers));
    fill(findings, mine.length ? outcome(mine) : null);
  }

  const run = runPart("verify", {
    controls: () => [start],
    begun: () => (told = []),
    happened: (name, data) => name === "ledger" && told.push(data),
    ended: async (how) => {
      if (how === "done") tell(verdict(told));
      try {
        ({ ledgers, runs } = await api.auditLedgers());
        if (!signal.aborted) draw();
      } catch (error) {
        if (!signal.aborted) fill(findings, failure(error));
      }
    },
  });
  fill(
    section,
    opened ? el("p", {}, toAll()) : el("p", { class: "hint" }, words.ledgersHelp),
    opened ? el("h2", { class: "name" }, nameOf(opened)) : null,
    el("div", { class: "row wrap" }, start, run.node),
    overview,
    findings,
    opened ? await eventsOf(opened) : el("p", { class: "hint" }, words.checkpointHelp, " ", link({ tab: "checkpoints" }, words.toCheckpoints)),
  );
  draw();
  if (runs.verify) run.follow();
}

const nameOf = (row) =>
  row.kind === "knowledge" ? words.knowledge : row.title || (row.user ? words.withName(row) : words.wholeErased);

function toAll() {
  return link({ ledger: "", kind: "" }, words.backToLedgers);
}

const stateOf = (row) => (row.damage ? "disagrees" : (row.verified?.state ?? "none"));
const TONES = { good: "strong", disagrees: "bad", unreadable: "bad", none: "" };

function state(row) {
  const word = stateOf(row);
  const since = row.verified && row.events > row.verified.events ? row.events - row.verified.events : 0;
  return el(
    "span",
    { class: "state" },
    mark(words.states[word], TONES[word]),
    row.verified ? el("span", { class: "hint" }, " ", when(row.verified.at)) : null,
    since ? el("span", { class: "hint" }, ` ${words.stateHelp.since(since)}`) : null,
  );
}

const checkpoint = (row) =>
  row.checkpoint
    ? el("span", {}, words.checkpointAt(row.checkpoint.seq), ", ", when(row.checkpoint.at))
    : el("span", { class: "hint" }, words.noCheckpoint);

function ledgersTable(ledgers) {
  const rows = ledgers.map((row) => ({
    ledger: el("span", { class: "who" }, link({ ledger: row.name, kind: "" }, nameOf(row)), el("code", { class: "hint" }, row.name)),
    events: words.number(row.events),
    erased: words.number(row.erased),
    at: when(row.at),
    checkpoint: checkpoint(row),
    state: state(row),
    tip: hash(row.tip),
  }));
  return table(words.tabs.ledgers, Object.entries(words.heads), rows, ["events", "erased"]);
}

function ledgerFacts(row) {
  const word = stateOf(row);
  return [
    facts([
      [words.heads.ledger, el("code", {}, row.name)],
      [words.heads.state, el("span", {}, state(row), " · ", el("span", { class: "hint" }, words.stateHelp[word]))],
      [words.heads.events, words.number(row.events)],
      [words.heads.erased, row.erased ? words.number(row.erased) : null],
      [words.heads.checkpoint, checkpoint(row)],
      [words.heads.tip, row.tip ? el("code", {}, row.tip) : null],
    ]),
    row.damage ? el("p", { class: "warning" }, words.damage(row.damage)) : null,
    row.torn_bytes ? el("p", { class: "hint" }, words.torn(row.torn_bytes)) : null,
  ];
}

// -- what a verification found ----------------------------------------------------------------------------------------

const isGood = (row) => row.state === "good";

function verdict(told) {
  return told.length ? words.verifiedAll(told.filter(isGood).length, told.length) : words.noLedgers;
}

function outcome(told) {
  return [
    el("h2", {}, words.foundTitle),
    el("p", { class: "verdict" }, verdict(told)),
    el("ul", { class: "plain found" }, [...told].sort((a, b) => isGood(a) - isGood(b)).map(found)),
  ];
}

function found(row) {
  const summary = [el("code", {}, row.name), mark(words.states[row.state], TONES[row.state]), el("span", { class: "hint number" }, words.verifyRow(row))];
  const notes = [
    ...row.findings.map((finding) => el("li", {}, el("span", { class: "hint number" }, `${words.findingPlace(finding)}: `), finding.text)),
    row.more ? el("li", {}, words.moreFindings(row.more)) : null,
    row.error && !row.findings.length ? el("li", {}, row.error) : null,
    ...row.not_checked.map((reason) => el("li", { class: "hint" }, words.notChecked(reason))),
  ].filter(Boolean);
  if (!notes.length && !row.disagreeing.length) return el("li", { class: "row wrap" }, summary);
  return el(
    "li",
    {},
    el(
      "details",
      { open: !isGood(row) },
      el("summary", {}, summary.map((part) => [part, " "])),
      notes.length ? el("ul", {}, notes) : null,
      row.disagreeing.length ? byTurn(row.disagreeing) : null,
    ),
  );
}

// -- the events of one ------------------------------------------------------------------------------------------------

async function eventsOf(row) {
  const { kind } = place();
  const first = await api.auditEvents(row.name, { kind, limit: 50, bodies: 0 });
  const kinds = Object.entries(first.kinds).map(([name, count]) => [name, words.kindCount(words.kinds[name] ?? (name || words.unreadable), count)]);
  return el(
    "section",
    { class: "events" },
    el("h2", {}, words.eventsOf(nameOf(row))),
    el(
      "div",
      { class: "row wrap" },
      choice(words.kind, "event-kind", [["", words.anyKind], ...kinds], kind, (chosen) => go({ kind: chosen }, true)),
      el("p", { class: "hint number" }, words.eventsCount(first.count)),
    ),
    eventList(row.name, kind, first),
  );
}
