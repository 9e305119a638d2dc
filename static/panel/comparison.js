// What a comparison brought, as one table: a column for each config, the same thing in the same row.

import { bar, el } from "../dom.js";
import { duration, inOrder } from "../format.js";
import { strings } from "../strings.js";
import { aligned, counts } from "./alignment.js";
import { words } from "./strings.js";
import { differencesInWords, shown } from "./values.js";

/** Which folds are open, so that they stay open when a further column is done. */
const open = new Set();

/** The table of a run: {columns: [{title, stage, text, repairing, result, error}], finished}. */
export function comparisonTable(run) {
  const results = run.columns.map(({ result }) => result);
  const rows = aligned(results);
  return el(
    "table",
    { class: "comparison", role: "table", "data-count": run.columns.length },
    el("caption", { class: "unseen" }, words.asked, ": ", run.message),
    el(
      "thead",
      { role: "rowgroup" },
      line(
        el("td", { role: "cell" }),
        run.columns.map((column, index) => heading(column, index, results[0])),
      ),
    ),
    el(
      "tbody",
      { role: "rowgroup" },
      part(words.rows.reply, run, (column, index) => reply(column, index, run)),
      part(
        words.rows.evidence,
        run,
        (column, index) => done(column, run, () => evidenceSummary(rows, index, results[0])),
        words.evidenceHelp,
      ),
      rows.length || results.some((result) => !result)
        ? rows.map((row) => memoryLine(row, run))
        : line(rowHead(""), el("td", { role: "cell", colSpan: run.columns.length, class: "hint" }, words.noEvidence)),
      part(words.rows.analysis, run, (column, index) => done(column, run, () => analysis(column.result.body, index))),
      part(words.rows.protocol, run, (column) => done(column, run, () => protocol(column.result.body))),
      part(words.rows.tokens, run, (column) => done(column, run, () => tokens(column.result.body))),
      part(words.rows.time, run, (column) => done(column, run, () => times(column.result.body, longest(results)))),
      part(words.rows.prompt, run, (column, index) => done(column, run, () => prompt(column.result.prompt, index))),
    ),
  );
}

const line = (...cells) => el("tr", { role: "row" }, cells);
const rowHead = (...content) => el("th", { scope: "row", role: "rowheader" }, content);

function part(title, run, content, help) {
  const head = rowHead(title, help ? el("p", { class: "hint" }, help) : null);
  return el(
    "tr",
    { role: "row", class: "part" },
    head,
    run.columns.map((column, index) => cellOf(index, column, content(column, index))),
  );
}

const cellOf = (index, column, ...content) =>
  el("td", { role: "cell", "data-name": `${index + 1}. ${column.title}`, "data-column": index }, content);

function heading(column, index, first) {
  const differences = column.result ? differencesInWords(column.result.differences) : [];
  return el(
    "th",
    { scope: "col", role: "columnheader" },
    el("span", { class: "name" }, `${index + 1}. ${column.title}`),
    column.result ? el("span", { class: "hint" }, column.result.model) : null,
    differences.map((text) => el("span", { class: "mark" }, text)),
    index && first && column.result ? unlikeFirst(column.result.body.config, first.body.config, index) : null,
  );
}

/** The settings in which a column differs from the first. */
function unlikeFirst(config, first, index) {
  const names = Object.keys(config).filter((name) => config[name] !== first[name]);
  if (!names.length) return el("p", { class: "hint" }, words.likeFirst);
  const items = names.map((name) => el("li", {}, words.difference(name, shown(first[name]), shown(config[name]))));
  return fold(`unlike-${index}`, words.unlikeFirst(names.length), el("ul", { class: "plain number" }, items));
}

/** What is shown of a column that is done; a word while it is not. */
function done(column, run, content) {
  if (column.result) return content();
  if (column.error) return el("span", { class: "hint" }, words.none);
  return el("span", { class: "hint" }, run.finished ? words.unfinished : words.waiting);
}

// -- reply ----------------------------------------------------------------------------------------------------------

function reply(column, index, run) {
  if (column.error) {
    const { kind, text } = column.error;
    return [
      el("p", { class: "reason" }, kind === "cancelled" ? words.columnStopped : words.failed(text)),
      column.text ? [el("p", { class: "hint" }, words.partial), el("p", { class: "words" }, column.text)] : null,
    ];
  }
  if (!column.result) {
    return [
      el("p", { class: "words live" }, column.text),
      el("p", { class: "hint stage-now" }, run.finished ? words.unfinished : stageNow(column)),
    ];
  }
  const { body } = column.result;
  const first = run.columns.findIndex(({ result }) => result?.body.response === body.response);
  return [
    first >= 0 && first < index ? el("p", {}, el("span", { class: "mark" }, words.sameReply(first + 1))) : null,
    el("p", { class: "words" }, body.response),
    body.cited?.length ? el("p", { class: "hint" }, `${words.cites} ${body.cited.join(", ")}`) : null,
  ];
}

/** Where a column that is not done stands. */
export function stageNow({ stage, repairing }) {
  if (repairing) return words.repairing;
  return stage ? words.answering(strings.stages[stage] ?? stage) : words.waiting;
}

// -- evidence -------------------------------------------------------------------------------------------------------

/** What a column was shown, set against the first one if that has a reply. */
function evidenceSummary(rows, index, first) {
  const { shown, added, lost, moved } = counts(rows, index);
  return el("p", {}, index && first ? words.evidenceSummary(shown, added, lost, moved) : words.evidenceFirst(shown));
}

function memoryLine(row, run) {
  const source = row.source ?? (row.round === null ? null : words.roundOf(row.round));
  const head = rowHead(
    row.route
      ? el("span", { class: "hint" }, [words.kinds[row.route], source].filter(Boolean).join(words.separator))
      : null,
    // Without the empty lines of a document, so that the excerpt shows words.
    el(
      "p",
      { class: "words excerpt", title: row.text ?? undefined },
      row.text?.replace(/\n\s*\n/g, "\n") ?? words.erasedMemory,
    ),
  );
  const cells = run.columns.map((column, index) =>
    cellOf(index, column, row.cells[index] ? evidenceCell(row.cells[index]) : done(column, run, () => null)),
  );
  return el("tr", { role: "row", class: "memory" }, head, cells);
}

function evidenceCell(cell) {
  return el(
    "div",
    { class: `place ${cell.verdict}` },
    cell.label ? el("span", { class: "label" }, cell.label) : null,
    cell.verdict === "shown" ? null : verdictMark(cell),
    cell.use ? el("span", { class: "mark" }, words.use[cell.use]) : null,
    cell.label
      ? el(
          "p",
          { class: "hint" },
          words.place(cell.place),
          cell.final === null ? null : [", ", el("span", { class: "number" }, cell.final.toFixed(3)), bar(cell.final)],
        )
      : el("p", { class: "hint" }, words.reason(why(cell.reason))),
    cell.verdict === "added" ? el("p", { class: "hint" }, words.whyAdded(why(cell.firstReason))) : null,
  );
}

/** Why a memory is not shown, as the record says it or in the panel's own words. */
const why = (reason) => words.reasons[reason] ?? reason;

function verdictMark({ verdict, steps }) {
  const told = words.verdicts[verdict];
  const [sign, text] = typeof told === "function" ? told(steps) : told;
  return el(
    "span",
    { class: `verdict ${verdict}` },
    sign ? el("span", { "aria-hidden": "true" }, `${sign} `) : null,
    text,
  );
}

// -- the rest -------------------------------------------------------------------------------------------------------

function facts(pairs) {
  return el(
    "dl",
    { class: "facts" },
    pairs.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]),
  );
}

function fold(key, summary, ...content) {
  const node = el("details", { open: open.has(key) }, el("summary", {}, summary), content);
  node.addEventListener("toggle", () => (node.open ? open.add(key) : open.delete(key)));
  return node;
}

function analysis(body, index) {
  const told = body.analysis;
  if (!told || !(told.text || told.need || told.cited?.length)) return el("span", { class: "hint" }, words.noAnalysis);
  return [
    facts([
      [words.need, told.need ?? "–"],
      [words.labels, told.cited?.join(", ") || words.none],
      ...(told.unknown?.length ? [[words.unknown, told.unknown.join(", ")]] : []),
      [words.check, told.check ?? "–"],
    ]),
    told.text ? fold(`analysis-${index}`, words.asWritten, el("pre", {}, told.text)) : null,
  ];
}

function protocol({ violations = [], repairs = [] }) {
  const broken = violations.map((item) => el("li", {}, el("span", { class: "mark" }, item.kind), " ", item.detail));
  const mended = repairs.map((item) =>
    el(
      "li",
      {},
      `${words.rungs[item.rung] ?? item.rung}: ${item.steps.join(", ")} `,
      el("span", { class: "mark" }, item.fixed ? words.fixed : words.notFixed),
    ),
  );
  return [
    el("p", {}, words.violations(violations.length)),
    broken.length ? el("ul", { class: "plain" }, broken) : null,
    el("p", {}, words.repairs(repairs.length)),
    mended.length ? el("ul", { class: "plain" }, mended) : null,
  ];
}

function tokens({ prompt: written, evidence = [], attempts = [] }) {
  const sum = (items, key) => items.reduce((total, item) => total + (item[key] ?? 0), 0);
  const number = (value, approximate = false) => {
    const text = value.toLocaleString("en");
    return el("span", { class: "number" }, approximate ? words.about(text) : text);
  };
  return facts([
    [words.tokenRows.prompt, written ? number(written.tokens, written.approximate) : "–"],
    [words.tokenRows.evidence, number(sum(evidence, "tokens"))],
    [
      words.tokenRows.reply,
      [number(sum(attempts, "completion_tokens")), attempts.length > 1 ? ` (${words.attempts(attempts.length)})` : ""],
    ],
  ]);
}

const together = (timings) => Object.values(timings ?? {}).reduce((sum, seconds) => sum + seconds, 0);

/** The longest total of all columns, against which every bar is drawn. */
const longest = (results) => Math.max(...results.map((result) => together(result?.body.timings)), 0.001);

function times({ timings = {} }, most) {
  const rows = [
    ...inOrder(timings).map(([name, seconds]) => [strings.stages[name] ?? name, seconds]),
    [words.total, together(timings)],
  ];
  const lines = rows.map(([name, seconds]) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, name),
      el("td", { class: "figure" }, duration(seconds)),
      el("td", {}, bar(seconds / most)),
    ),
  );
  return el("table", { class: "timings" }, el("tbody", {}, lines));
}

function prompt(messages, index) {
  if (!messages) return el("span", { class: "hint" }, words.none);
  const written = messages.map(({ role, content }) =>
    el(
      "section",
      { class: `prompt ${role}` },
      el("p", { class: "role" }, strings.roles[role] ?? role),
      el("pre", {}, content),
    ),
  );
  return fold(`prompt-${index}`, words.showPrompt(messages.length), written);
}
