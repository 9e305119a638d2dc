// Which standing instructions a reply kept, as the record says: the verdict, the words, and what was found where.

import { el } from "./dom.js";
import { strings } from "./strings.js";

/** A section on every instruction the prompt showed; `words` are those that are still there, by id. */
export function adherencePart(rows, words) {
  return el(
    "section",
    {},
    el("h3", {}, strings.adherence),
    el("p", { class: "hint" }, strings.adherenceHelp),
    el("ul", { class: "plain adherence" }, rows.map((row) => item(row, words[row.instruction]))),
  );
}

function item(row, words) {
  return el(
    "li",
    {},
    el("p", { class: "words", dir: "auto" }, mark(row.verdict), " ", words ?? strings.erasedInstruction),
    el("ul", { class: "plain hint" }, row.checks.map((check) => el("li", { dir: "auto" }, checked(check)))),
  );
}

const mark = (verdict) => el("span", { class: `mark verdict-${verdict}`, title: strings.verdictMeanings[verdict] }, strings.verdicts[verdict]);

/** A check in words: "no commas: broken, found 1: “,” at character 34". */
function checked({ kind, verdict, found }) {
  if (strings.checkKinds[kind]) return strings.checkKinds[kind];
  const said = strings.checked(kind.replaceAll("_", " "), strings.verdicts[verdict]);
  return `${said}${strings.foundInReply(found)}`;
}
