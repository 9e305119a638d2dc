// The reply while it is being written. It stands outside the log, so that a reader announces it once, at its end.

import { byId, el, fill } from "./dom.js";
import { markdown } from "./markdown.js";
import { state } from "./state.js";
import { strings } from "./strings.js";
import { said, steps } from "./turn.js";

// Markdown is made anew at most this often, and never for more than a part of the time.
const PAUSE = 100;
const SHARE = 4;
// Within this many pixels of the end a reader follows the words.
const AT_END = 80;

/** Whether the newest words are in view, and scrolling to them. */
export const end = {
  /** Stay at the end when the window of the conversation shrinks: a growing message box, a phone's keyboard. */
  hold() {
    let wasNear = true;
    const scroll = byId("scroll");
    scroll.addEventListener("scroll", () => (wasNear = end.isNear()), { passive: true });
    new ResizeObserver(() => wasNear && scroll.scrollTo(0, scroll.scrollHeight)).observe(scroll);
  },
  isNear() {
    const scroll = byId("scroll");
    return scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < AT_END;
  },
  show() {
    const toEnd = () => byId("scroll").scrollTo(0, byId("scroll").scrollHeight);
    toEnd();
    // Turns that come into view get their true height only then.
    requestAnimationFrame(() => {
      toEnd();
      requestAnimationFrame(toEnd);
    });
  },
};

/** A message and the reply to it as it comes. `round` is given when the round is answered again. */
export class Reply {
  constructor(message, round = null) {
    this.seconds = {};
    this.steps = el("span");
    this.stageName = el("span", { class: "hint" });
    this.words = el("div", { class: "words prose" }, strings.thinking);
    this.text = "";
    this.timer = null;
    this.article = el(
      "article",
      { class: "turn draft", "aria-busy": "true" },
      el(
        "header",
        {},
        round ? el("span", { class: "number" }, strings.answeringAgain(round)) : null,
        this.steps,
        this.stageName,
      ),
      said("user", state.timeline.user, message),
      el("div", { class: "said character" }, el("h3", { dir: "auto" }, state.timeline.character), this.words),
    );
  }

  show() {
    fill(byId("live"), this.article);
    end.show();
  }

  stage(name, seconds) {
    this.seconds[name] = seconds;
    fill(this.steps, steps(this.seconds));
    this.stageName.textContent = strings.stages[name] ?? name;
  }

  add(piece) {
    // The first words at once, the others together.
    if (!this.text) {
      this.text = piece;
      this.draw();
      return;
    }
    this.text += piece;
    this.timer ??= setTimeout(() => this.draw(), Math.max(PAUSE, SHARE * this.took));
  }

  draw() {
    const begun = performance.now();
    const wasNear = end.isNear();
    this.timer = null;
    fill(this.words, markdown(this.text));
    if (wasNear) end.show();
    this.took = performance.now() - begun;
  }

  restart() {
    clearTimeout(this.timer);
    this.timer = null;
    this.text = "";
    this.words.textContent = strings.thinking;
  }
}
