// Sending a message and following its turn to the end. Promise: whatever happens on the way, the words are either in
// the conversation or back in the box, and the person is told which.

import { api, ApiError } from "./api.js";
import * as box from "./box.js";
import { addTurn, isBehind } from "./conversation.js";
import { byId, clearNotices, fill, notice } from "./dom.js";
import { randomKey } from "./format.js";
import { keep } from "./records.js";
import { end, Reply } from "./reply.js";
import { newestReply, state } from "./state.js";
import { strings } from "./strings.js";

const TRIES = 6;
const PAUSE = 1000;

/** What sending asks of the rest of the page: set once by `app.js`. */
export const after = {
  /** A turn was answered or failed, and is on the page. */
  async finished(turn) {},
  /** The server has more than the page shows. */
  async refresh() {},
  /** Tell the person what failed. */
  async tell(error) {},
};

/** Send what is in the box. */
export async function send() {
  if (!state.timeline || state.answering) return;
  const taken = box.take();
  if (taken) await deliver(taken.message, taken.replaced);
}

/** Answer the newest round again with the same words. */
export async function again(turn = newestReply()) {
  if (!turn || turn.erased || state.answering) return;
  // The words are in the conversation, so a refusal puts none back.
  await deliver(turn.message, turn, false);
}

/** Send the words of a failed turn again, as it would have been answered. */
export async function tryAgain(turn) {
  if (state.answering) return;
  await deliver(turn.message, turn.replaces ? { id: turn.replaces, round: turn.round } : null, false);
}

async function deliver(message, replaced, putBack = true) {
  const id = state.timeline.id;
  const key = randomKey();
  const open = () => api.send(id, message, key, replaced?.id ?? null);
  await answer({ message, round: replaced?.round ?? null }, open, async (error) => {
    if (putBack) box.putBack(message, replaced);
    if (error.kind === "unreachable") notice(strings.connectionGone, strings.dismiss);
    else if (error.kind === "input" && replaced) await outrun(error, replaced, putBack);
    else await after.tell(error);
    // Another page sent first: show what it did.
    if (error.kind === "busy") await after.refresh();
  });
}

/** The reply that was to be replaced may not be the newest any more: show what is, and aim the words at it. */
async function outrun(error, replaced, putBack) {
  await after.refresh();
  const newest = newestReply();
  notice(newest?.id === replaced.id ? error.message : strings.answeredElsewhere, strings.dismiss);
  if (putBack) box.aim(newest?.round === replaced.round ? { id: newest.id, round: newest.round } : null);
}

/** Follow a turn that is running already: after a reload, or because another page began it. */
export async function resume(running) {
  const id = state.timeline.id;
  const round = running.replaces ? (state.turns.find((turn) => turn.id === running.replaces)?.round ?? null) : null;
  const given = { message: running.message, round, quiet: true };
  await answer(
    given,
    () => api.follow(id),
    async (error) => {
      // It ended before it could be followed: it is among the turns by now.
      if (error.kind === "not_found") await after.refresh();
      else notice(error.message, strings.dismiss);
    },
  );
}

/** Stop the reply that is being written. */
export async function stop() {
  if (!state.answering) return;
  byId("stop").disabled = true;
  await api.stop(state.answering.timeline).catch((error) => notice(error.message, strings.dismiss));
}

/** Stop following what is being answered; the turn goes on at the server. */
export function leave() {
  state.answering = null;
  fill(byId("live"));
  setBusy(false);
}

/** Follow a turn to its end; `refused` gets the error when there is no turn to follow. */
async function answer({ message, round, quiet = false }, open, refused) {
  const answering = { timeline: state.timeline.id, message, round };
  state.answering = answering;
  if (!quiet) clearNotices();
  setBusy(true);
  let view = null;
  let failure = null;
  try {
    view = await followWithRetries(answering, open);
  } catch (error) {
    failure = error;
  }
  if (!isCurrent(answering)) return;
  if (failure) {
    leave();
    await refused(failure);
  } else if (view) {
    await finish(view, quiet);
  }
}

/** Put the finished turn in the place of the reply that was being written. */
async function finish(view, quiet) {
  const wasNear = end.isNear();
  const behind = isBehind(view.turn);
  if (!quiet) clearNotices();
  keep(view);
  leave();
  if (behind) await after.refresh();
  else addTurn(view.turn);
  if (wasNear) end.show();
  await after.finished(view.turn);
}

async function followWithRetries(answering, open) {
  for (let tries = 1; ; tries += 1) {
    try {
      const view = await follow(answering, open());
      if (view || !isCurrent(answering)) return view;
    } catch (error) {
      if (!isCurrent(answering)) return null;
      // Only a lost connection is tried again; the key sees to it that nothing is sent twice.
      if ((error.kind && error.kind !== "unreachable") || tries === TRIES) throw error;
    }
    if (tries === TRIES) throw new ApiError("unreachable", strings.connectionGone);
    if (tries === 1) notice(strings.connectionLost, strings.dismiss);
    await new Promise((resolve) => setTimeout(resolve, PAUSE * tries));
    if (!isCurrent(answering)) return null;
  }
}

/** Show a turn as it comes. Its record, or null when the stream ended or was left before the turn ended. */
async function follow(answering, events) {
  const reply = new Reply(answering.message, answering.round);
  reply.show();
  let begun = false;
  for await (const { name, data } of events) {
    if (!isCurrent(answering)) return null;
    if (!begun) box.arrived();
    begun = true;
    if (name === "stage") reply.stage(data.name, data.seconds);
    else if (name === "text") reply.add(data.text);
    else if (name === "restart") reply.restart();
    else if (name === "turn") return data;
    else if (data.turn) return api.turn(data.turn);
    // Failed before anything could be recorded.
    else throw new ApiError(data.error.kind, data.error.message);
  }
  return null;
}

const isCurrent = (answering) => state.answering === answering;

function setBusy(busy) {
  byId("stop").hidden = !busy;
  byId("stop").disabled = false;
  for (const id of ["send", "model", "preset", "clear"]) byId(id).disabled = busy;
  document.body.classList.toggle("answering", busy);
}
