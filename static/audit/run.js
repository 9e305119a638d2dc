// A run at the server (verify, replay, counterfactual) as this page sees it: begun or followed, its progress, its stop.

import { api } from "../api.js";
import { el } from "../dom.js";
import { button, tell } from "./parts.js";
import { page } from "./state.js";
import { words } from "./strings.js";

/**
 * A run of one kind. The section says what to do: `begun()` before anything is told, `happened(name, data)`, and
 * `ended(how)` with "done", "stopped", "failed" or "lost". `controls` cannot be used meanwhile.
 * Gives {node, begin(asked), follow()}.
 */
export function runPart(kind, { begun, happened, ended, controls }) {
  // The section may be gone when the next thing comes.
  const { signal } = page;
  const meter = el("progress", { "aria-label": words.running });
  const text = el("p", { class: "hint number" });
  const stop = button(words.stop, stopRun, { class: "stop" });
  const again = button(words.followAgain, () => follow(), { hidden: true });
  const node = el("div", { class: "run", hidden: true }, meter, text, stop, again);

  async function stopRun() {
    text.textContent = words.stopping;
    try {
      await api.stopAudit(kind);
    } catch (error) {
      text.textContent = error.message;
    }
  }

  function show(running, message, alarm = false) {
    node.hidden = !running && !message;
    node.setAttribute("aria-busy", String(running));
    for (const part of [meter, stop]) part.hidden = !running;
    for (const control of controls()) control.disabled = running;
    text.textContent = message;
    text.className = alarm ? "alarm" : "hint number";
    again.hidden = true;
  }

  function progress({ phase, done, total }) {
    if (phase === "ledgers" || !total) {
      meter.removeAttribute("value");
      text.textContent = phase === "ledgers" ? words.readingLedgers : words.begins;
      return;
    }
    meter.max = total;
    meter.value = done;
    text.textContent = words.progress(done, total);
  }

  function finish(how, message, alarm) {
    // Who pressed the stop finds the focus at what can be done next.
    const hadFocus = document.activeElement === stop;
    show(false, message, alarm);
    if (hadFocus) controls()[0]?.focus();
    ended(how);
  }

  async function take(stream) {
    begun();
    show(true, words.begins);
    progress({ phase: "turns", done: 0, total: 0 });
    for await (const { name, data } of stream) {
      if (signal.aborted) return;
      if (name === "progress") progress(data);
      else if (name === "failed") return finish("failed", words.failed(data.error.message), true);
      else if (name === "done") return finish(data.stopped ? "stopped" : "done", data.stopped ? words.stopped : "");
      else happened(name, data);
    }
    throw new Error(words.lost);
  }

  function fail(error) {
    if (signal.aborted || error.name === "AbortError") return;
    // What was begun goes on without this page.
    finish("lost", error.message, true);
    again.hidden = Boolean(error.status && error.status !== 503);
  }

  async function begin(asked) {
    try {
      await take(api.audit(kind, asked, signal));
    } catch (error) {
      if (error.kind !== "busy" || error.status !== 409) return fail(error);
      tell(error.message);
      await follow();
    }
  }

  async function follow() {
    try {
      await take(api.followAudit(kind, signal));
    } catch (error) {
      fail(error);
    }
  }

  return { node, begin, follow };
}

/** Call `draw` soon, and once for all that happens until then; `now()` calls it at once instead. */
export function soon(draw) {
  let waiting = 0;
  function now() {
    clearTimeout(waiting);
    waiting = 0;
    draw();
  }
  function later() {
    waiting ||= setTimeout(now, 150);
  }
  return Object.assign(later, { now });
}
