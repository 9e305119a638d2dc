// The evidence of several columns set side by side: which memory each was shown, and how that differs from the first.
// Pure functions; a column's result is as the API gives it, or null while it is not done.

/**
 * One row for each memory that any column was shown: {memory, text, route, round, source, cells}. A cell is null while
 * its column is not done, else {label, place, final, cue, use, verdict, steps, reason}: `verdict` is same, up, down, added,
 * lost or absent against the first column (shown or absent in the first itself), `steps` how far it moved, `reason` why
 * it is not shown here, `firstReason` why not in the first.
 */
export function aligned(results) {
  const columns = results.map((result) => (result ? asColumn(result) : null));
  const order = [...new Set(columns.flatMap((column) => (column ? [...column.shown.keys()] : [])))];
  return order.map((memory) => {
    const about = described(memory, results);
    const cells = columns.map(
      (column, index) => column && cell(memory, about.route, column, index ? columns[0] : null),
    );
    return { memory, ...about, cells };
  });
}

/** How many memories a column was shown, and how many of them were added, lost and moved against the first column. */
export function counts(rows, index) {
  const cells = rows.map(({ cells }) => cells[index]).filter(Boolean);
  const having = (...verdicts) => cells.filter(({ verdict }) => verdicts.includes(verdict)).length;
  return {
    shown: cells.filter(({ label }) => label).length,
    added: having("added"),
    lost: having("lost"),
    moved: having("up", "down"),
  };
}

function asColumn({ body }) {
  const candidates = new Map(
    Object.values(body.candidates ?? {})
      .flat()
      .map((row) => [row.memory, row]),
  );
  const shown = new Map((body.evidence ?? []).map((item) => [item.memory, item]));
  // Best first by final score: prompt order is by time, so it says nothing of what counted more.
  const final = (memory) => candidates.get(memory)?.final ?? 0;
  const ranking = [...shown.keys()].sort((a, b) => final(b) - final(a));
  return { body, candidates, shown, ranking };
}

function cell(memory, route, column, first) {
  const item = column.shown.get(memory);
  const candidate = column.candidates.get(memory);
  const moved = first ? comparedWith(memory, column, first) : { verdict: item ? "shown" : "absent", steps: 0 };
  return {
    ...moved,
    label: item?.label ?? null,
    cue: item?.cue ?? null,
    use: item ? useOf(item.label, column.body) : null,
    place: item ? column.ranking.indexOf(memory) + 1 : null,
    final: candidate?.final ?? null,
    reason: item ? null : missing(memory, route, column),
    firstReason: moved.verdict === "added" ? missing(memory, route, first) : null,
  };
}

const SWITCHES = { knowledge: "knowledge_enabled", experience: "history_enabled" };

/** Why a column was not shown a memory: the reason of its candidate, else that it was not searched for or not found. */
function missing(memory, route, { body, candidates }) {
  const searched = body.config[SWITCHES[route]] !== false;
  return candidates.get(memory)?.reason ?? (searched ? "not found" : "not searched");
}

function comparedWith(memory, column, first) {
  const here = column.shown.has(memory);
  const there = first.shown.has(memory);
  if (!here || !there) return { verdict: here ? "added" : there ? "lost" : "absent", steps: 0 };
  const common = (ranking) => ranking.filter((each) => column.shown.has(each) && first.shown.has(each));
  const steps = common(first.ranking).indexOf(memory) - common(column.ranking).indexOf(memory);
  return { verdict: steps > 0 ? "up" : steps < 0 ? "down" : "same", steps: Math.abs(steps) };
}

function useOf(label, body) {
  return body.bound?.includes(label) ? "bound" : body.cited?.includes(label) ? "cited" : null;
}

/** What a memory is, from any column that knows it; the longest text, since a candidate's is cut. */
function described(memory, results) {
  const known = results.map((result) => result?.memories?.[memory]).filter(Boolean);
  const [best] = known.sort((a, b) => b.text.length - a.text.length);
  if (!best) return { text: null, route: null, round: null, source: null };
  return { text: best.text, route: best.route, round: best.round ?? null, source: best.source ?? null };
}
