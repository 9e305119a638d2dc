// The tab "Decay": what the age of each candidate did to it. For each route one chart over rounds and one over hours,
// drawn from the turn's own record: the curve is the config's, the points are the weights that were used.

import { el, svg } from "./dom.js";
import { score } from "./format.js";
import { strings } from "./strings.js";

const WIDTH = 360;
const HEIGHT = 170;
const MARGIN = { left: 34, right: 18, top: 10, bottom: 34 };
const STEPS = 80;
// An axis on which the oldest is this many times older than the middle one is drawn logarithmically.
const SPREAD = 8;

const ROUTES = { knowledge: "knowledge", experience: "history" };
const AXES = [
  {
    age: "rounds_ago",
    own: "round_weight",
    constant: "lambda_round",
    unit: "rounds",
    ticks: [1, 3, 10, 30, 100, 300, 1000, 3000, 10000],
  },
  {
    age: "hours_ago",
    own: "clock_weight",
    constant: "lambda_hours",
    unit: "hours",
    ticks: [1, 6, 24, 168, 720, 4320, 8760, 43800, 87600],
  },
];

/** The charts of a turn. */
export function decayTab(view) {
  const { body } = view.record;
  if (!body?.candidates) return el("p", { class: "empty" }, body ? strings.noEvidenceFailed : strings.erased);
  const labels = new Map(body.evidence.map((item) => [item.memory, item.label]));
  return [
    el("p", { class: "hint" }, body.config.temporal_enabled ? strings.decayHelp : strings.decayOff),
    Object.keys(ROUTES).map((route) => section(route, body, view, labels)),
  ];
}

function section(route, body, view, labels) {
  const rows = body.candidates[route];
  const settings = settingsOf(body.config, ROUTES[route]);
  return el(
    "section",
    {},
    el("h3", {}, strings.routes[route]),
    el("p", { class: "hint" }, strings.decayConstants(settings.lambda_round, settings.lambda_hours, settings.floor)),
    rows.length
      ? [AXES.map((axis) => figure(route, axis, rows, settings, labels)), table(route, rows, view, labels)]
      : el("p", { class: "hint" }, strings.noCandidates),
  );
}

const settingsOf = (config, name) => ({
  floor: config[`${name}_floor`],
  lambda_round: config[`${name}_lambda_round`],
  lambda_hours: config[`${name}_lambda_hours`],
  enabled: config.temporal_enabled,
});

/** Paper equations 7 to 9 with the floor, on one axis alone; what the other takes away is the gap below the curve. */
export function curveAt(age, constant, floor, enabled = true) {
  return enabled ? floor + (1 - floor) * Math.exp(-Math.max(age, 0) / constant) : 1;
}

/** A position from 0 to 1 for an age, so chosen that the points are spread over the axis; `ticks` to be labelled. */
export function axisOf(ages, usual) {
  const sorted = [...ages].sort((a, b) => a - b);
  const longest = Math.max(sorted.at(-1) ?? 0, 1);
  const middle = Math.max(sorted[Math.floor(sorted.length / 2)] ?? 0, longest / 1e6, 0.1);
  const isLog = longest / middle > SPREAD;
  const scaled = (age) => (isLog ? Math.log1p(age) / Math.log1p(longest) : age / longest);
  const ticks = isLog ? [0, ...usual.filter((tick) => tick <= longest)] : even(longest);
  return {
    longest,
    isLog,
    scaled,
    ticks: apart(ticks, scaled),
    age: (share) => (isLog ? Math.expm1(share * Math.log1p(longest)) : share * longest),
  };
}

/** Four or five even steps up to `longest`. */
function even(longest) {
  const rough = longest / 4;
  const size = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(
    [1, 2, 5, 10].map((factor) => factor * size).find((value) => value >= rough),
    1,
  );
  return Array.from({ length: Math.floor(longest / step) + 1 }, (_, place) => place * step);
}

/** The ticks whose words do not run into each other. */
function apart(ticks, scaled) {
  const kept = [];
  for (const tick of ticks) if (!kept.length || scaled(tick) - scaled(kept.at(-1)) > 0.13) kept.push(tick);
  return kept;
}

// -- drawing -------------------------------------------------------------------------------------------------------

/** Where the axis of weights begins: a floor near 1 would press all points into its upper edge. */
function lowest(rows, settings) {
  const least = Math.min(settings.enabled ? settings.floor : 1, ...rows.map((row) => row.weight));
  return [0.9, 0.5].find((bound) => least >= bound) ?? 0;
}

const across = (share) => MARGIN.left + share * (WIDTH - MARGIN.left - MARGIN.right);
const downFrom = (least) => (weight) =>
  MARGIN.top + ((1 - weight) / (1 - least)) * (HEIGHT - MARGIN.top - MARGIN.bottom);

function figure(route, axis, rows, settings, labels) {
  const placed = rows.filter((row) => row[axis.age] !== null && row[axis.age] !== undefined);
  const without = rows.length - placed.length;
  const title = strings.decayOver[axis.unit];
  if (!placed.length) return el("p", { class: "hint" }, `${title}: ${strings.withoutAge(without)}`);
  const least = lowest(rows, settings);
  const scale = {
    ...axisOf(
      placed.map((row) => row[axis.age]),
      axis.ticks,
    ),
    least,
    down: downFrom(least),
  };
  return el(
    "figure",
    { class: "chart" },
    el(
      "figcaption",
      {},
      title,
      scale.isLog ? ` ${strings.logarithmic}` : "",
      least ? ` ${strings.axisFrom(least)}` : "",
    ),
    svg(
      "svg",
      {
        viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
        role: "img",
        "aria-label": strings.chartLabel(strings.routes[route], title, placed.length),
      },
      grid(axis, scale),
      curve(axis, scale, settings),
      // Kept above dropped, so that no dropped point hides a kept one.
      [...placed].sort((a, b) => Number(a.kept) - Number(b.kept)).map((row) => point(axis, scale, settings, row)),
      pointLabels(axis, scale, placed, labels),
    ),
    without ? el("p", { class: "hint" }, strings.withoutAge(without)) : null,
  );
}

function grid(axis, scale) {
  const bottom = scale.down(scale.least);
  const weights = [scale.least, (scale.least + 1) / 2, 1].map((weight) => [
    svg("line", { class: "grid", x1: across(0), x2: across(1), y1: scale.down(weight), y2: scale.down(weight) }),
    svg("text", { class: "tick", x: across(0) - 5, y: scale.down(weight) + 3.5, "text-anchor": "end" }, String(weight)),
  ]);
  const ages = scale.ticks.map((tick) => [
    svg("line", {
      class: "grid",
      x1: across(scale.scaled(tick)),
      x2: across(scale.scaled(tick)),
      y1: bottom,
      y2: bottom + 4,
    }),
    svg(
      "text",
      { class: "tick", x: across(scale.scaled(tick)), y: bottom + 15, "text-anchor": "middle" },
      strings.age(tick, axis.unit),
    ),
  ]);
  const name = svg(
    "text",
    { class: "tick", x: across(1), y: bottom + 29, "text-anchor": "end" },
    strings.ago[axis.unit],
  );
  return [weights, ages, name];
}

function curve(axis, scale, settings) {
  const points = Array.from({ length: STEPS + 1 }, (_, step) => {
    const share = step / STEPS;
    const weight = curveAt(scale.age(share), settings[axis.constant], settings.floor, settings.enabled);
    return `${across(share).toFixed(1)},${scale.down(weight).toFixed(1)}`;
  });
  return svg("polyline", { class: "curve", points: points.join(" ") });
}

function point(axis, scale, settings, row) {
  const x = across(scale.scaled(row[axis.age]));
  const onCurve = scale.down(curveAt(row[axis.age], settings[axis.constant], settings.floor, settings.enabled));
  const y = scale.down(row.weight);
  return svg(
    "g",
    { class: row.kept ? "point kept" : "point dropped" },
    svg("line", { class: "gap", x1: x, x2: x, y1: onCurve, y2: y }),
    svg("circle", { cx: x, cy: y, r: 4 }),
  );
}

/** The labels of the evidence above its points; labels of points in one place stand together. */
function pointLabels(axis, scale, rows, labels) {
  const groups = [];
  const shown = rows.filter((row) => labels.has(row.memory)).sort((a, b) => a[axis.age] - b[axis.age]);
  for (const row of shown) {
    const x = across(scale.scaled(row[axis.age]));
    const group = groups.at(-1);
    if (group && x - group.x < 24) {
      group.labels.push(labels.get(row.memory));
      group.y = Math.min(group.y, scale.down(row.weight));
    } else {
      groups.push({ x, y: scale.down(row.weight), labels: [labels.get(row.memory)] });
    }
  }
  return groups.map(({ x, y, labels: names }) => {
    const words = names.length > 2 ? strings.labelsTogether(names[0], names.length - 1) : names.join(" ");
    const room = words.length * 3.2;
    const within = Math.min(Math.max(x, across(0) + room), across(1) - room);
    // Under the point where there is no room above it.
    return svg(
      "text",
      { class: "name", x: within, y: y < MARGIN.top + 12 ? y + 17 : y - 8, "text-anchor": "middle" },
      words,
    );
  });
}

// -- the same in figures -------------------------------------------------------------------------------------------

const COLUMNS = ["rounds_ago", "round_weight", "hours_ago", "clock_weight", "weight"];

function table(route, rows, view, labels) {
  const head = [
    strings.columns.memory[0],
    strings.columns.verdict[0],
    ...COLUMNS.map((name) => strings.columns[name][0]),
  ];
  const order = [...rows].sort((a, b) => Number(b.kept) - Number(a.kept) || a.rank - b.rank);
  const whole = el(
    "table",
    { "aria-label": strings.routes[route] },
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        head.map((words) => el("th", { scope: "col", class: "plain-head" }, words)),
      ),
    ),
    el(
      "tbody",
      {},
      order.map((row) => tableRow(row, view.memories[row.memory], labels.get(row.memory))),
    ),
  );
  return el(
    "details",
    {},
    el("summary", {}, strings.inFigures),
    el("div", { class: "wide", tabIndex: 0, role: "region", "aria-label": strings.routes[route] }, whole),
  );
}

function tableRow(row, memory, label) {
  return el(
    "tr",
    { class: row.kept ? "kept" : "dropped" },
    el("th", { scope: "row" }, el("div", { class: "excerpt", dir: "auto" }, memory?.text ?? strings.erasedMemory)),
    el("td", {}, label ? [el("span", { class: "label" }, label), " "] : null, row.reason),
    COLUMNS.map((name) => el("td", { class: "figure" }, name === "hours_ago" ? hours(row[name]) : score(row[name]))),
  );
}

const hours = (value) => (value === null || value === undefined ? "–" : value.toFixed(1));
