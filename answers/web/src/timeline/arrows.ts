// SPDX-License-Identifier: Apache-2.0
// Arrows from launches to their executions: those of the selected span, or all with an end in view, up to a limit; and of the
// selected span those from a forward operator to its backward ones.
import { kindOf, type Spans } from "../data";
import { firstStartingAt } from "../find";
import { firstEndingAfter } from "./lane_draw";
import type { Line } from "./layout";
import { backwards, executions, forwardOf } from "./links";
import type { Marks } from "./marks";
import type { Frame } from "./painter";

export const ARROWS_MOST = 400;
const SEARCHED_MOST = 12_000; // spans visited for arrows
const EXECUTION = 2;
export interface ArrowCount {
  drawn: number;
  wanted: number;
  isAtLeast: boolean; // there are more than were visited
}

const middleOf = (frame: Frame, line: Line) => frame.yOf(line) + line.height / 2;
// An end in a hidden row is drawn at the edge towards it.
function yAt(frame: Frame, row: number): number | null {
  const line = frame.layout.lineOf[row];
  if (line === undefined) return null;
  const top = frame.head + (frame.layout.isPinnedRow[row] === 1 ? 0 : frame.layout.pinnedHeight);
  return Math.min(frame.height - 2, Math.max(top + 2, middleOf(frame, line)));
}

function addArrow(frame: Frame, launch: number, execution: number): boolean {
  const { context, data, side, width } = frame,
    y0 = yAt(frame, data.row[launch]),
    y1 = yAt(frame, data.row[execution]);
  if (y0 === null || y1 === null) return false;
  // From the launch's end, unless the execution starts before it: then from its start.
  const end = data.start[launch] + data.duration[launch],
    from = data.start[execution] < end ? data.start[launch] : end;
  const bound = (at: number) => Math.min(side + width + 4000, Math.max(side - 4000, frame.x(at))); // beyond, lines tear
  const x0 = bound(from),
    x1 = bound(data.start[execution]);
  const bend = Math.max(16, Math.min(160, Math.abs(x1 - x0) / 2));
  context.moveTo(x0, y0);
  context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
  context.moveTo(x1 - 5, y1 - 3.5);
  context.lineTo(x1, y1);
  context.lineTo(x1 - 5, y1 + 3.5);
  return true;
}

// The engine's step around a backward operator has the same forward operator: one arrow to the outer one.
function addBackwards(frame: Frame, forward: number) {
  const { data } = frame;
  for (const i of backwards(data).of(forward).subarray(0, ARROWS_MOST))
    if (data.parent[i] < 0 || forwardOf(data, data.parent[i]) !== forward) addArrow(frame, forward, i);
}

// By row: whether it holds launches or executions at all.
const linkedRows = new WeakMap<Spans, Uint8Array>();
export function rowsWithLinks(data: Spans): Uint8Array {
  let rows = linkedRows.get(data);
  if (rows === undefined) {
    rows = new Uint8Array(data.facts.rows.length);
    for (let i = 0; i < data.count; i++)
      if (data.launch[i] >= 0) rows[data.row[i]] = rows[data.row[data.launch[i]]] = 1;
    linkedRows.set(data, rows);
  }
  return rows;
}

// Executions with an end in view; evenly sampled if there are very many.
function inView(frame: Frame, lines: Line[]): { executions: number[]; isAtLeast: boolean } {
  const { data, range } = frame,
    found = new Set<number>(),
    inverse = executions(data),
    isLinked = rowsWithLinks(data),
    linked = lines.filter((line) => isLinked[line.row] === 1),
    most = SEARCHED_MOST / Math.max(1, linked.length);
  let isAtLeast = false;
  for (const { first, count } of linked) {
    const low = firstEndingAfter(data, first, first + count, range.from),
      high = firstStartingAt(data, low, first + count, range.to),
      step = Math.max(1, Math.ceil((high - low) / most));
    if (step > 1) isAtLeast = true;
    for (let i = low; i < high; i += step)
      if (kindOf(data, i) === EXECUTION) {
        if (data.launch[i] >= 0) found.add(i);
      } else for (const execution of inverse.of(i)) found.add(execution);
  }
  return { executions: [...found], isAtLeast };
}

let known: { key: string; executions: number[]; isAtLeast: boolean } | null = null;
export function paintArrows(frame: Frame, marks: Marks): ArrowCount {
  const { context, data, side, head, width, height, inks } = frame;
  const { selected } = marks,
    none = { drawn: 0, wanted: 0, isAtLeast: false };
  if ((!marks.areAllArrows && selected < 0) || data.launch.length < data.count) return none; // not unpacked yet
  context.save();
  context.beginPath();
  context.rect(side, head, width, height - head);
  context.clip();
  context.strokeStyle = inks.line;
  let result = none;
  if (marks.areAllArrows) {
    const lines = marks.visible;
    const key = `${data.facts.run} ${frame.range.from} ${frame.range.to} ${lines[0]?.row} ${lines.length}`;
    if (known?.key !== key) known = { key, ...inView(frame, lines) };
    const step = Math.max(1, Math.ceil(known.executions.length / ARROWS_MOST));
    context.lineWidth = 1;
    context.globalAlpha = 0.38;
    context.beginPath();
    let drawn = 0;
    for (let i = 0; i < known.executions.length; i += step)
      if (addArrow(frame, data.launch[known.executions[i]], known.executions[i])) drawn++;
    context.stroke();
    context.globalAlpha = 1;
    result = { drawn, wanted: known.executions.length, isAtLeast: known.isAtLeast };
  }
  if (selected >= 0 && selected < data.count) {
    const launch = kindOf(data, selected) === EXECUTION ? data.launch[selected] : selected;
    context.lineWidth = 1.5;
    context.beginPath();
    addBackwards(frame, forwardOf(data, selected) >= 0 ? forwardOf(data, selected) : selected);
    if (launch >= 0) {
      const all = executions(data).of(launch);
      let drawn = 0;
      for (let i = 0; i < all.length && drawn < ARROWS_MOST; i++) if (addArrow(frame, launch, all[i])) drawn++;
      if (!marks.areAllArrows) result = { drawn, wanted: all.length, isAtLeast: false };
    }
    context.stroke();
  }
  context.restore();
  return result;
}
