// SPDX-License-Identifier: Apache-2.0
// One row of spans as one line of pixels: each pixel is written at most twice, for any number of spans in it, so that a
// frame's cost depends on the screen and not on the trace. Spans of a row do not overlap: starts and ends are both
// sorted.
import type { Spans } from "../data";

export interface Label {
  x0: number;
  x1: number;
  span: number;
}

// First span of [low, high) that ends after `time`.
export function firstEndingAfter(spans: Spans, low: number, high: number, time: number): number {
  const { start, duration } = spans;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (start[middle] + duration[middle] <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

// First span of [from, high) that does not both start and end before `time`: in steps that double.
function firstBeyond(spans: Spans, from: number, high: number, time: number): number {
  const { start, duration } = spans;
  let next = from;
  if (next >= high || start[next] + duration[next] >= time) return next;
  let step = 1,
    beyond = next;
  while (beyond < high && start[beyond] + duration[beyond] < time) {
    next = beyond;
    beyond += step;
    step *= 2;
  }
  if (beyond > high) beyond = high;
  next++;
  while (next < beyond) {
    const middle = (next + beyond) >> 1;
    if (start[middle] + duration[middle] < time) next = middle + 1;
    else beyond = middle;
  }
  return next;
}

// First place of [low, high) with a match; there is one.
function firstMatch(matches: Uint32Array, low: number, high: number): number {
  const before = matches[low];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (matches[middle + 1] === before) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Fills pixels[0 .. width) for the view [from, to); 0 stays where there is no span. Adds spans wide enough for a name
// to labels. During a search, `matches` counts the matches before each place: every match is visible at any size.
export function drawRow(
  spans: Spans,
  low: number,
  high: number,
  from: number,
  to: number,
  width: number,
  colors: (span: number) => number,
  pixels: Uint32Array,
  offset: number,
  leastLabel: number,
  labels: Label[],
  matches: Uint32Array | null = null,
) {
  const scale = width / (to - from),
    perPixel = 1 / scale,
    { start, duration } = spans;
  let i = firstEndingAfter(spans, low, high, from);
  while (i < high && start[i] < to) {
    const x0 = (start[i] - from) * scale,
      x1 = (start[i] + duration[i] - from) * scale;
    const first = x0 < 0 ? 0 : x0 | 0;
    let last = x1 >= width ? width : Math.ceil(x1);
    if (last <= first) last = first + 1;
    const color = colors(i);
    if (last - first === 1) pixels[offset + first] = color;
    else {
      pixels.fill(color, offset + first, offset + last);
      if (last - first > 3 && x1 < width) pixels[offset + last - 1] = 0; // a gap between neighbours that touch
      if (last - first >= leastLabel) labels.push({ x0: first, x1: last, span: i });
    }
    // Spans that end before the next pixel are skipped.
    const next = firstBeyond(spans, i + 1, high, from + last * perPixel);
    if (matches !== null && next > i + 1 && matches[i + 1] === matches[i] && matches[next] > matches[i + 1])
      pixels[offset + last - 1] = colors(firstMatch(matches, i + 1, next));
    i = next;
  }
}

// The span of [low, high) at `time`, else the nearest within `slack` ns; -1: none.
export function spanAt(spans: Spans, low: number, high: number, time: number, slack: number): number {
  const i = firstEndingAfter(spans, low, high, time - slack);
  let best = -1,
    nearest = slack;
  for (let j = Math.max(low, i - 1); j < high && j < i + 64 && spans.start[j] <= time + slack; j++) {
    const end = spans.start[j] + spans.duration[j];
    if (spans.start[j] <= time && time < end) return j;
    const distance = time < spans.start[j] ? spans.start[j] - time : time - end;
    if (distance <= nearest) {
      nearest = distance;
      best = j;
    }
  }
  return best;
}
