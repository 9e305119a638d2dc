// What a link from another page asks to be done with a memory or a turn: its reach is shown, and the person decides.

import { addressOf, place } from "./address.js";
import { askToErase } from "./erase.js";
import { askWith } from "./quarantine.js";
import { tell, tellFailure } from "./parts.js";
import { page } from "./state.js";
import { words } from "./strings.js";

/** Ask what the address asks for, once: a reload does not ask again. */
export async function askAsAddressed() {
  const { act, memory, turn, round } = place();
  if (!act || !page.timeline) return;
  history.replaceState(null, "", addressOf());
  if (act === "erase" && (memory || turn)) return askToErase({ timeline: page.timeline.id, memories: [memory || turn] });
  const which = memory ? { memories: [memory] } : /^\d+$/.test(round) ? { rounds: [Number(round), Number(round)] } : null;
  if (act !== "quarantine" || !which) return;
  try {
    await askWith(which);
  } catch (error) {
    tell("");
    tellFailure(words.notDone(error.message));
  }
}
