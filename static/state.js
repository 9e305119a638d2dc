// What the page knows at the moment. Parts of the page read it; `app.js` changes it and tells them.

export const state = {
  /** The open timeline as the server shows it, or null. */
  timeline: null,
  sessions: [],
  /** Turns on the page, oldest first. */
  turns: [],
  more: false,
  /** The id of the selected turn, or null. */
  selected: null,
  /** Records by turn id, as they were looked at. */
  records: new Map(),
  instructions: [],
  /** The message that is being answered here, or null. */
  answering: null,
};
