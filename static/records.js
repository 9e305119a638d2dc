// The records of turns, fetched as somebody looks at them and kept for a while.

import { api } from "./api.js";
import { state } from "./state.js";

const KEPT = 50;

/** The whole view of a turn: its record, the memories it names, its prompt. */
export async function recordOf(id) {
  if (!state.records.has(id)) keep(await api.turn(id));
  return state.records.get(id);
}

/** Keep a view that came with the turn itself. */
export function keep(view) {
  state.records.set(view.turn.id, view);
  if (state.records.size > KEPT) state.records.delete(state.records.keys().next().value);
}
