// What the page knows at the moment. Parts of the page read it; `app.js` changes it and tells them.

export const state = {
  /** The open timeline as the server shows it, or null. */
  timeline: null,
  sessions: [],
  /** Turns on the page, oldest first; of a round that was answered again only the newest reply. */
  turns: [],
  /** Whether the server has earlier turns than the first of `turns`. */
  more: false,
  /** The id of the selected turn, or null. */
  selected: null,
  /** Records by turn id, as they were looked at. */
  records: new Map(),
  instructions: [],
  /** The message that is being answered here, or null. */
  answering: null,
};

/** The newest reply that stands, which is the one that can be answered again; null when there is none. */
export function newestReply() {
  return state.turns.findLast((turn) => turn.kind === "turn") ?? null;
}
