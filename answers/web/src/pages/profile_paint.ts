// SPDX-License-Identifier: Apache-2.0
// Draws profiles of one prediction on one scale: rows of spans, in full colour for the level that the set measures,
// faded and hatched for others. A bracket above each profile shows the overhead of its additional levels.
import { palette, type Palette } from "../colors";
import { levelOf, LEVELS, type RunFacts, type Spans } from "../data";
import { time } from "../format";
import { colorsOf, niceTicks, type Colors } from "../widgets/axis";

export interface Profile {
  facts: RunFacts;
  data: Spans;
  from: number; // of the observation, ns
  length: number;
  trusted: number; // level
  over: Profile | null; // the profile with fewer levels
  bracket: string; // its overhead by L0
}
export interface Hit {
  x0: number;
  x1: number;
  y0: number;
  y1: number;
  profile: Profile;
  span: number; // -1: the whole profile
}
interface Row {
  first: number;
  count: number;
  level: number;
  name: string; // of the row, in the gutter
}
const ROW = 20,
  HEAD = 26,
  BRACKET = 20,
  GAP = 18,
  RULER = 22,
  ROWS_MOST = 12,
  NAME_LEAST = 34; // pixels that a name needs

// The first span of a row that ends after the time: rows are in order and do not overlap.
function firstAfter(data: Spans, first: number, count: number, time_ns: number): number {
  let low = first,
    high = first + count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (data.start[middle] + data.duration[middle] > time_ns) high = middle;
    else low = middle + 1;
  }
  return low;
}

// Rows with a span of this observation, devices last; each is named by the level with most of its time. Device work may
// end after the prediction returned.
function rowsOf({ facts, data, from, length }: Profile): Row[] {
  return facts.rows
    .flatMap(([lane, , first, count]): Row[] => {
      const times = LEVELS.map(() => 0);
      let i = firstAfter(data, first, count, from);
      if (i >= first + count || data.start[i] >= from + length) return [];
      for (; i < first + count && data.start[i] < from + length; i++) times[levelOf(data, i)] += data.duration[i] + 1;
      const level = times.indexOf(Math.max(...times)),
        isDevice = facts.lanes[lane]?.is_device ?? false;
      return [{ first, count, level, name: isDevice ? "device" : LEVELS[level] }];
    })
    .sort((a, b) => Number(a.name === "device") - Number(b.name === "device"))
    .slice(0, ROWS_MOST);
}

function hatch(context: CanvasRenderingContext2D, color: string): CanvasPattern {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 8;
  const brush = tile.getContext("2d")!;
  brush.strokeStyle = color;
  brush.lineWidth = 1.5;
  for (const shift of [-8, 0, 8]) {
    brush.beginPath();
    brush.moveTo(shift, 8);
    brush.lineTo(shift + 8, 0);
    brush.stroke();
  }
  return context.createPattern(tile, "repeat")!;
}
const css = (packed: number) => `rgb(${packed & 255} ${(packed >> 8) & 255} ${(packed >> 16) & 255})`;

interface Brush {
  context: CanvasRenderingContext2D;
  colors: Colors;
  spans: Palette;
  pattern: CanvasPattern;
  names: string[];
  left: number;
  width: number; // of the whole canvas
  at: (ns: number) => number; // from the start of the observation
  ticks: number[]; // of the ruler
  hits: Hit[];
}
const letters = (brush: Brush, weight = "") =>
  (brush.context.font = `${weight} 12px system-ui, -apple-system, "Segoe UI", sans-serif`);
function fitted(context: CanvasRenderingContext2D, text: string, room: number): string {
  if (text.length > 400) text = text.slice(0, 400);
  if (context.measureText(text).width <= room) return text;
  let low = 0,
    high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(`${text.slice(0, middle)}…`).width <= room) low = middle;
    else high = middle - 1;
  }
  return low < 2 ? "" : `${text.slice(0, low)}…`;
}

export function paintProfiles(canvas: HTMLCanvasElement, profiles: Profile[], names: string[]): Hit[] {
  const width = canvas.clientWidth,
    ratio = devicePixelRatio || 1,
    left = width < 600 ? 58 : 84;
  const all = profiles.map((profile) => ({ profile, rows: rowsOf(profile) }));
  const height = all.reduce(
    (sum, { profile, rows }) => sum + HEAD + (profile.over === null ? 0 : BRACKET) + rows.length * ROW + GAP,
    RULER,
  );
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d")!,
    colors = colorsOf(canvas),
    longest = Math.max(1, ...profiles.map((profile) => profile.length)),
    room = Math.max(40, width - left - 12);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.textBaseline = "middle";
  const brush: Brush = {
    context,
    colors,
    spans: palette(),
    pattern: hatch(context, colors.raised),
    names,
    left,
    width,
    at: (ns) => left + (ns / longest) * room,
    ticks: niceTicks(0, longest, Math.max(2, Math.floor(room / 110))),
    hits: [],
  };
  ruler(brush, height);
  let top = 0;
  for (const { profile, rows } of all) top = paintProfile(brush, profile, rows, top);
  return brush.hits;
}

function ruler(brush: Brush, height: number) {
  const { context, colors, at, left, width, ticks } = brush;
  letters(brush);
  for (const tick of ticks) {
    const x = Math.round(at(tick)) + 0.5;
    context.fillStyle = colors.quiet;
    const label = tick === 0 ? "0" : time(tick),
      wide = context.measureText(label).width;
    context.fillText(label, Math.min(width - wide, Math.max(left, x - wide / 2)), height - RULER / 2 + 2);
  }
}

function paintProfile(brush: Brush, profile: Profile, rows: Row[], top: number): number {
  const { context, colors, width } = brush;
  letters(brush, "650");
  context.fillStyle = colors.text;
  const title = `${profile.facts.levels}  ${time(profile.length)}`;
  context.fillText(title, 0, top + HEAD / 2);
  const after = context.measureText(title).width + 12;
  letters(brush);
  context.fillStyle = colors.quiet;
  const trust = `to be trusted: ${LEVELS[profile.trusted]} level`;
  context.fillText(fitted(context, trust, width - after), after, top + HEAD / 2);
  const begin = top;
  top += HEAD;
  if (profile.over !== null) {
    bracket(brush, profile, top);
    top += BRACKET;
  }
  context.strokeStyle = colors.rule;
  for (const tick of brush.ticks) {
    const x = Math.round(brush.at(tick)) + 0.5;
    context.beginPath();
    context.moveTo(x, top);
    context.lineTo(x, top + rows.length * ROW + 4);
    context.stroke();
  }
  for (const row of rows) {
    paintRow(brush, profile, row, top);
    top += ROW;
  }
  brush.hits.push({ x0: 0, x1: width, y0: begin, y1: top, profile, span: -1 });
  return top + GAP;
}

// From the end of the other set's prediction to the end of this one.
function bracket(brush: Brush, profile: Profile, top: number) {
  const { context, colors, at, width } = brush;
  const a = at(Math.min(profile.over!.length, profile.length)),
    b = at(Math.max(profile.over!.length, profile.length)),
    y = top + BRACKET / 2;
  context.strokeStyle = colors.text;
  context.lineWidth = 1.25;
  context.beginPath();
  for (const x of [a, b]) {
    context.moveTo(x, y - 5);
    context.lineTo(x, y + 5);
  }
  context.moveTo(a, y);
  context.lineTo(b, y);
  context.stroke();
  context.setLineDash([3, 3]);
  context.strokeStyle = colors.quiet;
  context.lineWidth = 1;
  context.beginPath();
  const end = at(profile.over!.length);
  context.moveTo(end, y - 4);
  context.lineTo(end, Math.max(0, y - BRACKET - HEAD - GAP));
  context.stroke();
  context.setLineDash([]);
  letters(brush);
  context.fillStyle = colors.text;
  const wide = context.measureText(profile.bracket).width;
  if (a - wide - 8 >= 0) context.fillText(profile.bracket, a - wide - 8, y);
  else context.fillText(fitted(context, profile.bracket, width - b - 8), b + 8, y);
}

function paintRow(brush: Brush, profile: Profile, row: Row, top: number) {
  const { context, colors, spans, at, left, width, hits } = brush,
    { data, from, length, trusted } = profile;
  letters(brush);
  context.fillStyle = row.level === trusted ? colors.text : colors.quiet;
  context.fillText(fitted(context, row.name, left - 8), 0, top + ROW / 2);
  let painted = -1;
  for (let i = firstAfter(data, row.first, row.count, from); i < row.first + row.count; i++) {
    const start = data.start[i] - from;
    if (start >= length) break;
    const x0 = Math.max(left, at(start)),
      x1 = Math.min(width, at(start + data.duration[i]));
    if (x1 <= painted) continue; // this pixel is drawn already
    const level = levelOf(data, i),
      isTrusted = level === trusted,
      wide = Math.max(1, x1 - x0 - (x1 - x0 > 4 ? 1 : 0));
    painted = Math.floor(x0 + wide);
    context.fillStyle = css(isTrusted ? spans.of(level, data.name[i]) : spans.faded(level));
    context.fillRect(x0, top + 1, wide, ROW - 3);
    if (!isTrusted) {
      context.fillStyle = brush.pattern;
      context.fillRect(x0, top + 1, wide, ROW - 3);
    }
    hits.push({ x0, x1: x0 + wide, y0: top, y1: top + ROW, profile, span: i });
    if (wide < NAME_LEAST) continue;
    context.fillStyle = isTrusted ? spans.text : spans.line;
    context.fillText(fitted(context, brush.names[data.name[i]] ?? "", wide - 8), x0 + 4, top + ROW / 2);
  }
}
