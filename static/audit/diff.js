// Compare: two turns side by side, or two timelines round by round. What is compared is in the address.

import { api } from "../api.js";
import { el, fill } from "../dom.js";
import { go, place } from "./address.js";
import { choice, facts, growing, link, mark, memoryLinks, ranges, room, share, short, table, timelineName, turnWays, when } from "./parts.js";
import { page } from "./state.js";
import { words } from "./strings.js";

const TIMELINE = /^t-[0-9a-f]{12}$/;
const REFERENCE = /^(t-[0-9a-f]{12}):(\d{1,9})$/;
const PAGE = 50;

/** Show the form, and what the address asks for. */
export async function diffSection(section) {
  const { signal } = page;
  const { first, second } = place();
  const outcome = el("div", { class: "outcome" });
  const error = el("p", { class: "alarm", role: "alert" });
  const sides = [side("first", first), side("second", second)];
  const form = el(
    "form",
    { class: "asking-form" },
    el("div", { class: "pickers" }, sides.map(({ node }) => node)),
    error,
    el("div", { class: "row" }, el("button", { class: "primary" }, words.compareNow)),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const given = sides.map((one) => one.value());
    const wrong = sides.find((one) => !one.fits());
    error.textContent = wrong ? words.roundWrong : isRun(given[0]) === isRun(given[1]) ? "" : words.mixed;
    if (wrong) return wrong.focus();
    if (!error.textContent) go({ first: given[0], second: given[1] });
  });
  fill(section, el("p", { class: "hint" }, words.diffHelp), form, outcome);
  if (!first || !second) return fill(outcome, el("p", { class: "empty" }, words.nothingCompared));
  fill(outcome, el("p", { class: "hint" }, words.loading));
  if (isRun(first) && isRun(second)) return showRuns(outcome, first, second, signal);
  const found = await api.auditDiff(first, second);
  if (signal.aborted) return;
  // An event id says neither whose turn it is nor which round; the answer does.
  sides.forEach((one, index) => one.put(found.sides[index]));
  fill(outcome, ofTurns(found));
}

const isRun = (reference) => TIMELINE.test(reference);

/** One side of the form: a timeline and, for a turn, its round. */
function side(name, given) {
  const [, timeline, round] = REFERENCE.exec(given) ?? ["", isRun(given) ? given : "", ""];
  // Nothing is given at first: the newest two rounds are the likeliest.
  const rounds = page.timeline.rounds;
  const likely = given ? round : rounds > 1 ? String(name === "first" ? rounds - 1 : rounds) : "";
  const options = page.timelines.map((item) => [item.id, words.chooser(item)]);
  const which = choice(words.timelineOf[name], `${name}-timeline`, options, timeline || page.timeline.id);
  const select = which.querySelector("select");
  const input = el("input", { id: `${name}-round`, inputMode: "numeric", value: likely, autocomplete: "off", size: 8 });
  const reading = el("label", { class: "stacked" }, words.roundOf, input);
  return {
    node: el("fieldset", { class: "picker" }, el("legend", {}, words.sides[name]), which, reading, el("p", { class: "hint" }, words.roundHint)),
    value: () => (input.value.trim() ? `${select.value}:${input.value.trim()}` : select.value),
    fits: () => /^\d{0,9}$/.test(input.value.trim()),
    focus: () => input.focus(),
    put(turn) {
      [select.value, input.value] = [turn.timeline, String(turn.round)];
    },
  };
}

// -- two turns --------------------------------------------------------------------------------------------------------

function ofTurns(found) {
  return [
    el("h2", {}, words.twoTurns),
    el("p", { class: "verdict" }, found.same ? words.sameTurns : words.otherTurns),
    factTable(found),
    settings(found.config),
    el("section", {}, el("h3", {}, words.evidence), evidence(found)),
    el("section", {}, el("h3", {}, words.repliesBeside), replies(found)),
  ];
}

const twoHeads = [["name", words.what], ["first", words.sides.first], ["second", words.sides.second]];
/** What stands in the table anyway, whether it differs or not. */
const STANDING = ["round", "message", "model", "preset"];

function factTable({ sides, facts: differing, tokens, seconds, cited }) {
  const [one, two] = sides;
  const row = (name, first, second) => ({ name, first, second, class: String(first) === String(second) ? "" : "differs" });
  const rows = [
    { name: words.factNames.turn, ...pair(sides.map((item) => el("span", {}, timelineName(item.timeline), ", ", turnWays(item.timeline, item.turn, item.round, "compare")))) },
    { name: words.factNames.at, ...pair(sides.map((item) => when(item.at))) },
    ...["message", "model", "preset"].map((name) => row(words.factNames[name], one[name], two[name])),
    ...Object.entries(differing)
      .filter(([name]) => !STANDING.includes(name))
      .map(([name, [first, second]]) => row(words.factNames[name] ?? name, asText(first), asText(second))),
    row(words.factNames.cited, asText(cited[0]), asText(cited[1])),
    row(words.factNames.tokens, ...tokens.map(words.number)),
    row(words.factNames.seconds, ...seconds.map(words.seconds)),
  ];
  return table(words.twoTurns, twoHeads, rows);
}

const pair = ([first, second]) => ({ first, second });

function asText(value) {
  if (value === true || value === false) return words.yesNo[value];
  if (Array.isArray(value)) return value.map(asText).join(", ") || words.none;
  return value === null || value === "" ? words.none : typeof value === "object" ? JSON.stringify(value) : String(value);
}

function settings(config) {
  const rows = Object.entries(config).map(([name, change]) => ({
    name: el("code", {}, name),
    first: asText(change.from),
    second: asText(change.to),
  }));
  return rows.length ? el("section", {}, el("h3", {}, words.otherSettings), table(words.otherSettings, twoHeads, rows)) : null;
}

function evidence({ evidence: items, memories, sides, overlap, correlation }) {
  const measures = facts([
    [words.overlap, share(overlap)],
    [words.totalRows.correlation, el("span", {}, correlation === null ? words.none : correlation.toFixed(2), " ", el("span", { class: "hint" }, words.rhoWords(correlation)))],
  ]);
  if (!items.length) return [el("p", { class: "empty" }, words.neitherEvidence), measures];
  const rows = items.map(({ memory, labels, finals, change }) => ({
    first: standing(labels[0], finals[0]),
    second: standing(labels[1], finals[1]),
    change: change === "same" ? words.changes.same : mark(words.changes[change] ?? change, "strong"),
    memory: el(
      "div",
      {},
      el("p", { class: "words clipped", dir: "auto" }, memories[memory] ? short(memories[memory].text.replace(/\s+/g, " "), 300) : words.erasedMemory),
      memoryLinks(sides[labels[0] ? 0 : 1].timeline, memory),
    ),
  }));
  return [room(words.evidence, Object.entries(words.evidenceHeads), rows), measures];
}

const standing = (label, final) => (label ? `${label}${final === null ? "" : ` (${final.toFixed(3)})`}` : words.none);

/** Both replies as one text: what only one of them says is marked, in words for readers of the screen. */
function replies({ replies: [first, second], words: stretches }) {
  if (first === second) return [el("p", { class: "hint" }, words.sameReply), el("p", { class: "words", dir: "auto" }, first)];
  const side = (name, text) =>
    el("div", { class: "reply-side" }, el("h4", {}, words.sides[name]), el("p", { class: "words", dir: "auto" }, text || words.none));
  const tags = { both: "span", first: "del", second: "ins" };
  const marked = stretches.map(({ of, text }) => el(tags[of], {}, text));
  return [
    el("div", { class: "sides" }, side("first", first), side("second", second)),
    el("h4", {}, words.inOne),
    el("p", { class: "hint" }, el("del", {}, words.sides.first), " ", el("ins", {}, words.sides.second)),
    el("p", { class: "words marked", dir: "auto" }, marked),
  ];
}

// -- two timelines ----------------------------------------------------------------------------------------------------

async function showRuns(outcome, first, second, signal) {
  const load = async (after) => api.auditRuns({ first, second, after, limit: PAGE });
  const found = await load(0);
  if (signal.aborted) return;
  const heads = Object.entries(words.runHeads);
  const whole = room(words.twoRuns, heads, [], ["only_one", "moved"]);
  const body = whole.querySelector("tbody");
  let last = 0;
  const put = (rows) => {
    last = rows.at(-1)?.rounds[0] ?? last;
    const some = table(words.twoRuns, heads, rows.map((row) => runRow(row)), ["only_one", "moved"]);
    body.append(...some.querySelector("tbody").children);
  };
  const list = growing(() => load(last), put);
  list.take(found);
  const only = (name) => (found[`only_${name}`].length ? el("p", {}, words.onlyOne(words.sides[name], ranges(found[`only_${name}`]))) : null);
  fill(
    outcome,
    el("h2", {}, words.twoRuns),
    el("p", { class: "hint" }, words.runsOf(timelineName(first), timelineName(second))),
    el("p", { class: "verdict" }, words.sameRounds(found.same, found.count)),
    found.damaged.map(({ name, message }) => el("p", { class: "warning" }, words.brokeOff(timelineName(name), message))),
    only("first"),
    only("second"),
    found.count ? [whole, list.more] : el("p", { class: "empty" }, words.noSharedRound),
  );
}

function runRow(row) {
  return {
    round: link({ first: row.turns[0], second: row.turns[1] }, words.round(row.rounds[0]), { "aria-label": words.besideRound(row.rounds[0]) }),
    same: row.same ? words.changes.same : mark(words.differs, "strong"),
    overlap: share(row.overlap),
    only_one: words.number(row.only_one),
    moved: words.number(row.moved),
    reply: row.same_reply ? words.changes.same : words.differs,
    facts: [...row.facts.map((name) => words.factNames[name] ?? name), row.settings ? words.settingsCount(row.settings) : null].filter(Boolean).join(", ") || words.none,
  };
}
