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

export const api = {
  timelines: () => ask("GET", "/timelines"),
  createTimeline: (given) => ask("POST", "/timelines", { json: given }),
  timeline: (id, before) => ask("GET", at(id, before ? `?before=${before}` : "")),
  clearContext: (id) => ask("POST", at(id, "/sessions"), { json: {} }),
  switchModel: (id, model) => ask("POST", at(id, "/sessions"), { json: { model } }),
  config: (id) => ask("GET", at(id, "/config")),
  choosePreset: (id, preset) => ask("PATCH", at(id, "/config"), { json: { preset } }),
  stop: (id) => ask("POST", at(id, "/stop"), { json: {} }),
  turn: (id) => ask("GET", `/turns/${id}`),
  instructions: (id) => ask("GET", at(id, "/instructions")),
  addInstruction: (id, text) => ask("POST", at(id, "/instructions"), { json: { text } }),
  retireInstruction: (id, instruction) => ask("POST", at(id, `/instructions/${instruction}/retire`), { json: {} }),
  models: () => ask("GET", "/models"),
  presets: () => ask("GET", "/presets"),
  documents: () => ask("GET", "/documents"),
  removeDocument: (id) => ask("DELETE", `/documents/${id}`),

  addDocument(file) {
    const body = new FormData();
    body.append("file", file);
    return ask("POST", "/documents", { body });
  },

  /** Send a message and yield its turn's events. Sent again with the same key, it is not answered again. */
  async *send(id, message, key) {
    const response = await request("POST", at(id, "/messages"), {
      json: { message },
      headers: { "Idempotency-Key": key },
    });
    yield* readEvents(response.body);
  },

  /** Yield the events of the turn that is running, from its beginning. */
  async *follow(id) {
    const response = await request("GET", at(id, "/messages/running"));
    yield* readEvents(response.body);
  },
};
