// Exports: timelines as files for research, written by the server and downloaded from it.

import { api, files } from "../api.js";
import { el, fill } from "../dom.js";
import { choice, growing, mark, table, tell, timelineName, timelinesChoice, when } from "./parts.js";
import { page } from "./state.js";
import { words } from "./strings.js";

const PAGE = 20;
const ABOUT = ["name", "license", "url", "creator"];

/** Show the form and the exports that were made. */
export async function exportsSection(section) {
  const { signal } = page;
  const first = await api.exports({ limit: PAGE });
  if (signal.aborted) return;
  const saved = el("div", { class: "overview" });
  const refresh = async () => {
    const found = await api.exports({ limit: PAGE });
    if (!signal.aborted) showSaved(saved, found);
  };
  fill(section, el("p", { class: "hint" }, words.exportsHelp), formPart(refresh), saved);
  showSaved(saved, first);
}

function formPart(refresh) {
  const { signal } = page;
  const outcome = el("div", { class: "outcome" });
  const error = el("p", { class: "alarm", role: "alert" });
  const which = timelinesChoice("which");
  const about = el("div", { class: "row wrap asking" }, ABOUT.map((name) => el("label", { class: "stacked" }, words.aboutFields[name], el("input", { name, autocomplete: "off" }))));
  const help = el("p", { class: "hint" });
  const format = choice(words.format, "format", Object.entries(words.formats), "jsonl", showFormat);
  const chosen = () => format.querySelector("select").value;
  function showFormat() {
    help.textContent = words.formatHelp[chosen()];
    // Only Croissant says anything of a data set beside its tables.
    about.hidden = chosen() !== "croissant";
  }
  const start = el("button", { class: "primary" }, words.exportNow);
  const form = el("form", { class: "asking-form" }, el("div", { class: "row wrap asking" }, which, format), help, about, error, el("div", { class: "row" }, start));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (start.disabled) return;
    start.disabled = true;
    error.textContent = "";
    fill(outcome, el("p", { class: "hint" }, words.working));
    try {
      const all = which.querySelector("select").value === "all";
      const given = { format: chosen(), timelines: all ? [] : [page.timeline.id] };
      for (const input of about.querySelectorAll("input")) {
        if (given.format === "croissant" && input.value.trim()) given[input.name] = input.value.trim();
      }
      const done = await api.makeExport(given);
      await refresh();
      if (signal.aborted) return;
      tell(words.exported(done.export.files.length));
      fill(
        outcome,
        el("p", { class: "verdict" }, words.exported(done.export.files.length), " ", el("a", { href: files.exportedAll(done.export.id), download: "" }, words.saveAll)),
        el("p", { class: "hint" }, done.erased),
        Object.entries(done.damage).map(([name, text]) => el("p", { class: "warning" }, words.brokeOff(timelineName(name), text))),
      );
    } catch (failed) {
      fill(outcome);
      if (!signal.aborted) error.textContent = failed.message;
    } finally {
      start.disabled = false;
    }
  });
  showFormat();
  return el("section", { class: "part" }, form, outcome);
}

function showSaved(node, found) {
  const heads = Object.entries(words.exportHeads);
  const whole = table(words.exportsMade, heads, []);
  const body = whole.querySelector("tbody");
  const load = async (after) => {
    const next = await api.exports({ after, limit: PAGE });
    return { rows: next.exports, more: next.more };
  };
  const list = growing(load, (rows) => body.append(...table(words.exportsMade, heads, rows.map(exportRow)).querySelector("tbody").children));
  list.take({ rows: found.exports, more: found.more });
  fill(
    node,
    el("h2", {}, words.exportsMade),
    found.exports.length ? [whole, list.more] : el("p", { class: "empty" }, words.noExports),
    el("p", { class: "hint" }, words.exportsFolder(found.folder)),
  );
}

function exportRow(row) {
  const names = row.timelines.filter((name) => name !== "knowledge").map(timelineName);
  return {
    format: words.formats[row.format] ?? row.format,
    at: when(row.at),
    timelines: names.length > 3 ? words.andMore(names.slice(0, 3).join(", "), names.length - 3) : names.join(", "),
    files: el("ul", { class: "plain" }, row.files.map((file) => el("li", {}, fileLink(row, file)))),
    all: row.id ? el("a", { href: files.exportedAll(row.id), download: "", "aria-label": words.actOn(words.saveAll, row.id) }, words.saveAll) : el("span", { class: "hint" }, words.elsewhere(row.folder)),
  };
}

function fileLink(row, { name, state, bytes }) {
  const size = bytes === null ? "" : ` ${words.bytes(bytes)}`;
  if (state !== "unchanged") return [name, size, " ", mark(words.fileStates[state] ?? state, "bad")];
  if (!row.id) return [name, el("span", { class: "hint number" }, size)];
  return [el("a", { href: files.exported(row.id, name), download: name }, name), el("span", { class: "hint number" }, size)];
}
