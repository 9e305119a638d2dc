// Small parts that every section of the page is made of: times, links, tables, busy and error states.

import { files } from "../api.js";
import { bar, byId, el } from "../dom.js";
import { absolute, relative } from "../format.js";
import { addressOf, chatAddress, go, memoryAddress, turnActAddress } from "./address.js";
import { page } from "./state.js";
import { words } from "./strings.js";

/** A time: relative in the text, absolute on hover, in the person's timezone. */
export function when(iso) {
  if (!iso || Number.isNaN(Date.parse(iso))) return words.none;
  const timezone = page.timeline?.timezone ?? document.body.dataset.timezone;
  return el("time", { datetime: iso, title: absolute(iso, timezone) }, relative(iso));
}

/** A button that acts. */
export const button = (label, onclick, more = {}) => el("button", { type: "button", onclick, ...more }, label);

/** A link to a turn in the chat. */
export function turnLink(timeline, turn, round) {
  if (!turn || !round) return words.none;
  return el("a", { href: chatAddress(timeline, turn), "aria-label": words.roundLink(round) }, words.round(round));
}

/** A hash: its beginning in the text, all of it on hover. */
export function hash(text) {
  if (!text) return words.none;
  return el("code", { class: "hash", title: text }, `${text.replace("sha256:", "").slice(0, 12)}…`);
}

/** A word that marks a state; `tone` is strong, alarm or nothing. */
export const mark = (text, tone = "") => el("span", { class: `mark ${tone}` }, text);

/** A share from 0 to 1 as a number with a bar. */
export function share(value, text = words.percent(value)) {
  return el("span", { class: "share" }, el("span", { class: "number" }, text), bar(value));
}

let ending = 0;

/** Say what happened, to readers of the screen and to everybody else; not for long. */
export function tell(message) {
  clearTimeout(ending);
  byId("status").textContent = message;
  if (message) ending = setTimeout(() => tell(""), 8000);
}

/** A failure as a notice at the top, until it is dismissed. */
export function tellFailure(message) {
  const node = el("p", { class: "notice" }, message);
  node.append(button(words.dismiss, () => node.remove()));
  byId("notices").append(node);
}

/** A failure in the place where something should be, with the way to try again. */
export function failure(error, again) {
  return el(
    "div",
    { class: "failure", role: "alert" },
    el("p", {}, words.notRead(error.message)),
    again ? button(words.tryAgain, again) : null,
  );
}

/**
 * A table that becomes a list on a narrow screen. `heads` are [name, words] pairs; a row holds a cell by name. Cells of
 * `figures` stand to the right. The first column heads its row.
 */
export function table(caption, heads, rows, figures = []) {
  const isFigure = (name) => (figures.includes(name) ? "figure" : "");
  const cell = (name, text, value, index) =>
    index
      ? el("td", { class: isFigure(name), "data-name": text }, value)
      : el("th", { scope: "row", class: isFigure(name) }, value);
  return el(
    "table",
    { class: "stacking" },
    el("caption", { class: "unseen" }, caption),
    el("thead", {}, el("tr", {}, heads.map(([name, text]) => el("th", { scope: "col", class: isFigure(name) }, text)))),
    el(
      "tbody",
      {},
      rows.map((row) => {
        const cells = heads.map(([name, text], index) => cell(name, text, row[name] ?? words.none, index));
        return el("tr", { class: row.class ?? "" }, cells);
      }),
    ),
  );
}

/** Names and values below each other. Pairs without a value are left out. */
export function facts(pairs) {
  const given = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return el("dl", { class: "facts" }, given.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

/** A choice from a list: `options` are [value, words] pairs. */
export function choice(label, id, options, chosen, onchange) {
  const items = options.map(([value, text]) => el("option", { value, selected: value === chosen }, text));
  const select = el("select", { id, onchange: () => onchange?.(select.value) }, items);
  return el("label", { class: "stacked" }, label, select);
}

/** The choice between the open timeline and all of them. */
export function timelinesChoice(id, chosen = "", onchange) {
  const { timeline, timelines } = page;
  const options = [["", words.thisOne(timeline.title || timeline.character)]];
  if (timelines.length > 1) options.push(["all", words.allOfThem(timelines.length)]);
  return choice(words.which, id, options, chosen, onchange);
}

/** The name of a timeline for a person; its id when it is not known. */
export function timelineName(id) {
  const found = page.timelines.find((item) => item.id === id);
  return found ? found.title || found.character : id;
}

/** A value of a record on one line. */
export function short(value, length = 120) {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const points = [...(text ?? "").slice(0, length * 2)];
  return points.length > length ? `${points.slice(0, length - 1).join("")}…` : points.join("");
}

/** A link within the page: it can be copied and opened elsewhere. */
export function link(changes, text, more = {}) {
  const act = (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    go(changes);
  };
  return el("a", { href: addressOf(changes), onclick: act, ...more }, text);
}

/** A memory: the way to its life on the timeline (unless that is shown), and to what can be done with it. */
export function memoryLinks(timeline, memory, isShown = false) {
  const act = (what) =>
    el("a", { href: memoryAddress(timeline, memory, what), "aria-label": words.actOn(words.acts[what], memory) }, words.acts[what]);
  const life = { tab: "lives", memory, timeline };
  return el(
    "span",
    { class: "ways" },
    el("a", { href: memoryAddress(timeline, memory) }, el("code", {}, memory)),
    isShown ? null : link(life, words.life, { "aria-label": words.actOn(words.life, memory) }),
    // A piece of a document goes with its document; the page that it leads to has the way.
    memory.startsWith("m-") ? ["quarantine", "erase"].map(act) : null,
  );
}

/**
 * A turn, and what can be done with it: hold it against the one before, quarantine, erase. `without` names what stands
 * beside it already: "chat" or "compare".
 */
export function turnWays(timeline, turn, round, without = "") {
  const act = (what) =>
    el(
      "a",
      { href: turnActAddress(timeline, turn, round, what), "aria-label": words.actOn(words.acts[what], words.round(round)) },
      words.acts[what],
    );
  // The first round has none before it: the form asks with which.
  const compare = { tab: "diff", timeline, ...(round > 1 ? { first: `${timeline}:${round - 1}`, second: turn } : { first: "", second: `${timeline}:1` }) };
  return el(
    "span",
    { class: "ways" },
    without === "chat" ? null : turnLink(timeline, turn, round),
    without === "compare" ? null : link(compare, words.compareTurn, { "aria-label": words.actOn(words.compareTurn, words.round(round)) }),
    ["quarantine", "erase"].map(act),
  );
}

/** A figure that the server draws, with the ways to save it. `text` says what is in it to whoever cannot see it. */
export function plot(name, query, caption, text) {
  const save = (kind) =>
    el("a", { href: files.plot(name, kind, { ...query, download: 1 }), download: "" }, words.saveAs(kind.toUpperCase()));
  const picture = el("img", { src: files.plot(name, "svg", query), alt: text });
  const node = el("figure", { class: "plot" }, picture, el("figcaption", {}, caption, " ", save("svg"), " ", save("png")));
  picture.addEventListener("error", () => picture.replaceWith(el("p", { class: "warning" }, words.notDrawn)));
  return node;
}

/** Save a value as a JSON file. */
export function saveButton(label, name, value) {
  const save = () => {
    const address = URL.createObjectURL(new Blob([JSON.stringify(value, null, 1)], { type: "application/json" }));
    el("a", { href: address, download: name }).click();
    URL.revokeObjectURL(address);
  };
  return button(label, save);
}

/** A list that grows: `load(after)` gives {rows, more}; `put(rows)` shows them. Returns the button for more. */
export function growing(load, put) {
  let count = 0;
  const more = button(words.more, next, { class: "older", hidden: true });
  function take({ rows, more: isMore }) {
    count += rows.length;
    put(rows);
    more.hidden = !isMore;
  }
  async function next() {
    more.disabled = true;
    try {
      take(await load(count));
    } catch (error) {
      tellFailure(words.notRead(error.message));
    } finally {
      more.disabled = false;
    }
  }
  return { more, take };
}

/** Numbers as ranges: [1, 2, 3, 7] is "1–3, 7". Cut where there are many. */
export function ranges(numbers, most = 12) {
  const runs = [];
  for (const number of numbers) {
    const run = runs.at(-1);
    if (run && number === run[1] + 1) run[1] = number;
    else runs.push([number, number]);
  }
  const shown = runs.slice(0, most).map(([from, to]) => (from === to ? String(from) : `${from}–${to}`));
  return shown.join(", ") + (runs.length > most ? " …" : "");
}

/** A table that may be wider than the page: it scrolls by itself, and the keyboard can reach it. */
export function room(caption, ...given) {
  return el("div", { class: "table-room", tabIndex: 0, role: "region", "aria-label": caption }, table(caption, ...given));
}
