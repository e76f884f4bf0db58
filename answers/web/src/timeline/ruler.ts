// SPDX-License-Identifier: Apache-2.0
// The head over the tracks: times, and the run's observations as a band with their numbers, warm-ups hatched.
import { once, type Spans } from "../data";
import { time } from "../format";
import { observationLabel, observationNumbers } from "../noise";
import type { Range } from "../state";
import { OBSERVATIONS, RULER, ticks } from "./geometry";
import { rangesIn, type Found } from "./found";
import { coveredInRuler, type Marks } from "./marks";
import type { Frame } from "./painter";

const FOUND = 4, // height of the line that shows a finding
  TICK_PIXELS = 110,
  TICK_TEXT = 54; // pixels that its time takes at most, about

type Observations = Spans["facts"]["observations"]; // by start
const longestOf = once((observations: Observations) =>
  observations.reduce((most, [, duration]) => Math.max(most, duration), 0),
);
const numbersOf = once(observationNumbers);
// The first that starts at `time` or later.
function firstFrom(observations: Observations, time: number): number {
  let low = 0,
    high = observations.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (observations[middle][0] < time) low = middle + 1;
    else high = middle;
  }
  return low;
}
// Visits those in the range of time; of many that share a pixel one.
export function observationsIn(
  observations: Observations,
  { from, to }: Range,
  perPixel: number,
  visit: (i: number) => void,
) {
  const longest = longestOf(observations);
  let i = firstFrom(observations, from - longest);
  while (i < observations.length && observations[i][0] < to) {
    visit(i);
    i = longest < perPixel ? Math.max(i + 1, firstFrom(observations, observations[i][0] + perPixel)) : i + 1;
  }
}

function paintObservations(frame: Frame) {
  const { context, data, inks, range, side, width } = frame,
    { observations } = data.facts,
    top = RULER;
  let covered = -1, // thousands of observations may share a pixel
    shaded = -1, // as far as the band and the last text reach: steps of ranks run side by side
    labelled = -1;
  context.font = "10px system-ui, sans-serif";
  context.textBaseline = "middle";
  observationsIn(observations, range, (range.to - range.from) / width, (i) => {
    const [start, duration, warmup] = observations[i],
      left = Math.max(side, frame.x(start)),
      right = Math.min(side + width, frame.x(start + duration));
    if (right <= side || left >= side + width) return;
    if (right < covered) return;
    covered = Math.max(left, covered) + 1.5;
    const wide = Math.max(1.5, right - left - 1);
    context.fillStyle = inks.accent;
    context.globalAlpha = 0.16;
    const from = Math.max(left, shaded);
    if (right > shaded)
      context.fillRect(from, top + 1, Math.max(from > left ? 0.5 : 1.5, right - from - 1), OBSERVATIONS - 3);
    shaded = Math.max(shaded, right);
    context.globalAlpha = 1;
    context.strokeStyle = inks.quiet;
    context.lineWidth = 1;
    if (warmup !== 0) {
      context.save();
      context.beginPath();
      context.rect(left, top + 1, wide, OBSERVATIONS - 3);
      context.clip();
      context.globalAlpha = 0.55;
      context.beginPath();
      for (let x = Math.floor(left / 6) * 6 - 12; x < right; x += 6) {
        context.moveTo(x, top + OBSERVATIONS);
        context.lineTo(x + 12, top - 2);
      }
      context.stroke();
      context.restore();
    }
    context.fillStyle = inks.accent;
    if (left > side && wide > 4) context.fillRect(left, top, 1, OBSERVATIONS - 1);
    if (wide < 6) return;
    const number = numbersOf(observations)[i],
      label = observationLabel(number, warmup !== 0),
      text = wide > label.length * 5.6 + 10 ? label : wide > 16 ? String(number) : "";
    if (text === "" || left < labelled) return;
    labelled = left + 4 + text.length * 5.6;
    if (warmup !== 0) {
      context.fillStyle = inks.surface;
      context.fillRect(left + 2, top + 1, text.length * 5.6 + 4, OBSERVATIONS - 3);
    }
    context.fillStyle = inks.text;
    context.fillText(text, left + 4, top + OBSERVATIONS / 2);
  });
}

// Under the spans.
export function paintGrid(frame: Frame) {
  const { context, range, head, width, height } = frame;
  const { at: times } = ticks(range.from, range.to, Math.max(2, width / TICK_PIXELS));
  context.strokeStyle = frame.inks.rule;
  context.lineWidth = 1;
  context.beginPath();
  for (const at of times) {
    const x = Math.round(frame.x(at)) + 0.5;
    context.moveTo(x, head);
    context.lineTo(x, height);
  }
  context.stroke();
}

// Of the chosen finding, where it is in time.
function paintFound(frame: Frame, found: Found) {
  const { context, inks, range, side, head, width } = frame;
  context.fillStyle = inks.finding;
  rangesIn(found, range.from, range.to, (range.to - range.from) / width, (i) => {
    const left = Math.max(side, frame.x(found.from[i])),
      right = Math.min(side + width, frame.x(found.to[i]));
    context.fillRect(left, head - FOUND, Math.max(1, right - left), FOUND);
  });
}

export function paintRuler(frame: Frame, marks: Marks) {
  const { context, data, inks, range, side, head, width, height } = frame;
  const covered = coveredInRuler(frame, marks);
  context.fillStyle = inks.surface;
  context.fillRect(0, 0, side + width, head);
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  const { step, at: times } = ticks(range.from, range.to, Math.max(2, width / TICK_PIXELS));
  const significant = Math.max(3, Math.ceil(Math.log10(Math.max(1, range.to / step))) + 1);
  context.fillStyle = inks.quiet;
  for (const at of times) {
    const x = frame.x(at);
    context.fillRect(Math.round(x), RULER - 6, 1, 6);
    if (covered !== null && x + TICK_TEXT > covered.left && x < covered.left + covered.wide) continue;
    if (x < side + width - 44)
      context.fillText(Math.abs(at) < step / 1e3 ? "0" : time(at, significant), x + 5, RULER / 2);
  }
  if (data.facts.observations.length > 0) paintObservations(frame);
  if (marks.found !== null) paintFound(frame, marks.found);
  context.fillStyle = inks.rule;
  context.fillRect(0, head - 1, side + width, 1);
  context.fillRect(side - 1, 0, 1, height);
  context.fillStyle = inks.quiet;
  context.fillText(
    marks.visible.length === 0 && data.count === 0 ? "no spans" : `${time(range.to - range.from)} in view`,
    10,
    RULER / 2,
    side - 16,
  );
}
