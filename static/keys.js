// The keyboard: every way to use the page without a mouse that is not the browser's own.

import { stop } from "./conversation.js";
import { byId, el, fill } from "./dom.js";
import { strings } from "./strings.js";

/** Listen to the keys of the page. */
export function startKeys() {
  fill(
    byId("key-list"),
    strings.keys.map(([key, meaning]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, meaning)]),
  );
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.key === "Escape") stop();
    if (isTyping(event.target)) return;
    const act = { "/": toMessage, "?": showKeys, ArrowUp: () => move(-1, event), ArrowDown: () => move(1, event) }[event.key];
    if (!act) return;
    if (event.key.length === 1) event.preventDefault();
    act();
  });
}

const isTyping = (node) => node.matches("input, textarea, select, [role=tab]");
const toMessage = () => byId("message").focus();
const showKeys = () => byId("keys").showModal();

/** Go to the turn before or after the one that has the focus, if one has. */
function move(step, event) {
  const turns = [...document.querySelectorAll("#log [data-turn]")];
  const place = turns.indexOf(document.activeElement);
  if (place < 0 || !turns[place + step]) return;
  event.preventDefault();
  turns[place + step].focus();
  turns[place + step].click();
}
