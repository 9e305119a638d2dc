// The JSON API of the server that this page came from. Nothing here talks to anywhere else.

import { readEvents } from "./sse.js";
import { strings } from "./strings.js";

/** A request that did not succeed. `message` is for the person, `kind` for the program. */
export class ApiError extends Error {
  constructor(kind, message, status = 0) {
    super(message);
    this.kind = kind;
    this.status = status;
  }
}

async function request(method, path, { json, body, headers = {}, signal } = {}) {
  const options = { method, signal, headers: { ...headers }, body };
  if (json !== undefined) {
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(json);
  }
  let response;
  try {
    response = await fetch(`/api/v1${path}`, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError("unreachable", strings.unreachable);
  }
  if (response.ok) return response;
  throw await refusal(response);
}

async function refusal(response) {
  try {
    const { error } = await response.json();
    return new ApiError(error.kind, error.message, response.status);
  } catch {
    return new ApiError("odd", strings.odd(response.status), response.status);
  }
}

const ask = async (...args) => (await request(...args)).json();
const at = (timeline, rest = "") => `/timelines/${timeline}${rest}`;

/** "?a=1&b=2" of the values that are given; "" when none is. */
function asQuery(values) {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return given.length ? `?${new URLSearchParams(given)}` : "";
}

/** Addresses of what the browser itself fetches: pictures, and files to be saved. */
export const files = {
  plot: (name, kind, query = {}) => `/api/v1/audit/plots/${name}.${kind}${asQuery(query)}`,
  statistics: (query = {}) => `/api/v1/audit/statistics.csv${asQuery(query)}`,
  checkpoint: (file) => `/api/v1/audit/checkpoints/${file}`,
  exported: (id, file) => `/api/v1/audit/exports/${id}/${encodeURIComponent(file)}`,
  exportedAll: (id) => `/api/v1/audit/exports/${id}.zip`,
};

export const api = {
  timelines: (query = "") => ask("GET", `/timelines${asQuery({ q: query })}`),
  createTimeline: (given) => ask("POST", "/timelines", { json: given }),
  renameTimeline: (id, title) => ask("PATCH", at(id), { json: { title } }),
  round: (id, round) => ask("GET", at(id, `/rounds/${round}`)),
  timeline: (id, before, limit) => ask("GET", at(id, asQuery({ before, limit }))),
  clearContext: (id) => ask("POST", at(id, "/sessions"), { json: {} }),
  switchModel: (id, model) => ask("POST", at(id, "/sessions"), { json: { model } }),
  config: (id) => ask("GET", at(id, "/config")),
  changeConfig: (id, changes) => ask("PATCH", at(id, "/config"), { json: changes }),
  choosePreset: (id, preset) => ask("PATCH", at(id, "/config"), { json: { preset } }),
  stop: (id) => ask("POST", at(id, "/stop"), { json: {} }),
  turn: (id) => ask("GET", `/turns/${id}`),
  instructions: (id) => ask("GET", at(id, "/instructions")),
  addInstruction: (id, text) => ask("POST", at(id, "/instructions"), { json: { text } }),
  retireInstruction: (id, instruction, reason) =>
    ask("POST", at(id, `/instructions/${instruction}/retire`), { json: { reason } }),
  replaceInstruction: (id, instruction, text) =>
    ask("POST", at(id, `/instructions/${instruction}/replace`), { json: { text } }),
  memories: (id, query = {}) => ask("GET", at(id, `/memories${asQuery(query)}`)),
  memory: (id) => ask("GET", `/memories/${id}`),
  quarantine: (id, which) => ask("POST", at(id, "/quarantine"), { json: which }),
  release: (id, memories, reason) => ask("POST", at(id, "/release"), { json: { memories, reason } }),
  erasureReach: (what) => ask("POST", "/erasures/reach", { json: what }),
  erase: (what, confirm, reason) => ask("POST", "/erasures", { json: { ...what, confirm, reason } }),
  clock: () => ask("GET", "/clock"),
  setClock: (clock) => ask("PUT", "/clock", { json: clock }),
  stopCompare: (id) => ask("POST", at(id, "/compare/stop"), { json: {} }),
  document: (id, query = {}) => ask("GET", `/documents/${id}${asQuery(query)}`),
  models: () => ask("GET", "/models"),
  presets: () => ask("GET", "/presets"),
  documents: () => ask("GET", "/documents"),
  auditLedgers: () => ask("GET", "/audit/ledgers"),
  auditEvents: (name, query = {}) => ask("GET", `/audit/ledgers/${name}/events${asQuery(query)}`),
  auditStatistics: (query = {}) => ask("GET", `/audit/statistics${asQuery(query)}`),
  auditDiff: (first, second) => ask("GET", `/audit/diff${asQuery({ first, second })}`),
  auditRuns: (query) => ask("GET", `/audit/diff/runs${asQuery(query)}`),
  lives: (id, query = {}) => ask("GET", at(id, `/lives/summary${asQuery(query)}`)),
  life: (id, memory) => ask("GET", at(id, `/lives${asQuery({ memory })}`)),
  checkpoints: (query = {}) => ask("GET", `/audit/checkpoints${asQuery(query)}`),
  signCheckpoints: (ledgers) => ask("POST", "/audit/checkpoints", { json: ledgers ? { ledgers } : {} }),
  checkCheckpoint: (given) => ask("POST", "/audit/checkpoints/check", { json: given }),
  proveInclusion: (event) => ask("POST", "/audit/checkpoints/inclusion", { json: { event } }),
  proveConsistency: (given) => ask("POST", "/audit/checkpoints/consistency", { json: given }),
  exports: (query = {}) => ask("GET", `/audit/exports${asQuery(query)}`),
  makeExport: (given) => ask("POST", "/audit/exports", { json: given }),
  stopAudit: (kind) => ask("POST", `/audit/${kind}/stop`, { json: {} }),
  reviews: (id, query = {}) => ask("GET", at(id, `/reviews${asQuery(query)}`)),
  replies: (id, reviewer) => ask("GET", at(id, `/replies${asQuery({ reviewer })}`)),
  turnReviews: (turn) => ask("GET", `/turns/${turn}/reviews`),
  addReview: (turn, review) => ask("POST", `/turns/${turn}/reviews`, { json: review }),
  removeDocument: (id) => ask("DELETE", `/documents/${id}`),

  addDocument(file) {
    const body = new FormData();
    body.append("file", file);
    return ask("POST", "/documents", { body });
  },

  /**
   * Send a message and yield its turn's events. Sent again with the same key, it is not answered again.
   * `replaces` is the id of the newest turn when its round is to be answered anew.
   */
  async *send(id, message, key, replaces = null) {
    const response = await request("POST", at(id, "/messages"), {
      json: replaces ? { message, replaces } : { message },
      headers: { "Idempotency-Key": key },
    });
    yield* readEvents(response.body);
  },

  /** Yield the events of the turn that is running, from its beginning. */
  async *follow(id) {
    const response = await request("GET", at(id, "/messages/running"));
    yield* readEvents(response.body);
  },

  /** Answer one message under several configs without a trace; yields what happens in each column. */
  async *compare(id, message, columns) {
    const response = await request("POST", at(id, "/compare"), { json: { message, columns } });
    yield* readEvents(response.body);
  },

  /** Begin an audit (verify, replay, counterfactual) and yield what it tells. It goes on when nobody follows. */
  async *audit(kind, asked, signal) {
    const response = await request("POST", `/audit/${kind}`, { json: asked, signal });
    yield* readEvents(response.body);
  },

  /** Yield what the last audit of a kind told and tells, from its beginning. */
  async *followAudit(kind, signal) {
    const response = await request("GET", `/audit/${kind}`, { signal });
    yield* readEvents(response.body);
  },
};
