// The rolling curves of a reviewer's report, with the numbers in a table behind them.

import { el, svg } from "../dom.js";
import { table } from "./parts.js";
import { words } from "./strings.js";

const WIDTH = 480;
const HEIGHT = 170;
const MARGIN = { left: 40, right: 12, top: 12, bottom: 24 };

/** The figure of a report, or null when it has no round. */
export function curveFigure(report) {
  const { curve } = report;
  if (!curve.length) return null;
  const across = scale(curve.map(({ round }) => round));
  const line = (name) => curve.filter((point) => point[name] !== null).map((point) => [across(point.round), down(point[name])]);
  const automatic = line("automatic");
  const rows = curve.map(({ round, automatic: before, manual }) => ({
    round: String(round),
    automatic: before === null ? words.none : words.percent(before),
    manual: words.percent(manual),
  }));
  return el(
    "figure",
    { class: "chart" },
    el("figcaption", {}, words.curveTitle),
    svg(
      "svg",
      { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": words.curveLabel(report.reviewer, curve.length) },
      grid(curve, across),
      automatic.length ? path(automatic, "automatic") : [],
      path(line("manual"), "manual"),
    ),
    el(
      "ul",
      { class: "plain curve-legend" },
      el("li", { class: "manual" }, words.curveHeads.manual),
      automatic.length ? el("li", { class: "automatic" }, words.curveHeads.automatic) : null,
    ),
    el("details", {}, el("summary", {}, words.curveTable), table(words.curveTitle, Object.entries(words.curveHeads), rows, ["automatic", "manual"])),
  );
}

function scale(rounds) {
  const [first, last] = [rounds[0], rounds.at(-1)];
  const room = WIDTH - MARGIN.left - MARGIN.right;
  return (round) => MARGIN.left + (last === first ? 0.5 : (round - first) / (last - first)) * room;
}

const down = (value) => MARGIN.top + (1 - value) * (HEIGHT - MARGIN.top - MARGIN.bottom);

function grid(curve, across) {
  const levels = [0, 0.5, 1].flatMap((level) => [
    svg("line", { class: "grid", x1: MARGIN.left, x2: WIDTH - MARGIN.right, y1: down(level), y2: down(level) }),
    svg("text", { class: "tick", x: MARGIN.left - 6, y: down(level) + 3, "text-anchor": "end" }, `${100 * level} %`),
  ]);
  const ends = [...new Set([curve[0].round, curve.at(-1).round])].map((round) =>
    svg("text", { class: "tick", x: across(round), y: HEIGHT - 8, "text-anchor": "middle" }, String(round)),
  );
  return [...levels, ...ends];
}

/** A line, and a point where there is only one. */
function path(points, name) {
  const [[x, y]] = points;
  return [
    svg("polyline", { class: `curve ${name}`, points: points.map((point) => point.join(",")).join(" ") }),
    points.length === 1 ? svg("circle", { class: `dot ${name}`, cx: x, cy: y, r: 3 }) : [],
  ];
}
