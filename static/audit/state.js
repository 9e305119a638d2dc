// What the page knows at the moment. Sections read it; `page.js` changes it.

export const page = {
  /** Every timeline as the server lists it. */
  timelines: [],
  /** The one that is chosen, or null. */
  timeline: null,
};

/** A value that this browser remembers, or `fallback`. */
export function remembered(key, fallback) {
  try {
    return JSON.parse(localStorage.getItem(key)) ?? fallback;
  } catch {
    // What another version wrote, or a browser that keeps nothing.
    return fallback;
  }
}

/** Remember a value in this browser. */
export function remember(key, value) {
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // A browser that keeps nothing: the page works all the same until it is left.
  }
}
