// SPDX-License-Identifier: Apache-2.0
// Self times: a span's duration less the union of its children on its own track. An execution's is its duration. By
// recorded parents the same as in `xsp sql`: select sum(self_ns) from span where run_id = …
import { busyOf, kindOf, type RunFacts, type Spans } from "../data";
import type { Range } from "../state";

const EXECUTION = 2;
const SLICE = 1 << 16; // spans between two looks at the clock

// For each lane the first lane of its track: further lanes have overlapping spans of the track.
export function tracksOf(facts: RunFacts): number[] {
  let track = 0;
  return facts.lanes.map((lane, i) => (lane.overlap === 0 ? (track = i) : track));
}

// Length of the union of intervals, each clipped to [from, to).
export function unionOf(intervals: [number, number][], from: number, to: number): number {
  intervals.sort((a, b) => a[0] - b[0]);
  let covered = 0,
    end = from;
  for (const [start, stop] of intervals) {
    const last = Math.min(stop, to);
    if (last <= end) continue;
    covered += last - Math.max(start, end);
    end = last;
  }
  return covered;
}

// Inside the range only. Siblings of one row never overlap and are subtracted; children in several rows need the union.
export function* ownTimes(data: Spans, parents: Int32Array, range: Range | null): Generator<number, Float64Array> {
  const own = new Float64Array(data.count),
    rowOfChild = new Int32Array(data.count).fill(-1),
    several = new Map<number, [number, number][]>(),
    track = tracksOf(data.facts),
    trackOfRow = data.facts.rows.map(([lane]) => track[lane]);
  const from = range?.from ?? 0,
    to = range?.to ?? Infinity;
  const startOf = (i: number) => Math.max(from, data.start[i]),
    endOf = (i: number) => Math.min(to, data.start[i] + data.duration[i]);
  // Of a merged rectangle: the time of its spans, in proportion.
  const timeOf = (i: number) => {
    const inside = Math.max(0, endOf(i) - startOf(i));
    return data.busy === null || data.duration[i] === 0 ? inside : (busyOf(data, i) * inside) / data.duration[i];
  };
  for (let i = 0; i < data.count; i++) {
    own[i] += timeOf(i);
    const parent = parents[i];
    if (i % SLICE === 0) yield i / data.count / 2;
    if (parent < 0 || kindOf(data, parent) === EXECUTION) continue;
    if (trackOfRow[data.row[parent]] !== trackOfRow[data.row[i]]) continue;
    if (rowOfChild[parent] < 0) rowOfChild[parent] = data.row[i];
    else if (rowOfChild[parent] !== data.row[i]) several.set(parent, []);
  }
  for (let i = 0; i < data.count; i++) {
    const parent = parents[i];
    if (i % SLICE === 0) yield 0.5 + i / data.count / 2;
    if (parent < 0 || kindOf(data, parent) === EXECUTION) continue;
    if (trackOfRow[data.row[parent]] !== trackOfRow[data.row[i]]) continue;
    const apart = data.busy === null ? several.get(parent) : undefined;
    if (apart !== undefined) apart.push([startOf(i), endOf(i)]);
    else if (data.busy !== null) own[parent] -= timeOf(i);
    else own[parent] -= Math.max(0, Math.min(endOf(i), endOf(parent)) - Math.max(startOf(i), startOf(parent)));
  }
  for (const [parent, children] of several)
    if (data.busy === null) own[parent] -= unionOf(children, startOf(parent), endOf(parent));
  for (let i = 0; i < data.count; i++) own[i] = Math.max(0, own[i]);
  return own;
}
