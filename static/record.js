// The tabs "Prompt" and "Record": what was sent to the model, and what was written to the ledger, both exact.

import { el } from "./dom.js";
import { strings } from "./strings.js";

/** The prompt of a turn, message by message. */
export function promptTab(view) {
  if (!view.prompt) return el("p", { class: "empty" }, strings.promptLost);
  const { digest, tokens, approximate } = view.record.body.prompt;
  const messages = view.prompt.map((message) =>
    el("section", { class: `prompt ${message.role}` }, el("h3", {}, strings.roles[message.role]), el("pre", {}, message.content)),
  );
  return [el("p", { class: "hint" }, strings.promptFacts(tokens, approximate), el("br"), el("code", {}, digest)), messages];
}

/** The record of a turn. */
export function recordTab(view) {
  const text = JSON.stringify(view.record, null, 2);
  const said = el("span", { role: "status", class: "hint" });
  const copy = el("button", { type: "button" }, strings.copy);
  copy.addEventListener("click", () => {
    const written = navigator.clipboard?.writeText(text) ?? Promise.reject(new Error("no clipboard"));
    written.then(
      () => (said.textContent = strings.copied),
      () => (said.textContent = strings.copyFailed),
    );
  });
  return [
    el("p", { class: "hint" }, `${strings.hash} `, el("code", {}, view.record.hash)),
    el("p", { class: "row" }, copy, el("a", { href: `/api/v1/turns/${view.turn.id}` }, strings.openRaw), said),
    el("pre", { class: "json" }, text),
  ];
}
