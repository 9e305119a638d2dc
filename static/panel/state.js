// What the panel knows at the moment. `page.js` loads it; its parts read it.

export const state = {
  timelines: [],
  /** The open timeline as the server shows it, or null. */
  timeline: null,
  sessions: [],
  models: [],
  presets: [],
  /** Every setting with stage, group, help, type and range, in the order of the config. */
  settings: [],
  /** What holds in the running session: {preset, config, differences}. */
  held: null,
};

/** The number of the running session, as a person counts. */
export const sessionNumber = () => state.sessions.at(-1)?.number ?? 1;

/** The whole config of a preset by name; a name that is gone counts as the default. */
export function configOf(name) {
  const config = Object.fromEntries(state.settings.map((setting) => [setting.name, setting.default]));
  const differences = state.presets.find((preset) => preset.name === name)?.differences ?? {};
  for (const [key, { to }] of Object.entries(differences)) config[key] = to;
  return config;
}

/** A value that this tab remembers over a reload, or `fallback`. */
export function remembered(key, fallback) {
  try {
    return JSON.parse(sessionStorage.getItem(key)) ?? fallback;
  } catch {
    // What another version wrote, or a browser that keeps nothing.
    return fallback;
  }
}

/** Remember a value over a reload of this tab. */
export function remember(key, value) {
  try {
    sessionStorage.setItem(key, JSON.stringify(value));
  } catch {
    // A browser that keeps nothing: the page works all the same until it is left.
  }
}
