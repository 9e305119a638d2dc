// Numbers and times for people.

import { strings } from "./strings.js";

/** A score with a fixed number of places, so that columns line up. */
export function score(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  return Number.isInteger(value) ? String(value) : value.toFixed(Math.abs(value) >= 100 ? 1 : 3);
}

/** A duration given in seconds. */
export function duration(seconds) {
  if (seconds < 0.0005) return "<1 ms";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  return `${seconds.toFixed(1)} s`;
}

/** The stages of a turn as [name, seconds] in the order they ran; a record has them in alphabetical order. */
export function inOrder(timings) {
  const order = Object.keys(strings.stages);
  return Object.entries(timings).sort(([a], [b]) => order.indexOf(a) - order.indexOf(b));
}

/** The absolute time in a timezone, for a tooltip. */
export function absolute(iso, timezone) {
  return new Intl.DateTimeFormat("en-GB", { dateStyle: "full", timeStyle: "medium", timeZone: timezone }).format(
    new Date(iso),
  );
}

const STEPS = [
  ["year", 31536000],
  ["month", 2592000],
  ["day", 86400],
  ["hour", 3600],
  ["minute", 60],
];
const relativeFormat = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

/** How long ago, in words. */
export function relative(iso, now = Date.now()) {
  const seconds = (new Date(iso).getTime() - now) / 1000;
  for (const [unit, size] of STEPS) {
    if (Math.abs(seconds) >= size) return relativeFormat.format(Math.round(seconds / size), unit);
  }
  return "just now";
}

/** Random text that no other message has. (crypto.randomUUID needs https beyond loopback.) */
export function randomKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
