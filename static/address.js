// The address says what a page shows: /PAGE?tab=…&…#TIMELINE. So a reload, a link and the back button work.

/**
 * The address of a page with tabs. `fieldsOf(tab)` are the fields that a tab keeps in the address; `isKept(name, now,
 * next)` says whether a field that is not changed stays when the page goes from `now` to `next`.
 */
export function addresses({ path, tabs, fieldsOf, isKept }) {
  let follow = () => {};

  /** What the address asks for; a field that it does not give is "". */
  function place() {
    const query = new URLSearchParams(location.search);
    const tab = tabs.includes(query.get("tab")) ? query.get("tab") : tabs[0];
    const timeline = location.hash.startsWith("#t-") ? location.hash.slice(1) : "";
    return { timeline, tab, ...Object.fromEntries(fieldsOf(tab).map((name) => [name, query.get(name) ?? ""])) };
  }

  /** The address of this page with `changes` to what it shows now. */
  function addressOf(changes = {}) {
    const now = place();
    const next = { ...now, ...changes };
    const query = new URLSearchParams({ tab: next.tab });
    for (const name of fieldsOf(next.tab)) {
      if ((name in changes || isKept(name, now, next)) && next[name]) query.set(name, next[name]);
    }
    return `${path}?${query}${next.timeline ? `#${next.timeline}` : ""}`;
  }

  /** Call `shown` now and whenever the address changes. */
  function startAddress(shown) {
    follow = shown;
    window.addEventListener("popstate", shown);
    shown();
  }

  /** Show something else. `quietly` leaves no way back to what was shown. */
  function go(changes, quietly = false) {
    const address = addressOf(changes);
    if (quietly) history.replaceState(null, "", address);
    else history.pushState(null, "", address);
    // The links to the other pages follow the timeline by this event; the history calls do not raise it.
    window.dispatchEvent(new HashChangeEvent("hashchange"));
    follow();
  }

  return { place, addressOf, startAddress, go };
}

/** A place in the chat: a turn by its id, else a round by its number. */
export function chatAddress(timeline, turn, round) {
  const query = turn ? new URLSearchParams({ turn }) : new URLSearchParams({ round });
  return `/?${query}#${timeline}`;
}

/**
 * A memory on the memory page. With `act` ("quarantine" or "erase") the page shows at once what that would reach, and
 * asks; nothing is done before the person has said so there.
 */
export function memoryAddress(timeline, memory, act = "") {
  const [document] = memory.split("/");
  const where = memory.startsWith("d-") ? { tab: "knowledge", document } : { tab: "experience", memory };
  return `/memory?${new URLSearchParams(act ? { ...where, act } : where)}#${timeline}`;
}

/** What would become of a turn, by its event id for "erase" and its round for "quarantine", on the memory page. */
export function turnActAddress(timeline, turn, round, act) {
  const what = act === "erase" ? { turn } : { round };
  return `/memory?${new URLSearchParams({ tab: "experience", ...what, act })}#${timeline}`;
}
