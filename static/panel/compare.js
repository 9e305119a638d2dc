// Compare: one message under two to four configs side by side. Nothing is remembered or recorded.

import { api } from "../api.js";
import { byId, fill } from "../dom.js";
import { askedColumns, columnTitle } from "./columns.js";
import { comparisonTable, stageNow } from "./comparison.js";
import { state } from "./state.js";
import { words } from "./strings.js";

/** The comparison that is shown, or null: {timeline, message, columns, finished, stopped}. */
let run = null;
/** Whether the server is at a comparison that this page does not follow: begun before a reload, or on another page. */
let elsewhere = false;

/** Make the form work. */
export function startCompare() {
  byId("compare").addEventListener("submit", (event) => {
    event.preventDefault();
    begin();
  });
  byId("stop-compare").addEventListener("click", stop);
  byId("view-compare").addEventListener("keydown", (event) => {
    if (event.key === "Escape" && run && !run.finished) stop();
  });
  byId("question").addEventListener("keydown", (event) => {
    // While an input method composes (Chinese, Japanese), Enter chooses a word.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    begin();
  });
}

/** Another timeline was opened: what was compared on the one before goes. */
export function leaveComparison() {
  if (run && !run.finished) api.stopCompare(run.timeline).catch(() => {});
  run = null;
  elsewhere = false;
  fill(byId("comparison"));
  sayStatus("");
  sayError("");
  showButtons();
}

async function begin() {
  if (run && !run.finished) return;
  const message = byId("question").value.trim();
  const limit = Number(document.body.dataset.messageLimit);
  if (!message) return pointAt(byId("question"), words.noMessage);
  if (message.length > limit) return pointAt(byId("question"), words.tooLong(message.length, limit));
  const { asked, wrong, count } = askedColumns();
  if (wrong) return pointAt(wrong, words.unusable(count));
  sayError("");
  elsewhere = false;
  const mine = {
    timeline: state.timeline.id,
    message,
    finished: false,
    stopped: false,
    columns: asked.map((_, index) => ({
      title: columnTitle(index),
      stage: null,
      text: "",
      repairing: false,
      result: null,
      error: null,
    })),
  };
  const previous = run;
  run = mine;
  showButtons();
  draw();
  try {
    await follow(mine, asked);
  } catch (error) {
    if (run !== mine) return;
    const began = mine.columns.some(({ stage, text, result, error: failed }) => stage || text || result || failed);
    // Refused before anything came: what was shown before comes back.
    if (!began) {
      run = previous;
      elsewhere = error.kind === "busy";
      sayError(words.cannotRun(error.message));
    }
  }
  if (run === mine) return finish(mine);
  // Another timeline was opened meanwhile, or nothing began.
  draw();
  if (!run || run.finished) sayStatus("");
  showButtons();
}

async function follow(mine, asked) {
  for await (const { name, data } of api.compare(mine.timeline, mine.message, asked)) {
    if (run !== mine) return;
    happened(mine, name, data);
  }
}

function happened(mine, name, data) {
  const column = mine.columns[data.column];
  if (!column) return;
  if (name === "stage") {
    Object.assign(column, { stage: data.name, repairing: column.repairing && data.name !== "answered" });
  } else if (name === "text") {
    column.text += data.text;
    column.repairing = false;
  } else if (name === "restart") Object.assign(column, { text: "", repairing: true });
  else if (name === "column" && data.result.kind === "turn") column.result = data.result;
  else if (name === "column") {
    // What a person saw coming; the raw text only when that was nothing.
    const { error, partial } = data.result.body;
    Object.assign(column, { error, text: column.text || (partial ?? "") });
  } else if (name === "failed") column.error = { kind: data.error.kind, text: data.error.message };
  if (name === "column" || name === "failed") draw();
  else drawLive(column, data.column);
}

function finish(mine) {
  mine.finished = true;
  const all = mine.columns.every(({ result, error }) => result || error);
  draw();
  showButtons();
  sayStatus(mine.stopped ? words.stopped : all ? words.compared : words.cutOff);
}

async function stop() {
  const running = run && !run.finished;
  if (running) run.stopped = true;
  try {
    await api.stopCompare(state.timeline.id);
    if (running) return;
    sayError("");
    sayStatus(words.stoppedElsewhere);
  } catch (error) {
    sayError(error.message);
  }
  elsewhere = false;
  showButtons();
}

// -- showing --------------------------------------------------------------------------------------------------------

function draw() {
  if (!run) return fill(byId("comparison"));
  fill(byId("comparison"), comparisonTable(run));
  const done = run.columns.filter(({ result, error }) => result || error).length;
  if (!run.finished) sayStatus(words.comparing(done, run.columns.length));
}

/** Only the words that come in: the rest of the table is as it was. */
function drawLive(column, index) {
  const cell = byId("comparison").querySelector(`[data-column="${index}"]`);
  const live = cell?.querySelector(".live");
  if (!live) return;
  live.textContent = column.text;
  cell.querySelector(".stage-now").textContent = stageNow(column);
}

function showButtons() {
  const running = Boolean(run && !run.finished);
  byId("run-compare").disabled = running;
  byId("stop-compare").hidden = !running && !elsewhere;
}

const sayStatus = (text) => (byId("compare-status").textContent = text);
const sayError = (text) => (byId("compare-error").textContent = text);

function pointAt(node, text) {
  sayError(text);
  node.focus();
}
