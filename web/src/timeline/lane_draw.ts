// SPDX-License-Identifier: Apache-2.0
// One row of spans as one line of pixels: each pixel is written at most once, whatever number of spans lies in it, so that
// a frame's cost follows the screen and not the trace. Spans of a row do not overlap: starts and ends are both sorted.
import type { Spans } from "../data";

export interface Label {
  x0: number;
  x1: number;
  span: number;
}

// First span of [low, high) that ends after `time`.
export function firstEndingAfter(spans: Spans, low: number, high: number, time: number): number {
  while (low < high) {
    const middle = (low + high) >> 1;
    if (spans.start[middle] + spans.duration[middle] <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Fills pixels[0 .. width) for the view [from, to); 0 stays where nothing is. Returns spans wide enough for a name.
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
) {
  const scale = width / (to - from),
    perPixel = 1 / scale;
  const { start, duration } = spans;
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
    // What ends before the next pixel is not seen any more: skip it in steps that double.
    const limit = from + last * perPixel;
    let next = i + 1;
    if (next < high && start[next] < limit && start[next] + duration[next] < limit) {
      let step = 1,
        beyond = next;
      while (beyond < high && start[beyond] + duration[beyond] < limit) {
        next = beyond;
        beyond += step;
        step *= 2;
      }
      if (beyond > high) beyond = high;
      next++;
      while (next < beyond) {
        const middle = (next + beyond) >> 1;
        if (start[middle] + duration[middle] < limit) next = middle + 1;
        else beyond = middle;
      }
    }
    i = next;
  }
}

// The span of [low, high) at `time`, within `slack` ns; -1: none.
export function spanAt(spans: Spans, low: number, high: number, time: number, slack: number): number {
  const i = firstEndingAfter(spans, low, high, time - slack);
  return i < high && spans.start[i] <= time + slack ? i : -1;
}
