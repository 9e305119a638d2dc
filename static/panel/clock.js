// The experiment clock: the system's, one that stands still, or one that is moved. Turns take their time from it.

import { api } from "../api.js";
import { byId, el, fill } from "../dom.js";
import { state } from "./state.js";
import { words } from "./strings.js";
import { forControl, inZone, isZone, told } from "./zones.js";

const MOST_DAYS = 36_500;
const EVERY = 5_000;
const HOUR = 3_600;

/** The clock as the server told it, and when it did by this browser's own steady count. */
let clock = null;
let toldAt = 0;

/** Make the form work and show the clock. */
export async function startClock() {
  const form = byId("clock");
  fill(
    byId("zones"),
    zoneNames().map((zone) => el("option", { value: zone })),
  );
  form.addEventListener("submit", set);
  form.addEventListener("input", () => {
    sayError("");
    showFields();
  });
  setInterval(showNow, EVERY);
  await refreshClock();
}

/** Ask the server for the clock, which another page may have set. */
export async function refreshClock() {
  take(await api.clock());
}

const zoneNames = () => (Intl.supportedValuesOf ? Intl.supportedValuesOf("timeZone") : []);
const zone = () => state.timeline?.timezone ?? document.body.dataset.timezone;
const form = () => byId("clock").elements;

/** Seconds that a clock is moved, in words. */
function moved(seconds) {
  const size = Math.abs(seconds);
  const days = Math.floor(size / (24 * HOUR));
  const hours = Math.round(((size % (24 * HOUR)) / HOUR) * 100) / 100;
  const parts = [days ? words.days(days) : null, hours ? words.hours(hours) : null].filter(Boolean).join(" ");
  if (!parts) return words.level;
  return seconds > 0 ? words.ahead(parts) : words.behind(parts);
}

function take(given) {
  clock = given;
  toldAt = performance.now();
  form().kind.value = clock.kind;
  form().zone.value ||= zone();
  form().at.value = forControl(new Date(clock.at ?? clock.now), isZone(form().zone.value) ? form().zone.value : zone());
  const offset = clock.offset_seconds ?? 0;
  form().days.value = String(Math.trunc(offset / (24 * HOUR)));
  form().hours.value = String(Math.round(((offset % (24 * HOUR)) / HOUR) * 100) / 100);
  showFields();
  showNow();
  showBand();
}

/** The time of the experiment clock at this moment. */
function now() {
  const start = new Date(clock.now).getTime();
  // A clock of another kind, as an experiment's program may use, moves as it likes.
  return !["system", "offset"].includes(clock.kind) ? start : start + (performance.now() - toldAt);
}

function detail() {
  if (clock.kind === "fixed") return words.standing;
  return clock.kind === "offset" ? moved(clock.offset_seconds) : null;
}

function showNow() {
  if (!clock) return;
  const text = [told(now(), zone()), detail()].filter(Boolean).join(words.separator);
  const line = words.clockNow(words.clockKinds[clock.kind] ?? clock.name, text);
  // Only when the minute has changed.
  if (byId("clock-now").textContent !== line) byId("clock-now").textContent = line;
  showMeaning();
}

function showBand() {
  byId("band").hidden = clock.kind === "system";
  byId("band").textContent = clock.kind === "system" ? "" : words.clockBand(clock.name);
}

function showFields() {
  byId("fixed-fields").disabled = form().kind.value !== "fixed";
  byId("offset-fields").disabled = form().kind.value !== "offset";
  showMeaning();
}

/** What the fields would set, before it is set. */
function showMeaning() {
  const { wanted } = asked();
  const system = now() - (clock.kind === "offset" ? clock.offset_seconds * 1000 : 0);
  let moment = null;
  if (wanted?.kind === "fixed") moment = new Date(wanted.at).getTime();
  // While the clock is neither the system's nor moved from it, the page knows no better than this browser's own.
  if (wanted?.kind === "offset")
    moment = (["system", "offset"].includes(clock.kind) ? system : Date.now()) + wanted.offset_seconds * 1000;
  const text = moment === null || Number.isNaN(moment) ? "" : words.willBe(told(moment, zone()));
  if (byId("clock-meaning").textContent !== text) byId("clock-meaning").textContent = text;
}

/** What the form asks for: {wanted} as the API takes it, or {error, field}. */
function asked() {
  const { kind, at, zone: named, days, hours } = form();
  if (kind.value === "fixed") {
    if (!at.value) return { error: words.noDate, field: at };
    if (!isZone(named.value.trim())) return { error: words.noZone(named.value.trim()), field: named };
    return { wanted: { kind: "fixed", at: inZone(at.value, named.value.trim()) } };
  }
  if (kind.value === "offset") {
    const [byDays, byHours] = [days, hours].map(({ value }) =>
      /^[+-]?\d+(\.\d+)?$/.test(value.trim()) ? Number(value) : NaN,
    );
    if (Number.isNaN(byDays)) return { error: words.noOffset, field: days };
    if (Number.isNaN(byHours)) return { error: words.noOffset, field: hours };
    const seconds = Math.round(byDays * 24 * HOUR + byHours * HOUR);
    if (Math.abs(seconds) > MOST_DAYS * 24 * HOUR) return { error: words.farOffset(MOST_DAYS), field: days };
    return { wanted: { kind: "offset", offset_seconds: seconds } };
  }
  return { wanted: { kind: "system" } };
}

async function set(event) {
  event.preventDefault();
  byId("clock-status").textContent = "";
  const { wanted, error, field } = asked();
  if (error) {
    sayError(error);
    return field.focus();
  }
  try {
    take(await api.setClock(wanted));
    sayError("");
    byId("clock-status").textContent = words.clockSet(byId("clock-now").textContent);
  } catch (failure) {
    sayError(words.clockRefused(failure.message));
  }
}

const sayError = (text) => (byId("clock-error").textContent = text);
