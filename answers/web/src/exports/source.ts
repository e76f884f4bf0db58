// SPDX-License-Identifier: Apache-2.0
// The data of exports: the spans of one run in a range, lane by lane, in order of opening and closing. Of a merged run,
// its rectangles.
import type { Spans } from "../data";
import type { Range } from "../state";

export interface Source {
  data: Spans;
  names: string[];
  range: Range | null;
  title: string;
}
export const isIn = ({ data, range }: Source, i: number) =>
  range === null || (data.start[i] < range.to && data.start[i] + data.duration[i] > range.from);
export const endOf = (data: Spans, i: number) => data.start[i] + data.duration[i];

// Text in pieces of about a megabyte: a whole trace may be longer than a string can be.
const PIECE = 1 << 20;
export class Pieces {
  readonly done: string[] = [];
  private open = "";
  add(text: string) {
    this.open += text;
    if (this.open.length >= PIECE) this.flush();
  }
  private flush() {
    this.done.push(this.open);
    this.open = "";
  }
  end(): string[] {
    this.flush();
    return this.done;
  }
}

// Places of each lane by start, outer spans first.
export function lanesOf(source: Source): { lane: number; places: number[] }[] {
  const { data } = source,
    byLane = data.facts.lanes.map((_, lane) => ({ lane, places: [] as number[] }));
  data.facts.rows.forEach(([lane, , first, count]) => {
    for (let i = first; i < first + count; i++) if (isIn(source, i)) byLane[lane].places.push(i);
  });
  const depth = (i: number) => data.facts.rows[data.row[i]][1];
  for (const { places } of byLane) places.sort((a, b) => data.start[a] - data.start[b] || depth(a) - depth(b));
  return byLane.filter(({ places }) => places.length > 0);
}

// Nested open and close events in order of time. A merged rectangle may exceed the one around it; it is then cut.
export function walk(
  { data }: Source,
  places: number[],
  put: (kind: "open" | "close", span: number, at: number) => void,
) {
  const stack: { span: number; end: number; depth: number }[] = [];
  let now = -Infinity;
  const close = () => {
    const { span, end } = stack.pop()!;
    now = Math.max(now, end);
    put("close", span, now);
  };
  for (const span of places) {
    const depth = data.facts.rows[data.row[span]][1],
      start = data.start[span];
    while (stack.length > 0 && (stack[stack.length - 1].depth >= depth || stack[stack.length - 1].end < start)) close();
    now = Math.max(now, start);
    put("open", span, now);
    const around = stack[stack.length - 1]?.end ?? Infinity;
    stack.push({ span, end: Math.max(now, Math.min(around, endOf(data, span))), depth });
  }
  while (stack.length > 0) close();
}
export const laneName = (data: Spans, lane: number) => {
  const { name, overlap } = data.facts.lanes[lane];
  return overlap === 0 ? name : `${name} (overlapping ${overlap})`;
};
