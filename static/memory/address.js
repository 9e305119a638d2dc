// The address says what the page shows: /memory?tab=…&q=…#TIMELINE. So a reload, a link and the back button work.

export const TABS = ["instructions", "experience", "knowledge"];
const FIELDS = ["state", "session", "model", "q", "memory", "document"];

/** What the address asks for; a field that it does not give is "". */
export function place() {
  const query = new URLSearchParams(location.search);
  const tab = TABS.includes(query.get("tab")) ? query.get("tab") : "instructions";
  const timeline = location.hash.startsWith("#t-") ? location.hash.slice(1) : "";
  return { timeline, tab, ...Object.fromEntries(FIELDS.map((name) => [name, query.get(name) ?? ""])) };
}

/** The address of this page with `changes` to what it shows now. Another tab keeps the search and no filter. */
export function addressOf(changes = {}) {
  const now = place();
  const next = { ...now, ...changes };
  const query = new URLSearchParams({ tab: next.tab });
  for (const name of FIELDS) {
    const isKept = name in changes || name === "q" || (next.tab === now.tab && next.timeline === now.timeline);
    if (isKept && next[name]) query.set(name, next[name]);
  }
  return `/memory?${query}${next.timeline ? `#${next.timeline}` : ""}`;
}

let follow = () => {};

/** Call `shown` now and whenever the address changes. */
export function startAddress(shown) {
  follow = shown;
  window.addEventListener("popstate", shown);
  shown();
}

/** Show something else. `quietly` leaves no way back to what was shown. */
export function go(changes, quietly = false) {
  const address = addressOf(changes);
  if (quietly) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  // The links to the other pages follow the timeline by this event; the history calls do not raise it.
  window.dispatchEvent(new HashChangeEvent("hashchange"));
  follow();
}

/** A place in the chat: a turn by its id, else a round by its number. */
export function chatAddress(timeline, turn, round) {
  const query = turn ? new URLSearchParams({ turn }) : new URLSearchParams({ round });
  return `/?${query}#${timeline}`;
}
