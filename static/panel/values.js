// Settings as values: reading what a person wrote, saying what is wrong with it, showing it. Pure functions.

import { words } from "./strings.js";

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
const WITH_COMMA = /^[+-]?\d*,\d+$/;

/** A value as text for a person. */
export function shown(value) {
  if (typeof value === "boolean") return value ? words.on : words.off;
  return String(value);
}

/** The range of a setting in words; "" for a switch. */
export function range(setting) {
  if (setting.type === "choice") return words.choices(setting.choices);
  if (setting.type === "bool") return "";
  return words.range(setting.low.toLocaleString("en"), setting.high.toLocaleString("en"));
}

/** Read what was put into a setting's control: {value} or {error}, the error in words. */
export function read(setting, raw) {
  if (setting.type === "bool") return { value: Boolean(raw) };
  if (setting.type === "choice") {
    return setting.choices.includes(raw) ? { value: raw } : { error: words.notAChoice(setting.choices) };
  }
  return readNumber(setting, String(raw).trim());
}

function readNumber(setting, text) {
  const allowed = range(setting);
  if (!text) return { error: words.empty(allowed) };
  if (WITH_COMMA.test(text)) return { error: words.decimalPoint(allowed) };
  if (!NUMBER.test(text)) return { error: words.notANumber(allowed) };
  const value = Number(text);
  if (setting.type === "int" && !Number.isInteger(value)) return { error: words.notWhole(allowed) };
  if (value < setting.low) return { error: words.tooLow(allowed) };
  if (value > setting.high) return { error: words.tooHigh(allowed) };
  return { value };
}

/** The setting that a refusal of the server is about, or null: its messages begin with the setting's name. */
export function refusedSetting(settings, message) {
  const [first] = message.split(/[\s:]/, 1);
  return settings.some(({ name }) => name === first) ? first : null;
}

/** The settings by stage, each stage by group, in the order in which a turn runs: [[stage, [[group, [setting]]]]]. */
export function inStages(settings) {
  return Object.keys(words.stages).map((stage) => {
    const groups = new Map();
    for (const setting of settings.filter((item) => item.stage === stage)) {
      groups.set(setting.group, [...(groups.get(setting.group) ?? []), setting]);
    }
    return [stage, [...groups]];
  });
}

/** Differences {name: {from, to}} as a list of words. */
export function differencesInWords(differences) {
  return Object.entries(differences).map(([name, { from, to }]) => words.difference(name, shown(from), shown(to)));
}
