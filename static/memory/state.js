// What the page knows at the moment. Sections read it; `page.js` changes it.

export const page = {
  /** Every timeline as the server lists it. */
  timelines: [],
  /** The one that is shown, or null. */
  timeline: null,
  sessions: [],
  /** What memories of it come from, newest first: sessions {id, count}, imported ones too, and models {name, count}. */
  origins: { sessions: [], models: [] },
};
