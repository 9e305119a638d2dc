// Every sentence that the intervention panel's scripts say. Its fixed labels are in arpm/web/strings.py.

const counted = (count, one, many) => (count === 1 ? `1 ${one}` : `${count.toLocaleString("en")} ${many}`);
const changes = (count) => counted(count, "change", "changes");
const ordinals = new Intl.PluralRules("en", { type: "ordinal" });
const ENDINGS = { one: "st", two: "nd", few: "rd", other: "th" };
const ordinal = (number) => `${number}${ENDINGS[ordinals.select(number)]}`;

/** The server's sentence with its full stop, so that another can follow. */
const ended = (message) => (/[.!?。]$/.test(message) ? message : `${message}.`);

export const words = {
  dismiss: "Dismiss",
  cancel: "Cancel",
  on: "on",
  off: "off",
  none: "none",
  separator: " · ",

  // Which timeline and session
  title: (character) => `Panel: ${character} · ARPM`,
  timeline: ({ title, character, user, rounds }) =>
    `${title || character} with ${user}, ${counted(rounds, "round", "rounds")}`,
  noTimelines:
    "The panel changes how one timeline is answered, and there is no timeline yet. Begin one on the chat page, then switch parts off here and see what each part does.",
  toChat: "Go to the chat page",
  running: "Running session",
  session: (number, since, cause) => `session ${number}, since ${since} (${cause})`,
  causes: { start: "the start", cleared: "context cleared", model_changed: "model changed", import: "imported" },
  model: "Model",
  preset: "Preset",
  differences: "Changed against it",
  noDifferences: "nothing",
  difference: (name, from, to) => `${name} ${from} → ${to}`,

  // Presets
  titles: {
    default: "What we ship",
    paper: "Paper constants",
    A: "A, A2: full",
    B: "B: knowledge off",
    C: "C: history off",
    D: "D: dual-temporal off",
    E: "E: BM25 off",
    F: "F: repair off",
    G: "G: pure dialogue",
    H: "H: strong consistency",
  },
  inForce: "in force",
  inForceChanged: (count) => `in force, ${count} changed`,
  sameAsDefault: "as shipped",
  unlikeDefault: (count) => (count === 1 ? "1 setting differs" : `${count} settings differ`),
  preview: (title, number) => `${title}: what it changes in session ${number}`,
  previewNothing: "No setting of the running session changes; only the name of the preset does.",
  previewDrafts: (count) =>
    `Your ${changes(count)} below that are not applied yet stay there; they can be applied afterwards.`,
  take: (title) => `Take “${title}”`,
  taken: (title, count, number) =>
    `“${title}” holds from the next message on: ${changes(count)}, written to the ledger as an intervention on session ${number}.`,
  setting: "Setting",
  now: "Now",
  then: "With this preset",

  // Switches and constants
  stages: {
    recognise: ["Recognise", "Standing instructions are found in the message."],
    retrieve: ["Retrieve", "Both memories are searched and every lane is fused into one base score."],
    govern: ["Govern", "Candidates are gated, weighed by time, chosen and cut to the budget."],
    prompt: ["Prompt", "What was chosen is written out for the model."],
    protocol: ["Protocol", "The reply is asked for as analysis and response, checked and repaired."],
    admit: ["Admit", "It is decided whether the turn becomes memory."],
  },
  jump: (stage, count) => (count ? `${stage}, ${count} changed` : stage),
  range: (low, high) => `${low} to ${high}`,
  choices: (names) => names.join(" or "),
  facts: (range, fallback) => `${range}; shipped ${fallback}`,
  switchFacts: (fallback) => `shipped ${fallback}`,
  changed: "changed",
  pending: "not applied yet",
  presetHas: (preset, value) => `${preset} has ${value}`,
  backTo: (value) => `Back to ${value}`,
  backNamed: (name, value) => `Set ${name} back to ${value}, as in the preset`,
  shown: (count, all) => (count === all ? `${all} settings` : `${count} of ${all} settings`),
  noneShown: (text) =>
    text ? `No setting has “${text}” in its name or help.` : "Nothing is changed against the preset.",
  showAll: "Show all settings",
  apply: (count) => `Apply ${changes(count)}`,
  applyNote: (number) =>
    `Changes hold from the next message on and are written to the ledger as an intervention on session ${number}.`,
  applied: (count, number) =>
    `${counted(count, "change is", "changes are")} in force and written to the ledger as an intervention on session ${number}.`,
  discarded: (count) => `${counted(count, "change was", "changes were")} taken back before it was applied.`,
  unusable: (count) =>
    `${counted(count, "value", "values")} cannot be used as written. Nothing was sent and nothing is lost; see the marked field.`,
  refused: (message) => `Not applied: ${ended(message)} Nothing was changed; what you set is still here.`,
  notANumber: (range) => `This is not a number. It takes one from ${range}.`,
  decimalPoint: (range) => `Write decimals with a point, as in 0.5. It takes a number from ${range}.`,
  notWhole: (range) => `This takes whole numbers only, from ${range}.`,
  empty: (range) => `Nothing is written here. It takes a number from ${range}.`,
  tooLow: (range) => `This is too low. It takes ${range}.`,
  tooHigh: (range) => `This is too high. It takes ${range}.`,
  notAChoice: (names) => `This is not one of ${names.join(", ")}.`,

  // Compare: the columns
  column: (number) => `Column ${number}`,
  asSession: "As the session is now",
  asSessionNamed: (preset, count) =>
    count ? `As the session is now (${preset}, ${count} changed)` : `As the session is now (${preset})`,
  asSessionModel: (model) => `As the session (${model})`,
  addSetting: "Change a setting",
  chooseSetting: "Choose a setting …",
  removeSetting: (name) => `Leave ${name} as it is in this column`,
  remove: "Remove",
  removeColumn: (number) => `Remove column ${number}`,
  noMessage: "Write a message to compare first.",
  tooLong: (length, limit) =>
    `The message has ${length.toLocaleString("en")} characters; the limit is ${limit.toLocaleString("en")}.`,
  cannotRun: (message) => `The comparison did not run: ${ended(message)} Your message and columns are still here.`,

  // Compare: what came out
  comparing: (done, all) => `Comparing: ${done} of ${all} columns done.`,
  compared: "Compared. Nothing was remembered or recorded.",
  stopped: "Stopped. Nothing was remembered or recorded.",
  cutOff: "The connection was lost before all columns were done. Nothing was remembered or recorded; run it again.",
  asked: "Asked",
  waiting: "waiting",
  answering: (stage) => `last: ${stage}`,
  repairing: "The reply is being repaired …",
  failed: (message) => `No reply: ${message}`,
  columnStopped: "Stopped before the reply was whole.",
  partial: "What had arrived",
  stoppedElsewhere: "The other comparison is being stopped. Compare again in a moment.",
  likeFirst: "set as column 1",
  unlikeFirst: (count) => `${counted(count, "setting", "settings")} unlike column 1`,
  unfinished: "Not finished.",
  rows: {
    reply: "Reply",
    evidence: "Evidence",
    analysis: "Analysis",
    protocol: "Protocol",
    tokens: "Tokens",
    time: "Time",
    prompt: "Prompt",
  },
  cites: "cites",
  sameReply: (number) => `word for word as column ${number}`,
  evidenceHelp:
    "The same memory is in one row. Each column is set against column 1; “up” and “down” compare only memories that both were shown, by final score.",
  evidenceSummary: (shown, added, lost, moved) => {
    const parts = [added ? `${added} added` : null, lost ? `${lost} lost` : null, moved ? `${moved} moved` : null];
    const told = parts.filter(Boolean);
    return `${counted(shown, "memory", "memories")} shown; ${told.length ? told.join(", ") : "as in column 1"}`;
  },
  evidenceFirst: (shown) => `${counted(shown, "memory", "memories")} shown`,
  noEvidence: "No column was shown any memory.",
  kinds: { knowledge: "document", experience: "conversation" },
  roundOf: (number) => `round ${number}`,
  erasedMemory: "This memory was erased.",
  place: (number) => `${ordinal(number)} by score`,
  verdicts: {
    same: ["=", "same place"],
    added: ["+", "added"],
    lost: ["−", "lost"],
    absent: ["", "not shown"],
    up: (steps) => ["↑", `up ${steps}`],
    down: (steps) => ["↓", `down ${steps}`],
  },
  reason: (reason) => `here: ${reason}`,
  reasons: { "not found": "not among the candidates", "not searched": "this kind of memory is not searched" },
  whyAdded: (reason) => `in column 1: ${reason}`,
  use: { cited: "cited", bound: "cited and used" },
  need: "Memory needed",
  labels: "Evidence cited",
  unknown: "Unknown labels",
  check: "Check",
  noAnalysis: "no analysis",
  asWritten: "As written",
  violations: (count) => (count ? counted(count, "violation", "violations") : "followed the protocol"),
  repairs: (count) => (count ? counted(count, "repair", "repairs") : "no repair"),
  rungs: { normalised: "tidied by rule", asked: "asked to repair it", fallback: "could not be repaired" },
  fixed: "fixed",
  notFixed: "not fixed",
  tokenRows: {
    prompt: "Prompt",
    evidence: "of it evidence",
    reply: "Written by the model",
  },
  about: (text) => `about ${text}`,
  total: "Together",
  attempts: (count) => `${counted(count, "call", "calls")} of the model`,
  showPrompt: (messages) => `The exact prompt, ${counted(messages, "message", "messages")}`,

  // Clock
  clockNow: (name, now) => `${name}: ${now}`,
  clockBand: (name) => `Times come from the experiment clock “${name}”, not from this computer's.`,
  clockKinds: { system: "System clock", fixed: "Fixed clock", offset: "Moved clock" },
  standing: "stands still",
  ahead: (text) => `${text} ahead of this computer`,
  behind: (text) => `${text} behind this computer`,
  days: (count) => counted(count, "day", "days"),
  hours: (count) => counted(count, "hour", "hours"),
  level: "level with this computer",
  willBe: (text) => `That is ${text}.`,
  clockSet: (text) => `The clock is set: ${text}. Every turn records which clock it had.`,
  noDate: "Give a date and a time.",
  noZone: (name) =>
    `“${name}” is no timezone that this browser knows; use a name such as Europe/Berlin or Asia/Shanghai.`,
  noOffset: "Give days and hours as numbers; a minus sign moves the clock back.",
  farOffset: (days) => `Give at most ${days.toLocaleString("en")} days in either direction.`,
  clockRefused: (message) => `The clock was not changed: ${message}`,
};
