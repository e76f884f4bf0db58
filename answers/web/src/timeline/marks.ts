// SPDX-License-Identifier: Apache-2.0
// Drawn over the spans: the selected range with its length, the selected span, the one under the pointer, the mark for
// distances.
import { time } from "../format";
import type { Range } from "../state";
import { RULER } from "./geometry";
import type { Found } from "./found";
import type { Line } from "./layout";
import { sameCollective } from "./links";
import type { Frame } from "./painter";

const SHADE = 0.15; // of the selected range

export interface Marks {
  selection: Range | null;
  selected: number;
  hovered: number;
  mark: number | null; // ns
  pointer: number | null; // ns; for the distance from the mark
  areAllArrows: boolean;
  found: Found | null; // the chosen finding's spans
  visible: Line[];
}

// Position of a label: around x, inside the tracks.
function plateAt({ context, side, width }: Frame, text: string, x: number): { left: number; wide: number } {
  context.font = "600 11px system-ui, sans-serif";
  const wide = context.measureText(text).width + 12;
  return { left: Math.max(side + 2, Math.min(side + width - wide - 2, x - wide / 2)), wide };
}
function plate(frame: Frame, text: string, x: number, y: number) {
  const { context, inks } = frame,
    { left, wide } = plateAt(frame, text, x);
  context.textBaseline = "middle";
  context.fillStyle = inks.raised;
  context.strokeStyle = inks.accent;
  context.lineWidth = 1;
  context.beginPath();
  context.roundRect(left, y - 9, wide, 18, 5);
  context.fill();
  context.stroke();
  context.fillStyle = inks.text;
  context.fillText(text, left + 6, y + 0.5);
}

function outline(frame: Frame, span: number, width: number) {
  const { context, data, layout } = frame,
    line = layout.lineOf[data.row[span]];
  if (line === undefined) return;
  const isPinned = layout.isPinnedRow[line.row] === 1;
  const least = frame.head + (isPinned ? 0 : layout.pinnedHeight),
    top = frame.yOf(line);
  if (top + line.height <= least) return;
  const left = Math.max(-4, frame.x(data.start[span])),
    right = Math.min(frame.side + frame.width + 4, frame.x(data.start[span] + data.duration[span]));
  if (right < frame.side || left > frame.side + frame.width) return;
  context.save();
  context.beginPath();
  context.rect(frame.side, least, frame.width, frame.height - least);
  context.clip();
  context.lineWidth = width;
  context.strokeStyle = frame.inks.line;
  context.strokeRect(left, top, Math.max(2, right - left), line.height);
  context.restore();
}

// A span; of a collective its parts on all ranks, with a line through their starts: who came when.
function paintSpan(frame: Frame, span: number, width: number) {
  const { context, data, layout, side, head, height } = frame,
    same = sameCollective(data, span);
  for (const i of same.length > 0 ? same : [span]) outline(frame, i, width);
  context.save();
  context.beginPath();
  context.rect(side, head, frame.width, height - head);
  context.clip();
  context.beginPath();
  for (const i of same) {
    const line = layout.lineOf[data.row[i]],
      x = Math.max(side - 4, Math.min(side + frame.width + 4, frame.x(data.start[i])));
    if (line !== undefined) context.lineTo(x, frame.yOf(line) + line.height / 2);
  }
  context.lineWidth = width;
  context.strokeStyle = frame.inks.line;
  context.stroke();
  context.restore();
}

const edges = (frame: Frame, range: Range) => ({
  left: Math.max(frame.side - 2, frame.x(range.from)),
  right: Math.min(frame.side + frame.width + 2, frame.x(range.to)),
});
// The part of the ruler under the selection's length.
export function coveredInRuler(frame: Frame, marks: Marks): { left: number; wide: number } | null {
  if (marks.selection === null) return null;
  const { left, right } = edges(frame, marks.selection);
  if (right < frame.side || left > frame.side + frame.width) return null;
  return plateAt(frame, time(marks.selection.to - marks.selection.from), (left + right) / 2);
}

function paintSelection(frame: Frame, range: Range) {
  const { context, inks, side, width, head, height } = frame;
  const { left, right } = edges(frame, range);
  if (right < side || left > side + width) return;
  context.fillStyle = inks.accent;
  context.globalAlpha = SHADE;
  context.fillRect(Math.max(side, left), RULER, Math.min(side + width, right) - Math.max(side, left), height);
  context.globalAlpha = 1;
  for (const x of [left, right])
    if (x >= side && x <= side + width) {
      context.fillRect(x - 0.5, RULER - 6, 1.5, height);
      context.fillRect(x - 2.5, head + 6, 5, 16); // its handle
    }
  plate(frame, time(range.to - range.from), (left + right) / 2, RULER / 2);
}

export function paintMarks(frame: Frame, marks: Marks) {
  const { context, inks, side, width, height, data } = frame;
  if (marks.selection !== null) {
    context.save();
    context.beginPath();
    context.rect(side, 0, width, height);
    context.clip();
    paintSelection(frame, marks.selection);
    context.restore();
  }
  if (marks.hovered >= 0 && marks.hovered < data.count) paintSpan(frame, marks.hovered, 1);
  if (marks.selected >= 0 && marks.selected < data.count) paintSpan(frame, marks.selected, 2);
  if (marks.mark === null) return;
  const at = frame.x(marks.mark);
  context.strokeStyle = inks.accent;
  context.lineWidth = 1.5;
  context.setLineDash([4, 3]);
  context.beginPath();
  if (at >= side && at <= side + width) {
    context.moveTo(at, 0);
    context.lineTo(at, height);
  }
  const to = marks.pointer === null ? at : frame.x(marks.pointer);
  if (marks.pointer !== null) {
    context.moveTo(to, RULER);
    context.lineTo(to, height);
  }
  context.stroke();
  context.setLineDash([]);
  if (marks.pointer !== null) {
    const y = frame.head + 12;
    context.beginPath();
    context.moveTo(Math.max(side, Math.min(at, to)), y);
    context.lineTo(Math.min(side + width, Math.max(at, to)), y);
    context.stroke();
    plate(frame, `${marks.pointer < marks.mark ? "−" : "+"}${time(Math.abs(marks.pointer - marks.mark))}`, to, y);
  } else if (at >= side && at <= side + width) plate(frame, "mark", at, RULER / 2);
}
