// What the audit page keeps in its address. See ../address.js.

import { addresses } from "../address.js";

export { chatAddress, memoryAddress, turnActAddress } from "../address.js";

/** Each tab with what it keeps in the address. */
const FIELDS = {
  ledgers: ["ledger", "kind"],
  checkpoints: ["event"],
  replay: [],
  whatif: [],
  diff: ["first", "second"],
  lives: ["memory", "over"],
  review: ["turn"],
  statistics: ["stage", "of"],
  exports: [],
};

export const TABS = Object.keys(FIELDS);

// Another tab begins with nothing but the timeline.
export const { place, addressOf, startAddress, go } = addresses({
  path: "/audit",
  tabs: TABS,
  fieldsOf: (tab) => FIELDS[tab],
  isKept: (_, now, next) => next.tab === now.tab,
});
