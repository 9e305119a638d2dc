// The one dialog of the page: asks before anything that takes memories away.

import { byId, el, fill } from "../dom.js";
import { button } from "./parts.js";
import { words } from "./strings.js";

const dialog = byId("sheet");
// The browser gives the focus back to the button that was pressed, unless what was done took it away.
dialog.addEventListener("close", () => {
  const { activeElement } = document;
  if (activeElement === document.body || dialog.contains(activeElement)) byId("view").focus({ preventScroll: true });
});

/**
 * Show a form in the dialog. `submit(say, fail)` runs when it is sent; `say(words)` and `fail(error)` tell inside the
 * dialog, where the person is, what is wrong. Returns {form, submit: the button that sends, say}.
 */
export function showSheet({ title, body, label, danger = false, submit, back }) {
  const alarm = el("p", { class: "alarm", role: "alert" });
  const say = (message) => (alarm.textContent = message);
  const send = label ? el("button", { class: danger ? "primary danger" : "primary" }, label) : null;
  const form = el(
    "form",
    { class: "sheet" },
    el("h2", { id: "sheet-title", tabIndex: -1 }, title),
    body,
    alarm,
    el(
      "div",
      { class: "row" },
      button(label ? words.cancel : words.close, closeSheet),
      back ? button(words.back, back) : null,
      send,
    ),
  );
  form.noValidate = true;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    say("");
    submit?.(say, (error) => say(words.notDone(error.message)));
  });
  // What is being decided here stays while one looks at what it is about.
  for (const link of form.querySelectorAll("a")) Object.assign(link, { target: "_blank", rel: "noopener" });
  fill(dialog, form);
  if (!dialog.open) dialog.showModal();
  const first = form.querySelector("input, select, textarea") ?? form.querySelector("h2");
  first.focus();
  return { form, submit: send, say };
}

/** Close the dialog. */
export const closeSheet = () => dialog.close();

/** The field for a reason. */
export function reasonField() {
  const input = el("input", { name: "reason", maxLength: 500, autocomplete: "off" });
  return {
    input,
    field: el(
      "div",
      { class: "field" },
      el("label", {}, words.reason, input),
      el("p", { class: "hint" }, words.reasonHint),
    ),
  };
}
