// SPDX-License-Identifier: Apache-2.0
// Parents for calling contexts, as answers/report/exports/timeline_nest.c finds them: a host span takes the innermost one that
// its lane draws around it, where that one lies between it and its recorded parent, or where it has no parent; not
// where it is unknown which of several is its parent.
import { BASES, basisOf, kindOf, type Spans } from "../data";
import { tracksOf } from "./own_time";

const EXECUTION = 2;
const AMBIGUOUS = BASES.indexOf("ambiguous");
const SLICE = 1 << 16; // spans between two looks at the clock

const endOf = (data: Spans, i: number) => data.start[i] + data.duration[i];

// Whether the timeline draws `inner` inside `outer`: in one lane, the last of a higher row to start is around it.
function isAround(data: Spans, outer: number, inner: number): boolean {
  const { rows } = data.facts,
    [lane, depth, first, count] = rows[data.row[outer]],
    [innerLane, innerDepth] = rows[data.row[inner]];
  if (lane !== innerLane || depth >= innerDepth || data.start[outer] > data.start[inner]) return false;
  return outer + 1 === first + count || data.start[outer + 1] > data.start[inner];
}
// A source may name a parent inside its child. Nothing moves into such a child.
function isInsideOut(data: Spans, tracks: number[], parent: number, child: number): boolean {
  if (parent < 0 || isAround(data, parent, child)) return false;
  const trackOf = (i: number) => tracks[data.facts.rows[data.row[i]][0]];
  if (trackOf(parent) !== trackOf(child)) return false;
  return data.start[parent] >= data.start[child] && endOf(data, parent) <= endOf(data, child);
}

function* nested(data: Spans): Generator<number, Int32Array> {
  const parents = data.parent.slice(),
    tracks = tracksOf(data.facts),
    { rows } = data.facts;
  for (let row = 1, done = 0; row < rows.length; row++) {
    const [lane, depth, first, count] = rows[row],
      [laneAbove, depthAbove, firstAbove, countAbove] = rows[row - 1];
    if (lane !== laneAbove || depth !== depthAbove + 1) continue;
    for (let i = first, around = firstAbove; i < first + count; i++) {
      if (done++ % SLICE === 0) yield i / data.count;
      while (around + 1 < firstAbove + countAbove && data.start[around + 1] <= data.start[i]) around++;
      const parent = data.parent[i];
      if (parent === around || kindOf(data, i) === EXECUTION || kindOf(data, around) === EXECUTION) continue;
      if (data.start[around] > data.start[i] || endOf(data, around) < endOf(data, i)) continue; // open or a rectangle
      if (parent >= 0 ? !isAround(data, parent, i) : basisOf(data, i) === AMBIGUOUS) continue;
      if (!isInsideOut(data, tracks, parents[around], around)) parents[i] = around;
    }
  }
  return parents;
}

const known = new WeakMap<Spans, Int32Array>();
export function* contextParents(data: Spans): Generator<number, Int32Array> {
  let parents = known.get(data);
  if (parents === undefined) known.set(data, (parents = yield* nested(data)));
  return parents;
}
