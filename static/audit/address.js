// The address says what the page shows: /audit?tab=…&ledger=…#TIMELINE. So a reload, a link and the back button work.

export const TABS = ["ledgers", "replay", "whatif", "review", "statistics"];
/** What each tab keeps in the address. */
const FIELDS = { ledgers: ["ledger", "kind"], replay: [], whatif: [], review: ["turn"], statistics: ["stage", "of"] };

/** What the address asks for; a field that it does not give is "". */
export function place() {
  const query = new URLSearchParams(location.search);
  const tab = TABS.includes(query.get("tab")) ? query.get("tab") : TABS[0];
  const timeline = location.hash.startsWith("#t-") ? location.hash.slice(1) : "";
  return { timeline, tab, ...Object.fromEntries(FIELDS[tab].map((name) => [name, query.get(name) ?? ""])) };
}

/** The address of this page with `changes` to what it shows now. */
export function addressOf(changes = {}) {
  const now = place();
  const next = { ...(changes.tab && changes.tab !== now.tab ? { timeline: now.timeline } : now), ...changes };
  const query = new URLSearchParams({ tab: next.tab });
  for (const name of FIELDS[next.tab]) if (next[name]) query.set(name, next[name]);
  return `/audit?${query}${next.timeline ? `#${next.timeline}` : ""}`;
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

/** A turn in the chat. */
export const chatAddress = (timeline, turn) => `/?${new URLSearchParams({ turn })}#${timeline}`;

/** A memory on the memory page. */
export function memoryAddress(timeline, memory) {
  const [document] = memory.split("/");
  const where = memory.startsWith("d-") ? { tab: "knowledge", document } : { tab: "experience", memory };
  return `/memory?${new URLSearchParams(where)}#${timeline}`;
}
