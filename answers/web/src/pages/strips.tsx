// SPDX-License-Identifier: Apache-2.0
// The distribution of each run's observations: dots on one scale per batch size, warm-ups hollow, the median marked. A
// click opens the observation on the timeline; the table of observations does the same by key.
import { useEffect, useRef, useState } from "preact/hooks";
import type { RunFacts } from "../data";
import { count, digits, plural, time } from "../format";
import {
  countedDurations,
  noiseOfRuns,
  observationLabel,
  observationsOf,
  type Noise,
  type Observation,
} from "../noise";
import { experimentRuns, selection } from "../state";
import { colorsOf, type Colors } from "../widgets/axis";
import { runLabel } from "../widgets/parts";
import { isInRange, openObservation, Panel } from "./shown";
import { levelOfSet } from "./waterfall";

const SHOWN = 40; // runs, until more are asked for
const HEIGHT = 26;
const EDGE = 8; // room for marks of values beyond the scale

interface Strip {
  facts: RunFacts;
  observations: Observation[];
  noise: Noise;
}
interface Scale {
  low: number;
  high: number;
}

export function Strips() {
  const [shown, setShown] = useState(SHOWN);
  const runs = experimentRuns.value.filter((facts) => facts.observations.length > 0);
  if (runs.length === 0) return null;
  const groups = new Map<string, RunFacts[]>();
  for (const facts of runs.slice(0, shown)) {
    // Runs with metrics repeat kernels: on the same scale, all others would be one dot.
    const key = `${facts.batch_size} ${facts.levels.includes("metrics")}`;
    groups.set(key, [...(groups.get(key) ?? []), facts]);
  }
  return (
    <Panel title="Observations of each run" aside="durations; the scale begins at the shortest">
      {[...groups].map(([key, alike]) => (
        <Group key={key} size={alike[0].batch_size} runs={alike} />
      ))}
      <p class="quiet small">
        A dot is one observation; hollow: warm-up, in no statistic; triangle: beyond the scale. Band: 10th to 90th
        percentile, line: median. A click opens it on the timeline.
        {selection.value !== null && " Outlined: inside the selected range."}
      </p>
      {runs.length > shown && (
        <button type="button" onClick={() => setShown(runs.length)}>
          Show all {count(runs.length)} runs
        </button>
      )}
    </Panel>
  );
}

function Group({ size, runs }: { size: number | null; runs: RunFacts[] }) {
  const strips = runs.map((facts): Strip => ({
    facts,
    observations: observationsOf([facts]),
    noise: noiseOfRuns([facts]),
  }));
  const scale = scaleOf(strips);
  return (
    <div class="strips" role="group" aria-label={size === null ? "Runs" : `Runs of batch ${size}`}>
      {strips.map((strip) => (
        <Row key={strip.facts.run} strip={strip} scale={scale} />
      ))}
      <div class="strip-scale" aria-hidden="true">
        <span>{time(scale.low)}</span>
        <span>{time(scale.high)}</span>
      </div>
    </div>
  );
}
// By counted observations: one slow warm-up must not flatten the others.
function scaleOf(strips: Strip[]): Scale {
  const counted = strips.flatMap(({ observations }) => countedDurations(observations)),
    all =
      counted.length > 0 ? counted : strips.flatMap(({ observations }) => observations.map((one) => one.duration_ns));
  const low = all.reduce((least, value) => Math.min(least, value), Infinity),
    high = all.reduce((most, value) => Math.max(most, value), -Infinity);
  return high > low ? { low, high } : { low: low - 1, high: low + 1 };
}

function spreadText({ n, median_ns, spread_pct }: Noise): string {
  if (n === 0 || median_ns === null) return "warm-ups only";
  return `median ${time(median_ns)}, ${spread_pct === null ? "spread not known" : `spread ${digits(spread_pct, 3)} %`}, n = ${count(n)}`;
}

function Row({ strip, scale }: { strip: Strip; scale: Scale }) {
  const canvas = useRef<HTMLCanvasElement>(null),
    { facts, observations, noise } = strip,
    canOpen = facts.detail !== "none";
  useEffect(() => {
    const element = canvas.current!;
    const repaint = () => paint(element, strip, scale);
    const watch = new ResizeObserver(repaint);
    watch.observe(element);
    addEventListener("xsp-theme", repaint);
    return () => {
      watch.disconnect();
      removeEventListener("xsp-theme", repaint);
    };
  }, [strip, scale]);
  const nearest = (event: MouseEvent & { currentTarget: HTMLCanvasElement }): Observation | undefined => {
    const place = placer(scale, event.currentTarget.clientWidth);
    let best: Observation | undefined,
      distance = 8;
    for (const one of observations) {
      const far = Math.abs(place(one.duration_ns) - event.offsetX);
      if (far < distance) [best, distance] = [one, far];
    }
    return best;
  };
  return (
    <div class="strip">
      <span class="strip-name" title={runLabel(facts)}>
        {runLabel(facts)}
      </span>
      <canvas
        ref={canvas}
        class={canOpen ? "can-open" : ""}
        role="img"
        aria-label={`${runLabel(facts)}: ${plural(observations.length, "observation")}, ${spreadText(noise)}`}
        onMouseMove={(event) => {
          const one = nearest(event);
          event.currentTarget.title =
            one === undefined ? "" : `${observationLabel(one.number, one.is_warmup)}: ${time(one.duration_ns)}`;
        }}
        onClick={(event) => {
          const one = nearest(event);
          if (one !== undefined && canOpen) openObservation(one);
        }}
      />
      <span class="strip-text">{spreadText(noise)}</span>
    </div>
  );
}

const placer = (scale: Scale, width: number) => (duration: number) =>
  EDGE +
  Math.max(-0.5, Math.min(1.5, (duration - scale.low) / (scale.high - scale.low))) * Math.max(1, width - 2 * EDGE);

function paint(canvas: HTMLCanvasElement, { facts, observations, noise }: Strip, scale: Scale) {
  const ratio = devicePixelRatio || 1,
    width = canvas.clientWidth,
    colors: Colors = colorsOf(canvas);
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(HEIGHT * ratio);
  const context = canvas.getContext("2d")!,
    place = placer(scale, width),
    color = colors.levels[levelOfSet(facts.levels)],
    middle = HEIGHT / 2;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = colors.rule;
  context.fillRect(0, middle, width, 1);
  context.fillStyle = color;
  if (noise.low_ns !== null && noise.high_ns !== null) {
    context.globalAlpha = 0.2;
    context.fillRect(place(noise.low_ns), 4, Math.max(1, place(noise.high_ns) - place(noise.low_ns)), HEIGHT - 8);
    context.globalAlpha = 1;
  }
  for (const one of observations) dot(context, one, place(one.duration_ns), width, color, colors);
  if (noise.median_ns !== null) {
    context.fillStyle = colors.text;
    context.fillRect(place(noise.median_ns) - 0.75, 3, 1.5, HEIGHT - 6);
  }
}

function dot(
  context: CanvasRenderingContext2D,
  one: Observation,
  x: number,
  width: number,
  color: string,
  colors: Colors,
) {
  const y = HEIGHT / 2 + ((one.place * 7) % 5) * 2 - 4, // equal durations do not hide each other
    isIn = isInRange(one);
  context.globalAlpha = isIn === false ? 0.3 : 0.85;
  context.beginPath();
  const beyond = x > width - EDGE / 2 ? 1 : x < EDGE / 2 ? -1 : 0;
  if (beyond !== 0) {
    const at = beyond > 0 ? width - 1 : 1;
    context.moveTo(at, y);
    context.lineTo(at - beyond * 6, y - 4);
    context.lineTo(at - beyond * 6, y + 4);
    context.closePath();
  } else context.arc(x, y, 3, 0, 2 * Math.PI);
  context.fillStyle = one.is_warmup ? colors.raised : color;
  context.fill();
  context.lineWidth = isIn === true ? 2 : 1.2;
  context.strokeStyle = isIn === true ? colors.text : color;
  if (one.is_warmup || isIn === true) context.stroke();
  context.globalAlpha = 1;
}
