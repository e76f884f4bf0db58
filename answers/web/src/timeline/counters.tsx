// SPDX-License-Identifier: Apache-2.0
// What the machine, the processes and their threads used over time, as lines below the tracks, at the same scale of time.
// Each line's height is its largest value of the run; the pointer shows the values at its time.
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { once, type Counter, type RunFacts, type Spans } from "../data";
import { bytes, plural, scaled, digits } from "../format";
import { details, setDetail, view, type Range } from "../state";
import { sideOf, wholeOf } from "./geometry";

const HEIGHT = 34, // of a line, with its name
  PLOT = 24;
const THREADS = "timeline.counters";
const pointerAt = signal<number | null>(null); // pixels from the canvas's left edge

export function valueText({ name, unit }: Counter, value: number): string {
  if (unit === "%") return `${digits(value, 3)} %`;
  if (unit !== "") return scaled(value, unit);
  if (name.endsWith("_bytes")) return bytes(value);
  return name.endsWith("_hz") ? scaled(value, "Hz") : digits(value, 3);
}
export function label({ counters }: RunFacts, { name, unit, pid }: Counter): string {
  const text = (unit === "" ? name.replace(/_(bytes|hz|pct)\b/, "") : name).replaceAll("_", " "),
    isShared = counters.some((other) => other.name === name && other.pid !== pid);
  return isShared ? `${text}, pid ${pid}` : text;
}
const mostOf = once((counter: Counter) => counter.value.reduce((most, value) => Math.max(most, value), 0));

// The last place at `time` or before; -1: none.
export function placeAt({ time }: Counter, at: number): number {
  let low = 0,
    high = time.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (time[middle] <= at) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

interface Frame {
  context: CanvasRenderingContext2D;
  style: CSSStyleDeclaration;
  facts: RunFacts;
  range: Range;
  side: number;
  width: number;
}

function paintLine({ context, style, range, side, width }: Frame, counter: Counter, top: number) {
  const { time, value } = counter,
    most = mostOf(counter) || 1,
    bottom = top + HEIGHT - 4;
  const x = (at: number) => side + Math.min(1, Math.max(0, (at - range.from) / (range.to - range.from))) * width,
    y = (one: number) => bottom - (Math.max(0, one) / most) * PLOT;
  const first = Math.max(0, placeAt(counter, range.from));
  context.beginPath();
  context.moveTo(x(time[first]), bottom);
  let last = first;
  for (let i = first; i < time.length && (i === first || time[i - 1] < range.to); i++) {
    if (i > first) context.lineTo(x(time[i]), y(value[i - 1]));
    context.lineTo(x(time[i]), y(value[i]));
    last = i;
  }
  context.lineTo(x(time[last]), bottom);
  context.fillStyle = context.strokeStyle = style.getPropertyValue("--accent");
  context.globalAlpha = 0.2;
  context.fill();
  context.globalAlpha = 1;
  context.lineWidth = 1;
  context.stroke();
}

function paintText({ context, style, facts, range, side, width }: Frame, counter: Counter, top: number) {
  const pointer = pointerAt.value,
    isAt = pointer !== null && pointer > side,
    place = isAt ? placeAt(counter, range.from + ((pointer - side) / width) * (range.to - range.from)) : -1;
  const isKnown = place >= 0 && place < counter.time.length - 1;
  const text = isKnown ? valueText(counter, counter.value[place]) : `up to ${valueText(counter, mostOf(counter))}`;
  context.fillStyle = style.getPropertyValue("--text");
  context.fillText(label(facts, counter), 10, top + 10, side - 16);
  context.fillStyle = style.getPropertyValue("--quiet");
  context.fillText(text, 10, top + 24, side - 16);
  context.fillStyle = style.getPropertyValue("--rule");
  context.fillRect(0, top + HEIGHT - 1, side + width, 1);
}

function paint(canvas: HTMLCanvasElement, data: Spans, counters: Counter[]) {
  const ratio = devicePixelRatio || 1,
    { clientWidth, clientHeight } = canvas,
    side = sideOf(clientWidth),
    context = canvas.getContext("2d")!;
  canvas.width = Math.round(clientWidth * ratio);
  canvas.height = Math.round(clientHeight * ratio);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  const frame: Frame = {
    context,
    style: getComputedStyle(canvas),
    facts: data.facts,
    range: view.value ?? wholeOf(data),
    side,
    width: clientWidth - side,
  };
  counters.forEach((counter, i) => {
    paintLine(frame, counter, i * HEIGHT);
    paintText(frame, counter, i * HEIGHT);
  });
  context.fillRect(side - 1, 0, 1, clientHeight);
  if (pointerAt.value !== null && pointerAt.value > side) context.fillRect(pointerAt.value, 0, 1, clientHeight);
}

export function Counters({ data }: { data: Spans }) {
  const canvas = useRef<HTMLCanvasElement>(null),
    all = data.facts.counters,
    isAll = details.value[THREADS] === "all",
    ofThreads = all.filter((counter) => counter.is_of_thread).length,
    shown = isAll ? all : all.filter((counter) => !counter.is_of_thread);
  useEffect(() => {
    const element = canvas.current;
    if (element === null) return;
    let frame = 0;
    const later = () => {
      if (frame === 0)
        frame = requestAnimationFrame(() => {
          frame = 0;
          paint(element, data, shown);
        });
    };
    const stops = [view.subscribe(later), pointerAt.subscribe(later)],
      resized = new ResizeObserver(later),
      scheme = matchMedia("(prefers-color-scheme: dark)");
    resized.observe(element);
    addEventListener("xsp-theme", later);
    scheme.addEventListener("change", later);
    return () => {
      cancelAnimationFrame(frame);
      resized.disconnect();
      removeEventListener("xsp-theme", later);
      scheme.removeEventListener("change", later);
      stops.forEach((stop) => stop());
    };
  }, [data, isAll]);
  if (all.length === 0) return null;
  const most = shown.map((counter) => `${label(data.facts, counter)} up to ${valueText(counter, mostOf(counter))}`);
  return (
    <div class="timeline-counters">
      {shown.length > 0 && (
        <canvas
          ref={canvas}
          role="img"
          aria-label={`Counters over time: ${most.join("; ")}`}
          style={{ height: `${shown.length * HEIGHT}px` }}
          onPointerMove={(event) => (pointerAt.value = event.offsetX)}
          onPointerLeave={() => (pointerAt.value = null)}
        />
      )}
      {ofThreads > 0 && (
        <button type="button" class="link" aria-pressed={isAll} onClick={() => setDetail(THREADS, isAll ? "" : "all")}>
          {isAll ? "hide" : "show"} {plural(ofThreads, "counter")} of threads
        </button>
      )}
    </div>
  );
}
