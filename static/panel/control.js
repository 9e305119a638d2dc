// The control of one setting: a switch, a choice or a line for a number, with what is wrong with it said beneath.

import { el } from "../dom.js";
import { words } from "./strings.js";
import { shown } from "./values.js";

/**
 * A control for `setting`. `oninput` gets what was put in, as it is: text for numbers, so that nothing is lost.
 * `id` is unique on the page; `described` lists the ids of what explains it. Gives {node, input, problem,
 * put(raw), say(error)}.
 */
export function control(setting, id, described, oninput) {
  const problem = el("p", { class: "alarm problem", id: `${id}-problem`, hidden: true });
  const { node, input, put } = MAKERS[setting.type](setting, oninput);
  input.id = id;
  const describe = (more) => input.setAttribute("aria-describedby", [...described, ...more].join(" "));
  describe([]);
  const say = (error) => {
    if (problem.textContent === (error ?? "") && problem.hidden === !error) return;
    problem.textContent = error ?? "";
    problem.hidden = !error;
    input.setAttribute("aria-invalid", String(Boolean(error)));
    describe(error ? [problem.id] : []);
  };
  return { node, input, problem, put, say };
}

function switchControl(setting, oninput) {
  const word = el("span", { class: "state", "aria-hidden": "true" });
  const input = el("input", { type: "checkbox", role: "switch" });
  const tell = () => (word.textContent = shown(input.checked));
  input.addEventListener("change", () => {
    tell();
    oninput(input.checked);
  });
  const put = (raw) => {
    input.checked = Boolean(raw);
    tell();
  };
  // The label makes the word part of the target; the setting's name is the accessible name, by the label in the row.
  return { node: el("label", { class: "switch" }, input, word), input, put };
}

function numberControl(setting, oninput) {
  const mode = setting.type === "int" && setting.low >= 0 ? "numeric" : "decimal";
  const input = el("input", { type: "text", inputMode: mode, autocomplete: "off", spellcheck: false, class: "figure" });
  input.addEventListener("input", () => oninput(input.value));
  const put = (raw) => {
    // Not while the person writes: the caret would jump.
    if (input.value !== String(raw)) input.value = String(raw);
  };
  return { node: input, input, put };
}

function choiceControl(setting, oninput) {
  const input = el(
    "select",
    {},
    setting.choices.map((name) => el("option", { value: name }, name)),
  );
  input.addEventListener("change", () => oninput(input.value));
  return { node: input, input, put: (raw) => (input.value = raw) };
}

const MAKERS = { bool: switchControl, int: numberControl, float: numberControl, choice: choiceControl };

/** "0 to 50; shipped 10": what may be put in. */
export function facts(setting, range) {
  return range ? words.facts(range, shown(setting.default)) : words.switchFacts(shown(setting.default));
}
