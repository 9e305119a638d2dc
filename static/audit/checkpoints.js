// Checkpoints: signing what the ledgers hold, holding a checkpoint against them, and proofs about single events.

import { api, files } from "../api.js";
import { el, fill } from "../dom.js";
import { place } from "./address.js";
import { button, choice, facts, growing, mark, saveButton, table, tell, when } from "./parts.js";
import { page } from "./state.js";
import { words } from "./strings.js";

const PAGE = 20;

/** Show the key, the forms and the checkpoints that there are. */
export async function checkpointsSection(section) {
  const { signal } = page;
  const [{ ledgers }, first] = await Promise.all([api.auditLedgers(), api.checkpoints({ limit: PAGE })]);
  if (signal.aborted) return;
  const view = { key: el("div", {}), saved: el("div", { class: "overview" }) };
  const refresh = async () => {
    const found = await api.checkpoints({ limit: PAGE });
    if (!signal.aborted) show(view, found, check);
  };
  const check = checkPart();
  fill(
    section,
    el("p", { class: "hint" }, words.checkpointsHelp),
    view.key,
    ledgers.some(({ events }) => events) ? signPart(ledgers, refresh) : el("p", { class: "empty" }, words.noLedgers),
    check.node,
    provePart(),
    view.saved,
  );
  show(view, first, check);
}

/** Do something with a form's button disabled; a failure is said in `error`, what comes out goes into `outcome`. */
async function attempt(control, error, outcome, act) {
  const { signal } = page;
  control.disabled = true;
  error.textContent = "";
  fill(outcome, el("p", { class: "hint" }, words.working));
  try {
    const parts = await act();
    if (!signal.aborted) fill(outcome, parts);
  } catch (failed) {
    fill(outcome);
    if (!signal.aborted) error.textContent = failed.message;
  } finally {
    control.disabled = false;
  }
}

const alarm = () => el("p", { class: "alarm", role: "alert" });
const keyText = (key) => el("code", { class: "key" }, key);

function show(view, found, check) {
  const { key, folder } = found;
  fill(
    view.key,
    facts([
      [words.publicKey, key.public_key ? keyText(key.public_key) : key.there ? null : words.noKey],
      [words.keyFile, el("code", {}, key.path)],
      [words.folder, el("code", {}, folder)],
    ]),
    key.problem ? el("p", { class: "warning" }, key.problem) : null,
    el("p", { class: "hint" }, words.keyHelp),
  );
  const whole = table(words.savedHere, Object.entries(words.savedHeads), [], ["seq"]);
  const body = whole.querySelector("tbody");
  const load = async (after) => {
    const next = await api.checkpoints({ after, limit: PAGE });
    return { rows: next.checkpoints, more: next.more };
  };
  const list = growing(load, (rows) => {
    const some = table(words.savedHere, Object.entries(words.savedHeads), rows.map((row) => savedRow(row, key, check)), ["seq"]);
    body.append(...some.querySelector("tbody").children);
  });
  list.take({ rows: found.checkpoints, more: found.more });
  fill(
    view.saved,
    el("h2", {}, words.savedHere),
    found.checkpoints.length ? [whole, list.more] : el("p", { class: "hint" }, words.noneSaved),
  );
}

function savedRow(row, key, check) {
  const own = row.public_key && row.public_key === key.public_key;
  return {
    ledger: el("span", { class: "who" }, nameOf(row.ledger), el("code", { class: "hint" }, row.ledger)),
    seq: row.seq === null ? words.none : words.number(row.seq),
    at: row.problem ? el("span", { class: "warning" }, row.problem) : when(row.at),
    key: row.public_key ? (own ? words.ownKey : el("code", { title: row.public_key }, `${row.public_key.slice(0, 20)}…`)) : words.none,
    file: el("a", { href: files.checkpoint(row.file), download: row.file, "aria-label": words.saveFile(row.file) }, words.saveIt),
    check: row.problem
      ? words.none
      : el(
          "span",
          { class: "ways" },
          button(words.checkIt, () => check.run({ file: row.file }), { "aria-label": words.actOn(words.checkIt, row.file) }),
          button(words.proveIt, () => check.run({ file: row.file }, true), { "aria-label": words.actOn(words.proveIt, row.file) }),
        ),
  };
}

function nameOf(ledger) {
  if (ledger === "knowledge") return words.knowledge;
  const found = page.timelines.find((item) => item.id === ledger);
  return found ? found.title || words.withName(found) : words.aTimeline;
}

// -- signing ----------------------------------------------------------------------------------------------------------

function signPart(ledgers, refresh) {
  const outcome = el("div", { class: "outcome" });
  const error = alarm();
  const options = ledgers.filter(({ events }) => events).map(({ name }) => [name, nameOf(name)]);
  const which = choice(words.whichLedger, "sign-which", [["", words.allOfThem(options.length)], ...options], "");
  const start = el("button", { class: "primary" }, words.sign);
  const form = el("form", { class: "asking-form" }, el("div", { class: "row wrap asking" }, which, start), error);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (start.disabled) return;
    attempt(start, error, outcome, async () => {
      const name = which.querySelector("select").value;
      const done = await api.signCheckpoints(name ? [name] : null);
      await refresh();
      tell(words.signed(done.checkpoints.length));
      return [
        el("p", { class: "verdict" }, words.signed(done.checkpoints.length)),
        done.made_key ? el("p", {}, words.madeKey(done.key.path)) : null,
        done.errors.map((item) => el("p", { class: "warning" }, item.error)),
        done.checkpoints.length ? el("p", {}, words.keepElsewhere) : null,
      ];
    });
  });
  return el("section", { class: "part" }, el("h2", {}, words.signTitle), form, outcome);
}

// -- holding one against the ledgers ----------------------------------------------------------------------------------

function checkPart() {
  const outcome = el("div", { class: "outcome", tabIndex: -1 });
  const error = alarm();
  const file = el("input", { type: "file", id: "check-file", accept: ".json,application/json" });
  const key = el("input", { id: "check-key", autocomplete: "off", spellcheck: false });
  const start = el("button", { class: "primary" }, words.checkNow);
  const prove = el("button", { type: "button" }, words.proveNow);
  const form = el(
    "form",
    { class: "asking-form" },
    el(
      "div",
      { class: "row wrap asking" },
      el("label", { class: "stacked" }, words.checkFile, file),
      el("label", { class: "stacked grow" }, words.checkKey, key),
    ),
    el("p", { class: "hint" }, words.checkKeyHint),
    error,
    el("div", { class: "row wrap" }, start, prove),
  );

  async function run(given, isProof = false) {
    await attempt(start, error, outcome, async () => {
      if (isProof) return proofParts(await api.proveConsistency(given));
      const asked = key.value.trim() ? { ...given, public_key: key.value.trim() } : given;
      return heldParts((await api.checkCheckpoint(asked)).held, !asked.public_key);
    });
    outcome.focus();
  }

  async function runUploaded(isProof) {
    const [chosen] = file.files;
    if (!chosen) {
      error.textContent = words.noFile;
      return file.focus();
    }
    // A checkpoint has less than a kibibyte; the server names its limit for what is larger.
    const text = await chosen.slice(0, MOST_READ).text();
    await run({ text }, isProof);
  }
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!start.disabled) runUploaded(false);
  });
  prove.addEventListener("click", () => !start.disabled && runUploaded(true));
  return { node: el("section", { class: "part" }, el("h2", {}, words.checkTitle), el("p", { class: "hint" }, words.checkHelp), form, outcome), run };
}

const MOST_READ = 1_200_000;

/** What a checkpoint or a proof comes to. `unnamed` when nobody said whose key it must be. */
function heldParts(held, unnamed) {
  return [
    el("p", { class: "verdict" }, mark(held.holds ? words.holds : words.doesNotHold, held.holds ? "strong" : "bad"), " ", words.heldAs[held.kind](held)),
    held.problems.length ? el("ul", {}, held.problems.map((text) => el("li", {}, text))) : null,
    facts([
      [words.heads.ledger, el("span", {}, nameOf(held.ledger), " ", el("code", {}, held.ledger))],
      [words.upToEvent, words.number(held.seq)],
      [words.eventsNow, held.events === null ? null : words.number(held.events)],
      [words.signedAt, el("span", {}, when(held.at), " ", el("code", { class: "hint" }, held.at))],
      [words.eventProved, held.event ? el("code", {}, held.event) : null],
      [words.merkleRoot, el("code", {}, held.root)],
      [words.publicKey, el("span", {}, keyText(held.public_key), " ", el("span", { class: "hint" }, held.own_key ? words.ownKey : words.otherKey))],
    ]),
    unnamed && held.holds && !held.own_key ? el("p", { class: "hint" }, words.unnamedKey) : null,
  ];
}

// -- proofs -----------------------------------------------------------------------------------------------------------

function provePart() {
  const { event: given } = place();
  const outcome = el("div", { class: "outcome" });
  const error = alarm();
  const input = el("input", { id: "prove-event", value: given, autocomplete: "off", spellcheck: false });
  const start = el("button", { class: "primary" }, words.prove);
  const form = el(
    "form",
    { class: "asking-form" },
    el("div", { class: "row wrap asking" }, el("label", { class: "stacked grow" }, words.proveEvent, input), start),
    error,
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (start.disabled) return;
    if (!input.value.trim()) {
      error.textContent = words.noEvent;
      return input.focus();
    }
    attempt(start, error, outcome, async () => proofParts(await api.proveInclusion(input.value.trim())));
  });
  return el("section", { class: "part" }, el("h2", {}, words.proveTitle), el("p", { class: "hint" }, words.proveHelp), form, outcome);
}

function proofParts({ proof, held, not_searched: passedOver, made_key: made }) {
  return [
    heldParts(held, false),
    facts([[words.pathLength, words.number(proof.path.length)]]),
    passedOver.length ? el("p", { class: "warning" }, words.notSearched(passedOver.join(", "))) : null,
    made ? el("p", {}, words.madeKeyNow) : null,
    el("p", {}, saveButton(words.saveProof, `${held.kind}-${held.ledger}-${held.seq}.json`, proof)),
  ];
}
