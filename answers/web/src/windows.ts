// SPDX-License-Identifier: Apache-2.0
// Runs of which the page has an overview only, and its server all spans: those of the range in view are asked for while the
// timeline shows it. Each answer replaces the one before; the selection is found again by row and start.
import { batch as together, effect } from "@preact/signals";
import { loadRun, windowFacts, type RunFacts, type Spans, type WindowAnswer } from "./data";
import { firstStartingAt, nextMatch } from "./find";
import { ask } from "./parts";
import {
  anchor,
  documentData,
  drawable,
  failure,
  overview,
  page,
  run,
  selected,
  selection,
  spans,
  view,
  windowSpans,
  type Anchor,
  type Range,
} from "./state";

const MARGIN = 0.5, // of the view, on both sides: panning shows something at once
  COARSE = 3; // a window of rectangles is replaced when the view is this much smaller

// ---- the selected span
const anchorOf = (data: Spans, place: number): Anchor => ({
  row: data.row[place],
  start: data.start[place],
  id: data.id?.[place] ?? 0,
});
// The span, or the rectangle that it is in; -1: neither is here.
export function placeOf(data: Spans, { row, start, id }: Anchor): number {
  const [, , first, count] = data.facts.rows[row] ?? [0, 0, 0, 0],
    at = firstStartingAt(data, first, first + count, start);
  for (let i = at; i < first + count && data.start[i] === start; i++)
    if (id === 0 || data.id === null || data.id[i] === id || data.id[i] === 0) return i;
  return at > first && data.start[at - 1] + data.duration[at - 1] > start ? at - 1 : -1;
}
let isSwapping = false;
export const isFoundAgain = () => isSwapping; // the selection is the same span at another place
export function swap(change: () => void) {
  const wanted = anchor.peek();
  isSwapping = true;
  together(() => {
    change();
    const data = drawable.value;
    if (wanted !== null && data !== null) selected.value = placeOf(data, wanted);
  });
  isSwapping = false;
}
// Selects a span of the whole run's data, whatever the timeline draws.
export function select(data: Spans, place: number) {
  const drawn = drawable.value,
    at = anchorOf(data, place);
  if (data.facts.has_windows) anchor.value = at;
  const isAnother = drawn !== null && drawn !== data && drawn.facts.run === data.facts.run;
  selected.value = isAnother ? placeOf(drawn, at) : place;
}

// ---- the range in view
const isFine = (shown: Range, within: { range: Range; spans: Spans }) =>
  shown.from >= within.range.from &&
  shown.to <= within.range.to &&
  (within.spans.merged === null || within.range.to - within.range.from <= COARSE * (shown.to - shown.from));

let isAsking = false;
async function askFor(facts: RunFacts, { from, to }: Range) {
  const more = (to - from) * MARGIN,
    range = { from: Math.floor(from - more), to: Math.ceil(to + more) },
    reply = await ask("spans", { run: facts.run, from: range.from, to: range.to });
  if (reply === null) throw new Error("the server has no spans of this run any more: load the page again");
  const answer = (await reply.json()) as WindowAnswer,
    found = await loadRun(windowFacts(facts, answer, documentData.value!));
  if (run.peek() === facts) swap(() => (windowSpans.value = { range, spans: found }));
}
async function follow() {
  const facts = run.peek(),
    shown = view.peek();
  if (isAsking || facts?.has_windows !== true || shown === null) return;
  if (windowSpans.peek() !== null && isFine(shown, windowSpans.peek()!)) return;
  isAsking = true;
  try {
    await askFor(facts, shown);
  } catch (error) {
    failure.value ||= String((error as Error).message ?? error);
    return; // and asks no more
  } finally {
    isAsking = false;
  }
  void follow(); // the view may have moved on
}
let known: Anchor | null = null; // whose span is selected, or was when it was here
export function startWindows() {
  effect(() => {
    const place = selected.value,
      data = drawable.peek();
    const at = anchor.peek();
    if (run.peek()?.has_windows !== true || data === null || data.facts.run !== run.peek()?.run) return;
    if (place >= data.count || (at !== null && placeOf(data, at) === place)) return; // it was found again, or is not here
    if (place >= 0) known = anchor.value = anchorOf(data, place);
    else if (anchor.peek() === known) known = anchor.value = null;
  });
  effect(() => {
    const at = anchor.value; // of a link
    if (at === null || at === known || drawable.value === null || run.peek()?.has_windows !== true) return;
    known = at;
    swap(() => {});
  });
  effect(() => {
    const isHere = run.value?.has_windows === true && page.value === "timeline" && spans.value !== null;
    if (isHere && view.value === null && windowSpans.peek() !== null) swap(() => (windowSpans.value = null));
    else if (isHere && view.value !== null) void follow();
  });
}

// ---- the next match
const rangesOf = (names: Uint8Array): string => {
  const ranges: string[] = [];
  for (let i = names.indexOf(1); i >= 0;) {
    let last = i;
    while (names[last + 1] === 1) last++;
    ranges.push(last > i ? `${i}-${last}` : String(i));
    i = names.indexOf(1, last + 1);
  }
  return ranges.join(",");
};
interface FoundAnswer {
  count: number;
  number: number;
  place: number; // among all spans
  row: number;
  start: number;
  duration: number;
  id: number;
}
let lastFound: FoundAnswer | null = null;
const NAMES_IN_ADDRESS = 2000; // characters: three for each comma there, and a server takes 8,192
// Selects the next span (by = -1: the one before) whose name has a 1. Returns its number among them; 0: there is none.
export async function goToMatch(names: Uint8Array, by: 1 | -1): Promise<number> {
  const data = spans.value,
    facts = run.value;
  if (data === null || facts === undefined) return 0;
  if (facts.has_windows !== true) {
    const next = nextMatch(data, names, selection.value, selected.value, by);
    if (next !== null) selected.value = next.span;
    return next?.number ?? 0;
  }
  const here = anchor.value,
    isLast = lastFound !== null && here?.row === lastFound.row && here.start === lastFound.start,
    range = selection.value,
    inside: Record<string, number> = range === null ? {} : { from: Math.floor(range.from), to: Math.ceil(range.to) },
    wanted = rangesOf(names),
    isLong = wanted.length > NAMES_IN_ADDRESS;
  const query = {
    run: facts.run,
    ...(isLong ? {} : { names: wanted }),
    at: here?.start ?? (by === 1 ? -1e15 : 1e15),
    place: isLast ? lastFound!.place : -1,
    back: String(by === -1),
    ...inside,
  };
  const reply = await ask("find", query, isLong ? wanted : undefined);
  const found = reply === null ? null : ((await reply.json()) as FoundAnswer);
  if (found === null || found.count === 0) return 0;
  lastFound = found;
  show(found);
  return found.number;
}
function show({ row, start, duration, id }: FoundAnswer) {
  const whole = overview.value!.end,
    half = Math.max(view.value === null ? whole / 2000 : (view.value.to - view.value.from) / 2, duration * 0.6, 500),
    middle = start + duration / 2;
  together(() => {
    anchor.value = { row, start, id };
    view.value = { from: middle - half, to: middle + half };
    page.value = "timeline";
  });
  if (drawable.value !== null) swap(() => {});
}
