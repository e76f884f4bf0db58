// SPDX-License-Identifier: Apache-2.0
// The whole run in a strip: a line for each level, darker where busier, and the range in view as a window to drag and
// resize. Painted once per run; a frame only moves the window.
import { useEffect, useRef } from "preact/hooks";
import { palette } from "../colors";
import { busyOf, levelOf, LEVELS, type Spans } from "../data";
import { rangeText, selection, view, type Range } from "../state";
import { found, rangesIn } from "./found";
import { clamp, panned, sideOf, wholeOf } from "./geometry";
import { observationsIn } from "./ruler";

const FOUND = 4, // height of the line that shows a finding
  LINE = 7,
  TOP = 7, // observations
  EDGE = 6;

// Share of each pixel's time that spans of a level take, at most 1; a row a level.
function coverage(data: Spans, whole: Range, width: number): Map<number, Float64Array> {
  const levels = new Map<number, Float64Array>(),
    perPixel = (whole.to - whole.from) / width;
  for (let i = 0; i < data.count; i++) {
    const level = levelOf(data, i);
    let line = levels.get(level);
    if (line === undefined) levels.set(level, (line = new Float64Array(width)));
    const x0 = (data.start[i] - whole.from) / perPixel,
      x1 = x0 + data.duration[i] / perPixel,
      density = data.busy === null || data.duration[i] === 0 ? 1 : Math.min(1, busyOf(data, i) / data.duration[i]);
    const first = Math.floor(x0),
      last = Math.min(width - 1, Math.floor(x1));
    if (first === last) line[first] += (x1 - x0) * density;
    else
      for (let x = first; x <= last; x++)
        line[x] += density * (x === first ? first + 1 - x0 : x === last ? x1 - last : 1);
  }
  return new Map([...levels].sort(([a], [b]) => a - b));
}

function paintStrip(data: Spans, width: number, ratio: number, style: CSSStyleDeclaration): HTMLCanvasElement {
  const strip = document.createElement("canvas"),
    wide = Math.max(1, Math.round(width * ratio)),
    whole = wholeOf(data),
    lines = coverage(data, whole, wide),
    colors = palette(),
    height = TOP + LINE * LEVELS.length;
  strip.width = wide;
  strip.height = Math.round(height * ratio);
  const context = strip.getContext("2d")!;
  let top = TOP;
  const step = (height - TOP - 1) / Math.max(1, lines.size);
  for (const [level, line] of lines) {
    const pixel = colors.of(level, 0);
    context.fillStyle = `rgb(${pixel & 255} ${(pixel >> 8) & 255} ${(pixel >> 16) & 255})`;
    line.forEach((share, x) => {
      if (share <= 0) return;
      context.globalAlpha = Math.min(1, 0.25 + 0.75 * share);
      context.fillRect(x, Math.round(top * ratio), 1, Math.max(1, Math.round((step - 1) * ratio)));
    });
    top += step;
  }
  context.globalAlpha = 1;
  context.fillStyle = style.getPropertyValue("--quiet");
  const perPixel = (whole.to - whole.from) / wide;
  observationsIn(data.facts.observations, whole, perPixel, (i) => {
    const [start, duration, warmup] = data.facts.observations[i];
    context.globalAlpha = warmup === 0 ? 1 : 0.45;
    const left = (start - whole.from) / perPixel;
    context.fillRect(left, ratio, Math.max(1, duration / perPixel - ratio), 3 * ratio);
  });
  return strip;
}

type Grip = "from" | "to" | "move" | "new";
function dragOn(canvas: HTMLCanvasElement, data: Spans): () => void {
  const whole = wholeOf(data);
  let grip: Grip | null = null,
    at = 0,
    start: Range = whole;
  const side = () => sideOf(canvas.clientWidth),
    width = () => Math.max(1, canvas.clientWidth - side());
  const timeAt = (event: PointerEvent) =>
    whole.from + ((event.clientX - canvas.getBoundingClientRect().left - side()) / width()) * (whole.to - whole.from);
  const gripAt = (event: PointerEvent): Grip => {
    const time = timeAt(event),
      slack = (EDGE / width()) * (whole.to - whole.from),
      shown = view.value;
    if (shown === null) return "new";
    if (Math.abs(time - shown.from) <= slack) return "from";
    if (Math.abs(time - shown.to) <= slack) return "to";
    return time > shown.from && time < shown.to ? "move" : "new";
  };
  const onDown = (event: PointerEvent) => {
    if (event.button !== 0) return;
    grip = gripAt(event);
    at = timeAt(event);
    start = view.value ?? whole;
    canvas.setPointerCapture(event.pointerId);
  };
  const onMove = (event: PointerEvent) => {
    if (grip === null) {
      const under = gripAt(event);
      canvas.style.cursor = under === "move" ? "grab" : under === "new" ? "crosshair" : "ew-resize";
      return;
    }
    const time = timeAt(event),
      by = (time - at) / (start.to - start.from);
    if (grip === "move") view.value = clamp(panned(start, by), whole);
    else {
      const anchor = grip === "new" ? at : grip === "from" ? start.to : start.from;
      if (Math.abs(time - anchor) > (3 / width()) * (whole.to - whole.from))
        view.value = clamp({ from: Math.min(anchor, time), to: Math.max(anchor, time) }, whole);
    }
  };
  const onUp = (event: PointerEvent) => {
    const isClick = Math.abs(timeAt(event) - at) <= (3 / width()) * (whole.to - whole.from);
    if (grip === "new" && isClick && view.value !== null) {
      const half = (view.value.to - view.value.from) / 2;
      view.value = clamp({ from: at - half, to: at + half }, whole);
    }
    grip = null;
  };
  const listen: [string, (event: any) => void][] = [
    ["pointerdown", onDown],
    ["pointermove", onMove],
    ["pointerup", onUp],
    ["pointercancel", () => (grip = null)],
    ["dblclick", () => (view.value = null)],
  ];
  for (const [type, handler] of listen) canvas.addEventListener(type, handler);
  return () => listen.forEach(([type, handler]) => canvas.removeEventListener(type, handler));
}

function paint(canvas: HTMLCanvasElement, strip: HTMLCanvasElement, data: Spans, style: CSSStyleDeclaration) {
  const ratio = devicePixelRatio || 1,
    side = sideOf(canvas.clientWidth),
    width = canvas.clientWidth - side,
    height = canvas.clientHeight,
    whole = wholeOf(data),
    context = canvas.getContext("2d")!;
  if (canvas.width !== Math.round(canvas.clientWidth * ratio)) canvas.width = Math.round(canvas.clientWidth * ratio);
  if (canvas.height !== Math.round(height * ratio)) canvas.height = Math.round(height * ratio);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, canvas.clientWidth, height);
  context.drawImage(strip, side, 0, width, height);
  const x = (time: number) => side + ((time - whole.from) / (whole.to - whole.from)) * width;
  const chosen = selection.value;
  if (chosen !== null) {
    context.fillStyle = style.getPropertyValue("--accent");
    context.globalAlpha = 0.2;
    context.fillRect(x(chosen.from), 0, Math.max(1, x(chosen.to) - x(chosen.from)), height);
    context.globalAlpha = 1;
  }
  if (found.value !== null) {
    context.fillStyle = style.getPropertyValue("--warn");
    rangesIn(found.value, whole.from, whole.to, (whole.to - whole.from) / width, (i) => {
      const left = x(found.value!.from[i]);
      context.fillRect(left, height - FOUND, Math.max(1, x(found.value!.to[i]) - left), FOUND);
    });
  }
  const { from, to } = view.value ?? whole;
  canvas.dataset.view = rangeText({ from, to });
  const left = Math.min(side + width - 3, x(from)),
    right = Math.max(left + 3, x(to));
  context.fillStyle = style.getPropertyValue("--surface");
  context.globalAlpha = 0.62;
  context.fillRect(side, 0, left - side, height);
  context.fillRect(right, 0, side + width - right, height);
  context.globalAlpha = 1;
  context.strokeStyle = style.getPropertyValue("--accent");
  context.lineWidth = 1.5;
  context.strokeRect(left + 0.75, 0.75, right - left - 1.5, height - 1.5);
  context.fillStyle = style.getPropertyValue("--accent");
  for (const edge of [left, right - 4]) context.fillRect(edge, height / 2 - 7, 4, 14);
}

export function Minimap({ data }: { data: Spans }) {
  const ref = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const canvas = ref.current!;
    let strip: HTMLCanvasElement | null = null,
      frame = 0,
      style = getComputedStyle(canvas);
    const later = () => {
      if (frame === 0)
        frame = requestAnimationFrame(() => {
          frame = 0;
          strip ??= paintStrip(data, canvas.clientWidth - sideOf(canvas.clientWidth), devicePixelRatio || 1, style);
          paint(canvas, strip, data, style);
        });
    };
    const anew = () => {
      strip = null;
      style = getComputedStyle(canvas);
      later();
    };
    const stops = [view.subscribe(later), selection.subscribe(later), found.subscribe(later), dragOn(canvas, data)];
    const resized = new ResizeObserver(anew);
    resized.observe(canvas);
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    addEventListener("xsp-theme", anew);
    scheme.addEventListener("change", anew);
    return () => {
      cancelAnimationFrame(frame);
      resized.disconnect();
      removeEventListener("xsp-theme", anew);
      scheme.removeEventListener("change", anew);
      stops.forEach((stop) => stop());
    };
  }, [data]);
  return (
    <canvas
      ref={ref}
      class="minimap"
      role="img"
      aria-label="The whole run: a line for each level, darker where busier; the window is the range shown below"
      title="Drag the window or its edges; drag outside it for a new one; double-click: all"
    />
  );
}
