// SPDX-License-Identifier: Apache-2.0
// Spans in time order on a canvas: rows, drawing, the span at a pixel.
import { palette } from "../colors";
import { levelOf, type Spans } from "../data";
import { matching } from "../find";
import { time } from "../format";
import { documentData, type Range } from "../state";
import { ticks } from "../timeline/geometry";
import { ROW } from "./canvas";
import { tracksOf } from "./own_time";
import { fitted } from "./text";

const HEAD = 18; // pixels of a track's name
const AXIS = 18;
const ROWS_MOST = 300;
const LEAST_TEXT = 27; // pixels of a span with a name

export interface Line {
  row: number; // -1: a track's name
  y: number;
  text: string;
}
export function linesOf(data: Spans, track: number | null): { lines: Line[]; height: number; left_out: number } {
  const tracks = tracksOf(data.facts),
    lines: Line[] = [];
  let y = AXIS,
    lane = -1,
    rows = 0,
    left_out = 0;
  data.facts.rows.forEach(([of], row) => {
    if (track !== null && tracks[of] !== track) return;
    if (++rows > ROWS_MOST) {
      left_out++;
      return;
    }
    if (of !== lane) {
      const { process, name, overlap } = data.facts.lanes[of];
      lines.push({ row: -1, y, text: `${process} ${name}${overlap > 0 ? " (overlapping)" : ""}`.trim() });
      y += HEAD;
      lane = of;
    }
    lines.push({ row, y, text: "" });
    y += ROW;
  });
  return { lines, height: y, left_out };
}
// The first span of the row that ends after `from`: spans of a row do not overlap.
export function firstAfter(data: Spans, row: number, from: number, low: number): number {
  const [, , first, rowCount] = data.facts.rows[row];
  let high = first + rowCount;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (data.start[middle] + data.duration[middle] > from) high = middle;
    else low = middle + 1;
  }
  return low;
}

const css = (packed: number) => `rgb(${packed & 255} ${(packed >> 8) & 255} ${(packed >> 16) & 255})`;
function paintAxis(context: CanvasRenderingContext2D, shown: Range, width: number, color: string) {
  context.fillStyle = color;
  for (const at of ticks(shown.from, shown.to, Math.max(2, width / 120)).at) {
    const x = ((at - shown.from) / (shown.to - shown.from)) * width;
    context.fillRect(x, AXIS - 5, 1, 4);
    if (x < width - 60) context.fillText(time(at), x + 4, AXIS / 2);
  }
}
export function paint(
  element: HTMLCanvasElement,
  data: Spans,
  lines: Line[],
  shown: Range,
  marked: { hover: number; cursor: number },
) {
  const ratio = devicePixelRatio || 1,
    context = element.getContext("2d")!,
    colors = palette(),
    names = documentData.value!.names,
    hits = matching.value,
    style = getComputedStyle(element),
    width = element.clientWidth,
    scale = width / (shown.to - shown.from);
  element.width = Math.round(width * ratio);
  element.height = Math.round(element.clientHeight * ratio);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.font = "11.5px system-ui, sans-serif";
  context.textBaseline = "middle";
  paintAxis(context, shown, width, style.getPropertyValue("--quiet"));
  for (const { row, y, text } of lines) {
    if (row < 0) {
      context.fillStyle = style.getPropertyValue("--quiet");
      context.fillText(fitted(context, text, width - 2), 2, y + HEAD / 2 + 2);
      continue;
    }
    const [, , first, rowCount] = data.facts.rows[row],
      end = first + rowCount;
    // At most one span begins in a pixel; others are skipped.
    for (let i = firstAfter(data, row, shown.from, first); i < end && data.start[i] < shown.to;) {
      const from = Math.max(0, (data.start[i] - shown.from) * scale),
        to = Math.min(width, (data.start[i] + data.duration[i] - shown.from) * scale),
        wide = Math.max(1, to - from),
        isHit = hits === null || hits[data.name[i]] === 1,
        level = levelOf(data, i);
      context.fillStyle = css(isHit ? colors.of(level, data.name[i]) : colors.faded(level));
      context.fillRect(from, y, wide > 3 ? wide - 1 : wide, ROW - 1);
      if (i === marked.hover || i === marked.cursor) {
        context.strokeStyle = style.getPropertyValue(i === marked.cursor ? "--accent" : "--text");
        context.lineWidth = 2;
        context.strokeRect(from + 1, y + 1, Math.max(1, wide - 2), ROW - 3);
      }
      if (wide >= LEAST_TEXT) {
        context.fillStyle = isHit ? colors.text : colors.line;
        context.fillText(fitted(context, names[data.name[i]], wide - 9), from + 5, y + ROW / 2);
      }
      i = wide > 1 ? i + 1 : Math.max(i + 1, firstAfter(data, row, shown.from + (Math.floor(from) + 1) / scale, i));
    }
  }
}

// The span at a pixel, -1: none.
export function placeAt(data: Spans, lines: Line[], shown: Range, x: number, y: number, width: number): number {
  const line = lines.find((one) => one.row >= 0 && y >= one.y && y < one.y + ROW);
  if (line === undefined) return -1;
  const pixel = (shown.to - shown.from) / width,
    at = shown.from + x * pixel,
    [, , first, rowCount] = data.facts.rows[line.row],
    place = firstAfter(data, line.row, at - pixel, first);
  return place < first + rowCount && data.start[place] <= at + pixel ? place : -1;
}
// From a span by an arrow key: its neighbours in the row, the span around it, the longest in it.
export function neighbourOf(data: Spans, place: number, key: string): number {
  const [, , first, rowCount] = data.facts.rows[data.row[place]];
  if (key === "ArrowLeft") return Math.max(first, place - 1);
  if (key === "ArrowRight") return Math.min(first + rowCount - 1, place + 1);
  if (key === "ArrowUp") return data.parent[place] >= 0 ? data.parent[place] : place;
  let longest = -1;
  for (let i = 0; i < data.count; i++)
    if (data.parent[i] === place && (longest < 0 || data.duration[i] > data.duration[longest])) longest = i;
  return longest < 0 ? place : longest;
}
