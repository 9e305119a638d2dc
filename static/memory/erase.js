// Erasing for good: the reach first, then the typed confirmation, then the receipt.

import { api } from "../api.js";
import { el } from "../dom.js";
import { attempt, choice, excerpt, facts, originOptions, ranges, tell, tellFailure, turnLink, when } from "./parts.js";
import { reasonField, showSheet } from "./sheet.js";
import { page } from "./state.js";
import { words } from "./strings.js";

const LISTED = 30;

/** Who wants to know that something was erased: called with what was asked for. */
export const erased = { done() {} };

/** Ask what to erase: a session or the whole timeline. */
export function askErase() {
  const { timeline } = page;
  const fields = {
    session: choice(words.session, "session", originOptions().sessions),
    timeline: el("p", {}, words.eraseWhole(words.chooser(timeline))),
  };
  const show = (name) => Object.entries(fields).forEach(([other, field]) => (field.hidden = other !== name));
  const radios = Object.keys(fields).map((name, place) => {
    const radio = el("input", { type: "radio", name: "scope", value: name, checked: place === 0 });
    radio.addEventListener("change", () => show(name));
    return el("label", { class: "radio" }, radio, words.eraseScopes[name]);
  });
  show("session");
  const sheet = showSheet({
    title: words.eraseTitle,
    body: [
      el("p", { class: "hint" }, words.eraseHelp),
      el("fieldset", {}, el("legend", {}, words.which), radios),
      fields.session,
      fields.timeline,
    ],
    label: words.look,
    submit: (_, fail) => {
      const isWhole = sheet.form.elements.scope.value === "timeline";
      const session = fields.session.querySelector("select").value;
      const what = isWhole ? { timeline: timeline.id } : { timeline: timeline.id, session };
      return attempt(sheet.submit, () => askWith(what, askErase), fail);
    },
  });
}

/** Erase memories by id, or a document, from a button: {timeline, memories} or {document}. */
export async function askToErase(what) {
  try {
    await askWith(what);
  } catch (error) {
    tell("");
    tellFailure(words.notDone(error.message));
  }
}

/** How often it was asked what an erasure reaches: of quick choices only the last one is shown. */
let asked = 0;

/** `again` when another choice was made in the dialog: what was written in it before, as `reason`. */
async function askWith(what, back = null, again = null) {
  asked += 1;
  const mine = asked;
  tell(words.looking);
  const { reach } = await api.erasureReach(what);
  if (mine !== asked) return;
  tell("");
  if (!reach.events) {
    showSheet({ title: words.eraseTitle, body: el("p", {}, words.reachNothing), back });
    return;
  }
  const typed = el("input", {
    name: "confirm",
    autocomplete: "off",
    spellcheck: false,
    "aria-describedby": "confirm-words",
  });
  const { input: reason, field } = reasonField();
  reason.value = again?.reason ?? "";
  const along = alongField(what, reach, async (replies) => {
    sheet.submit.disabled = true;
    try {
      await askWith({ ...what, replies }, back, { reason: reason.value });
    } catch (error) {
      tell("");
      sheet.say(words.notDone(error.message));
    }
  });
  const sheet = showSheet({
    title: words.eraseTitle,
    body: [
      el("p", { class: "hint" }, words.eraseHelp),
      el("h3", {}, words.reachTitle),
      reachList(reach),
      along,
      field,
      el(
        "label",
        {},
        el("span", {}, words.confirmLabel, " ", el("code", { id: "confirm-words", class: "confirm" }, reach.confirm)),
        typed,
      ),
    ],
    label: words.doErase,
    danger: true,
    back,
    submit: async (say) => {
      if (typed.value.trim() !== reach.confirm) {
        typed.focus();
        return say(words.confirmWrong);
      }
      tell(words.erasing);
      const fail = (error) => say(words.notErased(error.message));
      await attempt(sheet.submit, () => doErase(what, reach, reason.value.trim()), fail);
      tell("");
    },
  });
  sheet.form.querySelector(again && along ? "[name=along]:checked" : "h2").focus();
}

/** What becomes of other replies that were made with it in view or repeat it; nothing where there are none. */
function alongField(what, reach, choose) {
  const others = reach.replies.length + reach.copies.length;
  const chosen = what.replies ?? "none";
  if (!others && chosen === "none") return null;
  const radios = Object.entries(words.along).map(([value, label]) => {
    const radio = el("input", { type: "radio", name: "along", value, checked: value === chosen });
    radio.addEventListener("change", () => choose(value === "none" ? undefined : value));
    return el("label", { class: "radio" }, radio, label);
  });
  return el("fieldset", {}, el("legend", {}, words.alongTitle), radios);
}

async function doErase(what, reach, reason) {
  const { receipt } = await api.erase(what, reach.confirm, reason || undefined);
  showReceipt(receipt, reach);
  erased.done(what, reach);
}

function showReceipt(receipt, reach) {
  const kept = reach.replies.filter((item) => !item.goes);
  showSheet({
    title: words.receiptTitle,
    body: [
      el("p", { class: "hint" }, words.receiptHelp),
      facts(Object.entries(receipt).map(([name, value]) => [words.receipt[name] ?? name, asText(name, value)])),
      kept.length ? el("p", {}, words.receiptKept) : null,
      kept.length ? replyList(kept) : null,
    ].filter(Boolean),
  });
}

function asText(name, value) {
  if (name === "at") return when(value);
  if (!Array.isArray(value)) return value;
  if (!value.length) return null;
  const ids = el("code", {}, value.join(", "));
  return value.length > 2 ? fold(value.length.toLocaleString("en"), ids) : ids;
}

// -- what it reaches --------------------------------------------------------------------------------------------------

function reachList(reach) {
  const parts = [
    part(words.reach.memories, reach.memories, (item) =>
      el(
        "li",
        {},
        el("span", { class: "hint" }, item.round ? words.round(item.round) : "", " ", item.at ? when(item.at) : ""),
        " ",
        line(item.text),
      ),
    ),
    reach.events ? el("p", {}, words.reach.events(reach.events)) : null,
    part(words.reach.instructions, reach.instructions, (item) => el("li", {}, line(item.text))),
    reach.prompts?.length ? promptsPart(reach.prompts) : null,
    ...[true, false].flatMap((goes) => othersParts(reach, goes)),
    part(words.reach.files, reach.files, (item) => el("li", {}, el("code", {}, String(item.name ?? item)))),
  ];
  return el("div", { class: "reach" }, parts.filter(Boolean));
}

const line = (text) => el("span", { class: "words", dir: "auto" }, excerpt(text, 160));
const fold = (summary, ...inside) => el("details", {}, el("summary", {}, summary), inside);

function part(summary, items, entry) {
  if (!items?.length) return null;
  return fold(summary(items.length), list(items, entry));
}

function list(items, entry) {
  const rest = items.length - LISTED;
  return [
    el("ul", { class: "plain" }, items.slice(0, LISTED).map(entry)),
    rest > 0 ? el("p", { class: "hint" }, words.moreThan(rest)) : null,
  ];
}

/** Other replies and records that go along, or that stay. */
function othersParts(reach, goes) {
  const replies = reach.replies.filter((item) => item.goes === goes);
  const copies = reach.copies.filter((item) => item.goes === goes);
  const telling = words.reach[goes ? "along" : "replies"];
  const quoting = replies.filter((item) => item.shares !== null);
  return [
    replies.length ? fold(telling(replies.length, quoting.length), replyList([...new Set([...quoting, ...replies])])) : null,
    part((count) => words.reach.copies(count, goes), copies, (item) =>
      el("li", {}, words.kinds[item.kind] ?? item.kind, " ", when(item.at), " ", repeated(item), line(item.text)),
    ),
  ];
}

const repeated = (item) =>
  item.shares === null ? "" : el("span", { class: "hint", dir: "auto" }, words.repeats(excerpt(item.shares, 60)), " ");

function promptsPart(prompts) {
  const summary = words.reach.prompts(prompts.length);
  const rounds =
    prompts.length > LISTED
      ? el("p", { class: "hint" }, words.roundList(ranges(prompts.map((item) => item.round))))
      : null;
  const entry = (item) =>
    el(
      "li",
      {},
      turnLink(item.timeline, item.turn, item.round),
      " ",
      el("span", { class: "hint" }, (item.labels ?? []).map((label) => words.shownAs[label] ?? label).join(", ")),
    );
  return fold(summary, rounds, list(prompts, entry));
}

function replyList(replies) {
  return list(replies, (item) =>
    el(
      "li",
      {},
      turnLink(item.timeline, item.turn, item.round),
      " ",
      when(item.at),
      " ",
      repeated(item),
      line(item.text),
    ),
  );
}
