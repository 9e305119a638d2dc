// The presets as cards. Choosing one shows what it changes; taking it is an intervention on the running session.

import { api } from "../api.js";
import { byId, el, fill } from "../dom.js";
import { configOf, sessionNumber, state } from "./state.js";
import { words } from "./strings.js";
import { shown } from "./values.js";

/** What the page gives: `taken(held, words)` after a preset was taken, `drafts()` how many changes wait. */
export const presetActions = { taken: () => {}, drafts: () => 0 };

let previewed = null;

/** Show the cards, the one in force marked. */
export function showPresets() {
  fill(byId("presets"), state.presets.map(card));
  showPreview();
}

/** Nothing is being looked at any more. */
export function closePreview() {
  previewed = null;
  fill(byId("preview"));
}

const titleOf = (name) => words.titles[name] ?? name;

function card(preset) {
  const current = preset.name === state.held.preset;
  const changed = Object.keys(state.held.differences).length;
  const count = Object.keys(preset.differences).length;
  const button = el(
    "button",
    {
      type: "button",
      class: "card",
      id: `preset-${preset.name}`,
      "aria-expanded": String(previewed === preset.name),
      "aria-controls": "preview",
      onclick: () => toggle(preset.name),
    },
    el("span", { class: "name" }, titleOf(preset.name)),
    el("span", { class: "hint" }, preset.help),
    el(
      "span",
      { class: "marks" },
      current ? el("span", { class: "mark strong" }, changed ? words.inForceChanged(changed) : words.inForce) : null,
      el("span", { class: "hint" }, count ? words.unlikeDefault(count) : words.sameAsDefault),
    ),
  );
  if (current) button.setAttribute("aria-current", "true");
  return el("li", {}, button);
}

function toggle(name) {
  previewed = previewed === name ? null : name;
  for (const { name: each } of state.presets) {
    byId(`preset-${each}`).setAttribute("aria-expanded", String(previewed === each));
  }
  showPreview();
  if (!previewed) return;
  byId("preview").querySelector("h3").focus({ preventScroll: true });
  byId("preview").scrollIntoView({ block: "nearest" });
}

/** What the chosen preset would change in the running session. */
function showPreview() {
  const preset = state.presets.find(({ name }) => name === previewed);
  if (!preset) return fill(byId("preview"));
  const target = configOf(preset.name);
  const rows = state.settings
    .filter(({ name }) => target[name] !== state.held.config[name])
    .map(({ name }) => ({ name, from: state.held.config[name], to: target[name] }));
  const title = titleOf(preset.name);
  const error = el("p", { class: "alarm", role: "alert" });
  const take = el("button", { type: "button", class: "primary" }, words.take(title));
  take.addEventListener("click", () => takePreset(preset.name, rows.length, take, error));
  const leave = () => {
    const { id } = byId(`preset-${preset.name}`);
    toggle(preset.name);
    byId(id).focus();
  };
  const drafts = presetActions.drafts();
  fill(
    byId("preview"),
    el("h3", { tabIndex: -1 }, words.preview(title, sessionNumber())),
    rows.length ? table(rows) : el("p", {}, words.previewNothing),
    drafts ? el("p", { class: "hint" }, words.previewDrafts(drafts)) : null,
    el("p", { class: "hint" }, words.applyNote(sessionNumber())),
    error,
    el("p", { class: "row" }, take, el("button", { type: "button", onclick: leave }, words.cancel)),
  );
}

function table(rows) {
  const heads = [words.setting, words.now, words.then].map((word) => el("th", { scope: "col" }, word));
  const lines = rows.map(({ name, from, to }) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, el("code", {}, name)),
      el("td", { class: "number" }, shown(from)),
      el("td", { class: "number" }, el("strong", {}, shown(to))),
    ),
  );
  return el("table", { class: "before-after" }, el("thead", {}, el("tr", {}, heads)), el("tbody", {}, lines));
}

async function takePreset(name, count, button, error) {
  const timeline = state.timeline.id;
  button.disabled = true;
  error.textContent = "";
  try {
    const held = await api.choosePreset(timeline, name);
    if (state.timeline.id !== timeline) return;
    previewed = null;
    presetActions.taken(held, words.taken(titleOf(name), count, sessionNumber()));
    byId(`preset-${name}`).focus();
  } catch (failure) {
    error.textContent = words.refused(failure.message);
  } finally {
    button.disabled = false;
  }
}
