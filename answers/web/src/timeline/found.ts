// SPDX-License-Identifier: Apache-2.0
// Where the finding that the reader chose is in time: its spans, and the ranges that they make together. Computed when the
// spans are there; the painter fades the others and draws the ranges above the tracks.
import { computed, signal } from "@preact/signals";
import { levelOf, LEVELS, type RunFacts, type Spans } from "../data";
import { findingsAnswer, IN_TIME } from "../findings";
import { details, documentData, setDetail } from "../state";
import { number, text, type Row } from "../widgets/answers";

const MODEL = LEVELS.indexOf("model"),
  APPLICATION = LEVELS.indexOf("application");

export interface Found {
  data: Spans;
  isIt: Uint8Array; // by place
  from: number[]; // of ranges, in order; they do not overlap
  to: number[];
}
export const found = signal<Found | null>(null);

export const chosenFinding = computed<Row | undefined>(() => {
  const wanted = details.value[IN_TIME];
  return wanted === undefined ? undefined : findingsAnswer()?.table.rows[Number(wanted)];
});
export const chooseFinding = (row: Row | null) =>
  setDetail(IN_TIME, row === null ? "" : String(findingsAnswer()!.table.rows.indexOf(row)));

// By number of a call path: whether the path is `wanted` or leads through it.
function pathsThrough(facts: RunFacts, wanted: number): Uint8Array {
  const paths = documentData.value!.files[facts.file].call_paths,
    through = new Uint8Array((paths?.caller.length ?? 0) + 1);
  paths?.caller.forEach((caller, i) => (through[i + 1] = Number(i + 1 === wanted || through[caller] === 1)));
  return through;
}

// Spans of one level by lane, by start.
function byLane(data: Spans, isWanted: (i: number) => boolean): Map<number, number[]> {
  const lanes = new Map<number, number[]>();
  for (let i = 0; i < data.count; i++) {
    if (!isWanted(i)) continue;
    const lane = data.facts.rows[data.row[i]][0];
    if (lanes.get(lane)?.push(i) === undefined) lanes.set(lane, [i]);
  }
  for (const places of lanes.values()) places.sort((a, b) => data.start[a] - data.start[b]);
  return lanes;
}
// Number of the places that start before `time`.
function startingBefore(data: Spans, places: number[], time: number): number {
  let low = 0,
    high = places.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (data.start[places[middle]] < time) low = middle + 1;
    else high = middle;
  }
  return low;
}
// Ranges of the program or its framework, inside of an observation, that have one of the spans in them.
function addStages(data: Spans, isIt: Uint8Array) {
  const its = byLane(data, (i) => isIt[i] === 1),
    models = byLane(data, (i) => levelOf(data, i) === MODEL);
  for (let i = 0; i < data.count; i++) {
    if (levelOf(data, i) !== APPLICATION) continue;
    const lane = data.facts.rows[data.row[i]][0],
      end = data.start[i] + data.duration[i],
      some = its.get(lane) ?? [],
      around = models.get(lane) ?? [],
      model = around[startingBefore(data, around, data.start[i] + 1) - 1];
    if (model === undefined || data.start[model] + data.duration[model] < end) continue;
    if (startingBefore(data, some, end) > startingBefore(data, some, data.start[i])) isIt[i] = 1;
  }
}

function spansOf(data: Spans, row: Row): Uint8Array {
  const isIt = new Uint8Array(data.count),
    path = number(row.context_id),
    context = text(row.context);
  if (path !== null && data.context.length > 0) {
    const through = pathsThrough(data.facts, path);
    for (let i = 0; i < data.count; i++) isIt[i] = through[data.context[i]];
  } else if (context !== "") {
    const name = documentData.value!.names.indexOf(context);
    for (let i = 0; i < data.count; i++) isIt[i] = Number(data.name[i] === name);
  }
  // A finding that lists no spans of its own is about a stage.
  const listed = row.spans as unknown as unknown[] | null | undefined;
  if (listed == null || listed.length === 0) addStages(data, isIt);
  return isIt;
}

export function findSpans(data: Spans, row: Row): Found {
  const isIt = spansOf(data, row),
    places = new Uint32Array(isIt.reduce((sum, one) => sum + one, 0));
  let next = 0;
  isIt.forEach((one, i) => one === 1 && (places[next++] = i));
  places.sort((a, b) => data.start[a] - data.start[b]);
  const from: number[] = [],
    to: number[] = [];
  for (const i of places) {
    const end = data.start[i] + data.duration[i],
      last = to.length - 1;
    if (last >= 0 && data.start[i] <= to[last]) to[last] = Math.max(to[last], end);
    else {
      from.push(data.start[i]);
      to.push(end);
    }
  }
  return { data, isIt, from, to };
}

// Visits the ranges that overlap [low, high); of many that share a pixel one.
export function rangesIn({ from, to }: Found, low: number, high: number, perPixel: number, visit: (i: number) => void) {
  const firstEndingAfter = (time: number, at: number) => {
    let beyond = to.length;
    while (at < beyond) {
      const middle = (at + beyond) >> 1;
      if (to[middle] <= time) at = middle + 1;
      else beyond = middle;
    }
    return at;
  };
  for (let i = firstEndingAfter(low, 0); i < from.length && from[i] < high;) {
    visit(i);
    i = firstEndingAfter(Math.max(to[i], from[i] + perPixel), i + 1);
  }
}

// The first range that starts after `time` (by = 1), or the last one before it; -1: there is none.
export function rangeFrom({ from }: Found, time: number, by: 1 | -1): number {
  if (by === 1) return from.findIndex((start) => start > time);
  for (let i = from.length - 1; i >= 0; i--) if (from[i] < time) return i;
  return -1;
}
