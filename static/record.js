// The tab "Record": what was written to the ledger, exact.

import { el } from "./dom.js";
import { copyButton } from "./markdown.js";
import { strings } from "./strings.js";

/** The record of a turn. */
export function recordTab(view) {
  const text = JSON.stringify(view.record, null, 2);
  const address = `/api/v1/turns/${view.turn.id}`;
  return [
    el("p", { class: "hint" }, `${strings.hash} `, el("code", {}, view.record.hash)),
    el(
      "p",
      { class: "row" },
      copyButton(text, strings.copy),
      downloadButton(view, text),
      el("a", { href: address }, strings.openRaw),
    ),
    el("pre", { class: "json", tabIndex: 0 }, text),
  ];
}

function downloadButton(view, text) {
  const save = () => {
    const address = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    el("a", { href: address, download: `turn-${view.turn.round}-${view.turn.id}.json` }).click();
    // The browser has taken hold of it by then.
    setTimeout(() => URL.revokeObjectURL(address));
  };
  return el("button", { type: "button", onclick: save }, strings.download);
}
