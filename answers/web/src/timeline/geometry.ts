// SPDX-License-Identifier: Apache-2.0
// Sizes of the timeline in CSS pixels, and arithmetic of the range of time in view.
import type { Spans } from "../data";
import type { Range } from "../state";

export const ROW = 19,
  BAR = 17, // a span's part of a row's height
  GAP = 7,
  GROUP_HEAD = 26,
  RULER = 24,
  OBSERVATIONS = 14,
  LEAST_NS = 20;
const FINEST = 2 ** -42; // of the times in view: beyond, neighbouring pixels are one number
const SIDE = 216,
  SIDE_NARROW = 104,
  NARROW = 700;
export const sideOf = (width: number) => (width < NARROW ? SIDE_NARROW : SIDE);
export const headOf = (data: Spans) => RULER + (data.facts.observations.length > 0 ? OBSERVATIONS : 0);

// The resolution of times this far from the first start: after years, not nanoseconds.
export const leastOf = (latest: number) => Math.max(LEAST_NS, Math.abs(latest) * FINEST);
export const wholeOf = ({ end }: Spans): Range => ({
  from: -Math.max(1, end * 0.005),
  to: Math.max(LEAST_NS, end * 1.005),
});

export function clamp(range: Range, whole: Range): Range {
  const size = Math.min(Math.max(range.to - range.from, leastOf(whole.to)), whole.to - whole.from);
  const from = Math.min(Math.max(range.from, whole.from), whole.to - size);
  return { from, to: from + size };
}
export const zoomed = ({ from, to }: Range, factor: number, at: number): Range => ({
  from: at - (at - from) * factor,
  to: at + (to - at) * factor,
});
export const panned = ({ from, to }: Range, share: number): Range => ({
  from: from + (to - from) * share,
  to: to + (to - from) * share,
});
export const widened = ({ from, to }: Range, share: number): Range => ({
  from: from - (to - from) * share,
  to: to + (to - from) * share,
});

// Round times of a range, at most about so many. None if a step is below the resolution of the numbers: a link may
// contain such a range.
export function ticks(from: number, to: number, most: number): { step: number; at: number[] } {
  const raw = (to - from) / most,
    magnitude = 10 ** Math.floor(Math.log10(raw));
  const step =
    [1, 2, 5, 10].map((factor) => factor * magnitude).find((candidate) => candidate >= raw) ?? magnitude * 10;
  const first = Math.ceil(from / step),
    last = Math.ceil(to / step) - 1;
  if (!(last - first <= 2 * most + 2) || from + step === from || to + step === to) return { step, at: [] };
  return { step, at: Array.from({ length: last - first + 1 }, (_, i) => (first + i) * step) };
}
