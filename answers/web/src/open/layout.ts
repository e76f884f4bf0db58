// SPDX-License-Identifier: Apache-2.0
// A run's spans in lanes and rows, in the order that the page's columns have: by track, lane, depth, start. The same rules as in C
// (answers/report/exports/timeline_lanes.c, answers/report/page/order.c).
export interface Times {
  count: number;
  track: Float64Array;
  start: Float64Array; // from the run's first
  end: Float64Array; // as drawn
  level: Float64Array;
}
export interface Layout {
  order: Uint32Array; // by place: the span
  place: Uint32Array; // by span
  lanes: { track: number; overlap: number }[];
  rows: [lane: number, depth: number, first: number, count: number][];
}

interface Lane {
  ends: number[]; // of open spans, the innermost last
  rows: number[][]; // spans by depth
}
// The first lane where the span crosses no other.
function laneFor(lanes: Lane[], start: number, end: number): Lane {
  for (const lane of lanes) {
    while (lane.ends.length > 0 && lane.ends[lane.ends.length - 1] <= start) lane.ends.pop();
    if (lane.ends.length === 0 || lane.ends[lane.ends.length - 1] >= end) return lane;
  }
  const lane: Lane = { ends: [], rows: [] };
  lanes.push(lane);
  return lane;
}

export function layOut({ count, track, start, end, level }: Times): Layout {
  const sorted = Uint32Array.from({ length: count }, (_, i) => i).sort(
    (a, b) => track[a] - track[b] || start[a] - start[b] || end[b] - end[a] || level[a] - level[b] || a - b,
  );
  const layout: Layout = { order: new Uint32Array(count), place: new Uint32Array(count), lanes: [], rows: [] };
  let placed = 0;
  for (let first = 0, last = 0; first < count; first = last) {
    const lanes: Lane[] = [];
    for (; last < count && track[sorted[last]] === track[sorted[first]]; last++) {
      const i = sorted[last],
        lane = laneFor(lanes, start[i], end[i]);
      (lane.rows[lane.ends.length] ??= []).push(i);
      lane.ends.push(end[i]);
    }
    lanes.forEach(({ rows }, overlap) => {
      layout.lanes.push({ track: track[sorted[first]], overlap });
      rows.forEach((spans, depth) => {
        layout.rows.push([layout.lanes.length - 1, depth, placed, spans.length]);
        for (const i of spans) {
          layout.order[placed] = i;
          layout.place[i] = placed++;
        }
      });
    });
  }
  return layout;
}
