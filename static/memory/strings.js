// Every sentence of the memory page. What the chat page says is in ../strings.js.

const many = (count, one, more) => `${count.toLocaleString("en")} ${count === 1 ? one : more}`;
const memories = (count) => many(count, "memory", "memories");
const rounds = (count) => many(count, "round", "rounds");

export const words = {
  memories,
  rounds,
  tabs: { instructions: "Instructions", experience: "Experience", knowledge: "Knowledge" },
  title: (tab, character) => `${tab}${character ? ` · ${character}` : ""} · ARPM`,
  chooser: (timeline) => `${timeline.title || timeline.character} · ${timeline.user} · ${rounds(timeline.rounds)}`,
  noTimeline: "No timeline yet",
  damaged: (name, message) => `The ledger of ${name} could not be opened, the others are not touched: ${message}`,
  gone: "The timeline in the address is not here. Another one is shown.",
  dismiss: "Dismiss",
  loading: "Loading …",
  shown: (count) => `${count.toLocaleString("en")} shown.`,
  tryAgain: "Try again",
  notRead: (message) => `This could not be read. ${message} Nothing was changed.`,
  notDone: (message) => `Nothing was changed. ${message}`,
  cancel: "Cancel",
  close: "Close",
  back: "Back",
  save: "Save",
  openChat: "Open the chat",
  needsTimeline:
    "A timeline is one person talking with one character. What is said there becomes memory and is listed here. Create one on the chat page first; documents can be added already.",
  round: (number) => `round ${number}`,
  roundLink: (number) => `round ${number} in the chat`,
  none: "–",
  older: "Show older",
  more: "Show more",
  when: { at: "When", round: "Round", label: "Label", use: "Use", message: "Message", timeline: "Timeline" },
  reason: "Reason",
  reasonHint: "Written to the ledger with what you do. You may leave it empty.",

  // Instructions
  instructionsHelp:
    "Standing instructions are in every prompt until they are retired. The words are kept: an edit retires the old words and adds the new ones.",
  noInstructions:
    "No standing instruction is in force. Say “from now on …” in the chat, or write one below: “Always answer briefly.”",
  active: "In force",
  retired: (count) => `Retired (${count})`,
  newInstruction: "New instruction",
  add: "Add",
  added: "The instruction is in force from the next message on.",
  edit: "Edit",
  editNamed: (text) => `Edit: ${text}`,
  editedText: "New words of the instruction",
  replaced: "The new words are in force; the old ones are listed as retired.",
  retire: "Retire",
  retireNamed: (text) => `Retire: ${text}`,
  retireReason: "Why it is retired (you may leave this empty)",
  retiredNow: "The instruction is retired: no later prompt shows it.",
  byHand: "added by hand",
  recognised: "recognised in",
  retiredAt: "retired",
  because: (reason) => `because: ${reason}`,
  replacedBy: "replaced by",
  contradictions: "Of the same thing",
  contradictionsHelp: "These are in force together and concern the same thing. Retire the ones that no longer hold.",

  // Experience
  experienceHelp:
    "Every answered message becomes a memory. The newest are first; open one to see where it came from and which later replies were shown it.",
  noExperience:
    "Nothing is remembered yet. Talk on the chat page, or import conversations with “arpm import”; each answered round becomes a memory here.",
  noneAdmitted: (count) =>
    `This timeline has ${rounds(count)} and none of them is in memory. A reply that broke the protocol for good is not remembered; in the chat, the analysis of each reply says why.`,
  noneLikeThis: "No memory is like this. Change the filters above.",
  state: "State",
  states: { all: "all", active: "in memory", quarantined: "in quarantine", replaced: "replaced" },
  stateHelp: {
    active: "In memory: later prompts may show it.",
    quarantined: "In quarantine: kept in the ledger, shown to no prompt until it is released.",
    replaced: "Replaced: its round was answered again, so the earlier reply left memory.",
  },
  counts: (active, quarantined, replaced) =>
    [
      `${memories(active)} in use`,
      quarantined ? `${quarantined.toLocaleString("en")} in quarantine` : null,
      replaced ? `${replaced.toLocaleString("en")} replaced` : null,
    ]
      .filter(Boolean)
      .join(" · "),
  inQuarantine: (count) => `In quarantine (${count.toLocaleString("en")})`,
  filters: "Filter the memories",
  session: "Session",
  sessionName: (session) => `${session.number}: ${causes[session.cause] ?? session.cause} · ${session.model}`,
  importedSession: (id) => `imported: ${id}`,
  withCount: (name, count) => `${name} (${count.toLocaleString("en")})`,
  everySession: "every session",
  model: "Model",
  everyModel: "every model",
  imported: "imported",
  uses: (count) => (count ? `shown ${count === 1 ? "once" : `${count.toLocaleString("en")} times`}` : "never shown"),
  choose: (text) => `Choose: ${text}`,
  chosen: (count) => `${memories(count)} chosen`,
  tray: "What to do with the chosen memories",
  unchoose: "Choose none",
  linked: "The memory in the address",
  showAll: "Show every memory",

  // One memory
  origin: "Comes from",
  originTurn: (round) => `round ${round} of the chat`,
  originImported: (source) => `import: ${source}`,
  originDocument: (name) => `document: ${name}`,
  source: "Source",
  added_at: "Added",
  identity: "Id",
  text: "As it is searched",
  usesTitle: "Shown to later replies",
  noUses: "No reply has been shown this memory.",
  moreUses: (count) => `The newest ${count} are listed; there are more.`,
  usesTable: "Each reply that was shown it",
  usesStrip: (count, cited, from, to) =>
    `Shown to ${count} ${count === 1 ? "reply" : "replies"}, cited by ${cited}, between round ${from} and round ${to}. The table below has each.`,
  usesElsewhere: "Only replies of other timelines were shown it; the table has each.",
  use: { shown: "shown", cited: "cited", bound: "cited and used" },
  history: "Quarantine",
  history_in: (reason, by) => `put in quarantine${reason ? `: ${reason}` : ""}${by ? ` (${by})` : ""}`,
  history_out: (reason) => `released${reason ? `: ${reason}` : ""}`,

  // Search
  search: "Search",
  searchLabel: "What would a message bring back?",
  searchHint:
    "Write a message as you would in the chat. Both memories are searched as for a reply; nothing is recorded.",
  clearSearch: "Clear the search",
  found: (query) => `What “${query}” would bring back now`,
  foundRoute: (route, kept, dropped) => `${routes[route]}: ${kept} kept for the prompt, ${dropped} dropped`,
  nothingFound: "Nothing on this route was near enough to be a candidate.",
  kept: "kept",
  dropped: "dropped",
  reasons: {
    kept: "goes into the prompt",
    "nothing matches": "nothing on this route matches the message",
    irrelevant: "does not match the message itself",
    "in the window": "already word for word in the context window",
    "below the threshold": "its final score is below the threshold",
    "beyond top-k": "others with higher scores filled the places",
    "over the token budget": "no room left for it in the prompt",
  },
  score: (value) => (value >= 0.66 ? "strong" : value >= 0.33 ? "middling" : "weak"),
  scores: { final: "final", similarity: "similarity", coverage: "shared words", weight: "not forgotten" },

  // Quarantine
  quarantine: "Quarantine …",
  releaseMany: "Release …",
  releaseAll: "Release all of them …",
  quarantineTitle: "Put memories in quarantine",
  quarantineHelp: "They stay in the ledger, but no later prompt shows them until they are released.",
  which: "Which memories",
  scopes: { rounds: "A range of rounds", model: "Everything a model said", session: "A session" },
  from: "From round",
  to: "to round",
  rangeWrong: "Give two whole rounds, the first not after the second.",
  look: "See what it reaches",
  looking: "Looking what it reaches …",
  reachNone: "Nothing in memory is reached: no memory is there, or all of it is in quarantine already.",
  reachQuarantine: (count, list) => `Reaches ${memories(count)}${list ? `, from ${list}` : ""}.`,
  roundList: (list, one) => (one ? `round ${list}` : `rounds ${list}`),
  doQuarantine: (count) => `Put ${memories(count)} in quarantine`,
  quarantined: (count) =>
    `${memories(count)} ${count === 1 ? "is" : "are"} in quarantine now. No later prompt shows ${count === 1 ? "it" : "them"}.`,
  undo: "Undo",
  releaseTitle: "Release from quarantine",
  releaseHelp: (count) => `${memories(count)} will be searched again and may be shown to later prompts.`,
  doRelease: (count) => `Release ${memories(count)}`,
  released: (count) => `${memories(count)} ${count === 1 ? "is" : "are"} in memory again.`,
  quarantineEmpty:
    "Nothing is in quarantine. A memory that is wrong or unwanted can be put there and taken back at any time.",
  working: "Working …",
  collecting: (count) => `Listing what is in quarantine: ${count.toLocaleString("en")} so far …`,

  // Erasure
  erase: "Erase …",
  eraseTitle: "Erase for good",
  eraseHelp:
    "Quarantine can be undone; this cannot. The words are removed from the ledger, the indexes and the caches. That something was erased, when and why stays on record.",
  eraseScopes: { session: "A session", timeline: "The whole timeline" },
  eraseWhole: (name) => `Everything that was said on ${name}`,
  reachTitle: "What it reaches",
  reach: {
    memories: (count) => `${memories(count)} will be gone`,
    events: (count) =>
      `${many(count, "ledger event loses its words", "ledger events lose their words")}; the chain still verifies`,
    instructions: (count) => `${many(count, "instruction goes", "instructions go")} with them`,
    prompts: (count) => `${many(count, "later prompt", "later prompts")} showed them and can no longer be rebuilt`,
    replies: (count) =>
      count === 1
        ? "1 later reply was made with them in view and stays. Look whether it repeats what you erase"
        : `${count.toLocaleString("en")} later replies were made with them in view and stay. Look whether they repeat what you erase`,
    files: (count) => `${many(count, "file is", "files are")} rewritten`,
  },
  reachNothing: "There is nothing left to erase here.",
  moreThan: (count) => `and ${count.toLocaleString("en")} more`,
  confirmLabel: "To erase, type",
  confirmWrong: "The words do not match yet.",
  doErase: "Erase for good",
  erasing: "Erasing. If this page is closed meanwhile, the server finishes by itself …",
  receiptTitle: "Erased",
  receiptHelp: "This receipt is in the ledger. It names what was erased by id only.",
  receipt: {
    event: "Receipt",
    timeline: "Ledger",
    at: "When",
    memories: "Memories",
    events: "Events",
    instructions: "Instructions",
    reason: "Reason",
    by: "By",
  },
  shownAs: { window: "word for word in the window", instructions: "as an instruction" },
  receiptKept: "Later replies that were made with it in view. They were not erased:",
  notErased: (message) =>
    `${message} If the erasure had begun, the server finishes it; close this and look again before you repeat it.`,

  // Knowledge
  knowledgeHelp: "Documents that every timeline can draw on. Drop files anywhere here, or choose them.",
  noDocuments:
    "No documents yet. Drop a text or Markdown file here: it is cut into passages, and replies are shown the ones that matter.",
  addDocuments: "Add documents",
  documentsHint: (limit) => `Plain text or Markdown, up to ${limit} each.`,
  dropHere: "Drop to add to the knowledge base",
  uploads: "Files being added",
  waiting: "waiting",
  uploading: (percent) => `sending, ${percent} %`,
  indexing: "sent; being cut up and indexed …",
  ready: "can be searched now",
  readyNamed: (name) => `${name} can be searched now.`,
  refusedNamed: (name, message) => `${name} was not added. ${message}`,
  tooLarge: (size) =>
    `It is larger than the limit of ${size}, so nothing was sent. Split it, or raise upload_limit in arpm.toml.`,
  emptyFile: "It is empty, so nothing was sent.",
  notAFile: "Only files can be dropped here, no folders and no text.",
  clearUploads: "Clear the list",
  lostUpload:
    "The connection was lost. If the file had arrived, it is in the list after a reload; sending it again does no harm.",
  documents: (count) => `${many(count, "document", "documents")}`,
  filterDocuments: "Filter by name",
  characters: (count) => many(count, "character", "characters"),
  remove: "Remove …",
  removeNamed: (name) => `Remove ${name}`,
  removeTitle: "Remove a document",
  removeHelp: (name) =>
    `${name} leaves the knowledge base: no later prompt shows it. Its text stays in the ledger, so earlier replies can still be explained. To get rid of the words themselves, erase it.`,
  doRemove: "Remove",
  removed: (name) => `${name} was removed.`,
  eraseNamed: (name) => `Erase ${name}`,
  noPassages: "It has no passages.",
  passage: (number) => `passage ${number}`,
};

const causes = { start: "begun", cleared: "context cleared", model_changed: "model changed", import: "imported" };
const routes = { knowledge: "Knowledge", experience: "Experience" };
