// What the memory page keeps in its address. See ../address.js.

import { addresses } from "../address.js";

export { chatAddress } from "../address.js";

export const TABS = ["instructions", "experience", "knowledge"];
const FIELDS = ["state", "session", "model", "q", "memory", "document"];
/** What another page may ask to be done: see `asked.js`. It never stays in the address. */
const ASKED = ["act", "turn", "round"];

// Another tab or timeline keeps the search and no filter.
export const { place, addressOf, startAddress, go } = addresses({
  path: "/memory",
  tabs: TABS,
  fieldsOf: () => [...FIELDS, ...ASKED],
  isKept: (name, now, next) =>
    !ASKED.includes(name) && (name === "q" || (next.tab === now.tab && next.timeline === now.timeline)),
});
