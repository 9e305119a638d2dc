// The tab "Prompt": what was sent to the model, exact, with the origin of every stretch of it.

import { el } from "./dom.js";
import { copyButton } from "./markdown.js";
import { strings } from "./strings.js";

/** The prompt of a turn, message by message. */
export function promptTab(view) {
  if (!view.prompt) return el("p", { class: "empty" }, strings.promptLost);
  const { digest, tokens, approximate } = view.record.body.prompt;
  return [
    el("p", { class: "hint" }, strings.promptFacts(tokens, approximate), el("br"), el("code", {}, digest)),
    legend(view.prompt),
    view.prompt.map(message),
  ];
}

/** What the colours mean, in the order in which they come. */
function legend(messages) {
  const origins = [...new Set(messages.flatMap(({ parts }) => (parts ?? []).map(({ origin }) => origin)))];
  if (!origins.length) return null;
  const items = origins.map((origin) =>
    el(
      "li",
      { class: `origin ${origin}` },
      el("b", {}, nameOf(origin)),
      el("span", { class: "hint" }, ` ${strings.originMeanings[origin] ?? ""}`),
    ),
  );
  return el("details", {}, el("summary", {}, strings.legend), el("ul", { class: "plain legend" }, items));
}

function message({ role, content, parts }) {
  const passages = (parts ?? []).filter(({ text }) => text);
  return el(
    "section",
    { class: `prompt ${role}` },
    el("div", { class: "row" }, el("h3", {}, strings.roles[role]), copyButton(content, strings.copyText)),
    passages.length ? passages.map(passage) : el("pre", { dir: "auto" }, content),
  );
}

function passage({ origin, text }) {
  return el(
    "div",
    { class: `passage ${origin}` },
    el("span", { class: "origin" }, nameOf(origin)),
    el("pre", { dir: "auto" }, text),
  );
}

const nameOf = (origin) => strings.origins[origin] ?? origin;
