// The list of timelines, and the form that begins one.

import { api } from "./api.js";
import { byId, el, fill, notice } from "./dom.js";
import { state } from "./state.js";
import { strings } from "./strings.js";

/** Show the timelines; the open one is marked. Returns them. */
export async function showTimelines() {
  const { timelines, damaged } = await api.timelines();
  const items = timelines.map((timeline) => {
    const link = el(
      "a",
      { href: `#${timeline.id}` },
      el("span", { class: "name" }, timeline.character),
      el("span", { class: "hint" }, `${strings.with(timeline.user)} · ${strings.rounds(timeline.rounds)}`),
    );
    if (timeline.id === state.timeline?.id) link.setAttribute("aria-current", "page");
    return el("li", {}, link);
  });
  fill(byId("timelines"), items);
  return { timelines, damaged };
}

/** Say which ledgers could not be opened. */
export function tellDamage(damaged) {
  for (const { name, message } of damaged) notice(strings.damaged(name, message), strings.dismiss);
}

/** Make the form work. `opened` gets the id of a new timeline. */
export function startCreation(opened) {
  const dialog = byId("creation");
  const form = dialog.querySelector("form");
  byId("new-timeline").addEventListener("click", openCreation);
  byId("creation-cancel").addEventListener("click", () => dialog.close());
  form.elements.timezone.value = ownTimezone();
  fill(byId("zones"), zones().map((zone) => el("option", { value: zone })));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const { timeline } = await api.createTimeline(Object.fromEntries(new FormData(form)));
      dialog.close();
      form.elements.character.value = form.elements.persona.value = "";
      opened(timeline.id);
    } catch (error) {
      byId("creation-error").textContent = error.message;
    }
  });
}

/** Open the form. */
export function openCreation() {
  byId("creation-error").textContent = "";
  byId("creation").showModal();
}

const ownTimezone = () => Intl.DateTimeFormat().resolvedOptions().timeZone || document.body.dataset.timezone;
const zones = () => (Intl.supportedValuesOf ? Intl.supportedValuesOf("timeZone") : []);
