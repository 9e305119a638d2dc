// The keyboard: every way to use the page without a mouse that is not the browser's own.

import { byId, el, fill, focused } from "./dom.js";
import { strings } from "./strings.js";

/** Listen to the keys of the page. `page`: stop(), again(), closeSheets(). */
export function startKeys(page) {
  fill(
    byId("key-list"),
    strings.keys.map(([key, meaning]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, meaning)]),
  );
  byId("show-keys").addEventListener("click", showKeys);
  const acts = {
    "/": () => byId("message").focus(),
    "?": showKeys,
    r: () => page.again(),
    ArrowUp: (event) => move(-1, event),
    ArrowDown: (event) => move(1, event),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.key === "Escape") {
      page.stop();
      page.closeSheets();
      // So that the other keys work.
      if (event.target.id === "message" && !event.isComposing) event.target.blur();
    }
    const act = acts[event.key];
    if (!act || isTyping(event.target)) return;
    if (event.key.length === 1) event.preventDefault();
    act(event);
  });
}

const isTyping = (node) => node.matches("input, textarea, select, [role=tab]");
const showKeys = () => byId("keys").showModal();

/** Go to the turn before or after the one with the focus, or to the newest; elsewhere the arrows scroll. */
function move(step, event) {
  const turns = [...document.querySelectorAll("#log article[data-turn]")];
  const at = focused();
  const place = turns.indexOf(at);
  const isFree = at === document.body || at === byId("scroll");
  const next = place >= 0 ? turns[place + step] : isFree && step < 0 ? turns.at(-1) : null;
  if (!next) return;
  event.preventDefault();
  next.focus();
  next.scrollIntoView({ block: "nearest" });
  next.click();
}
