// Small parts that every section of the page is made of: times, links, buttons, busy and error states.

import { byId, el } from "../dom.js";
import { absolute, relative } from "../format.js";
import { chatAddress } from "./address.js";
import { page } from "./state.js";
import { words } from "./strings.js";

/** A time: relative in the text, absolute on hover, in the person's timezone. */
export function when(iso) {
  if (!iso) return words.none;
  const timezone = page.timeline?.timezone ?? document.body.dataset.timezone;
  return el("time", { datetime: iso, title: absolute(iso, timezone) }, relative(iso));
}

/** A button that acts; a failure is told where the person is. */
export function button(label, onclick, more = {}) {
  return el("button", { type: "button", onclick, ...more }, label);
}

/** A link to a turn in the chat. */
export function turnLink(timeline, turn, round) {
  return el(
    "a",
    { href: chatAddress(timeline, turn, round), "aria-label": words.roundLink(round) },
    words.round(round),
  );
}

let ending = 0;

/** Say what happens, to readers of the screen and to everybody else. What is over is not said for long. */
export function tell(message) {
  clearTimeout(ending);
  byId("status").textContent = message;
  if (message && !message.endsWith("…")) ending = setTimeout(() => tell(""), 8000);
}

/** A failure as a notice at the top, until it is dismissed. */
export function tellFailure(message) {
  const node = el("p", { class: "notice" }, message);
  node.append(button(words.dismiss, () => node.remove()));
  byId("notices").append(node);
}

/** What has been done, with the way back. */
export function tellDone(message, label, act) {
  const node = el("p", { class: "notice done" }, message);
  const end = () => node.remove();
  const both = el("span", { class: "row" }, button(words.dismiss, end));
  if (label) {
    both.prepend(
      button(label, () => {
        end();
        act();
      }),
    );
  }
  node.append(both);
  byId("notices").replaceChildren(node);
}

/** A failure in the place where something should be, with the way to try again. */
export function failure(error, again) {
  return el(
    "div",
    { class: "failure", role: "alert" },
    el("p", {}, words.notRead(error.message)),
    button(words.tryAgain, again),
  );
}

/**
 * Fill `node` with what `load` gives: busy meanwhile, an explanation and a second try when it fails. What it holds
 * already stays until then, so that nothing jumps.
 */
export async function loadInto(node, load) {
  if (!node.children.length) node.replaceChildren(el("p", { class: "hint" }, words.loading));
  node.setAttribute("aria-busy", "true");
  try {
    node.replaceChildren(...[await load()].flat(Infinity).filter(Boolean));
  } catch (error) {
    node.replaceChildren(failure(error, () => loadInto(node, load)));
  } finally {
    node.removeAttribute("aria-busy");
  }
}

const plainly = (error) => tellFailure(words.notDone(error.message));

/** Run `act` with `control` disabled; true when it went well, else `tellOf` has told the failure. */
export async function attempt(control, act, tellOf = plainly) {
  if (control.disabled) return false;
  control.disabled = true;
  try {
    await act();
    return true;
  } catch (error) {
    tell("");
    tellOf(error);
    return false;
  } finally {
    control.disabled = false;
  }
}

/** Names and values below each other. Pairs without a value are left out. */
export function facts(pairs) {
  const given = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return el(
    "dl",
    { class: "facts" },
    given.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]),
  );
}

/** A choice from a list: `options` are [value, words] pairs. */
export function choice(label, name, options, chosen, onchange) {
  const items = options.map(([value, text]) => el("option", { value, selected: value === chosen }, text));
  return el("label", {}, label, el("select", { name, onchange }, items));
}

/** A session in words; an imported one has its name as its id. */
export function sessionWords(id) {
  const session = page.sessions.find((item) => item.id === id);
  return session ? words.sessionName(session) : words.importedSession(id);
}

/** The sessions and models that memories come from, as options of a choice, with how many come from each. */
export function originOptions() {
  const { sessions, models } = page.origins;
  return {
    sessions: sessions.map(({ id, count }) => [id, words.withCount(sessionWords(id), count)]),
    models: models.map(({ name, count }) => [name, words.withCount(name, count)]),
  };
}

/** Numbers as ranges: [1, 2, 3, 7] is "1–3, 7". Cut where there are many. */
export function ranges(numbers, most = 12) {
  const runs = [];
  for (const number of [...new Set(numbers)].sort((a, b) => a - b)) {
    const run = runs.at(-1);
    if (run && number === run[1] + 1) run[1] = number;
    else runs.push([number, number]);
  }
  const shown = runs.slice(0, most).map(([from, to]) => (from === to ? String(from) : `${from}–${to}`));
  return shown.join(", ") + (runs.length > most ? " …" : "");
}

/** A text of at most `length` characters; whole emoji and surrogate pairs. */
export function excerpt(text, length = 120) {
  const points = [...(text ?? "").slice(0, length * 2 + 2)];
  return points.length > length ? `${points.slice(0, length - 1).join("")}…` : points.join("");
}
