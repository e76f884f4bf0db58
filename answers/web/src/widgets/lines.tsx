// SPDX-License-Identifier: Apache-2.0
// Lines and dots over a number: batch sizes, observations in order of time. Spread is drawn as whiskers, uncounted
// points hollow; the legend switches series.
import { useMemo, useState } from "preact/hooks";
import uPlot from "uplot";
import { isDrawable, type Axis, type Colors } from "./axis";
import type { Point } from "./charts";
import { Plot } from "./plot";

export interface Series {
  name: string;
  level: number;
  points: Point[];
  isDots?: boolean; // no line between them
}
export interface Mark {
  x: number;
  label: string;
}
export interface Band {
  from: number;
  to: number;
  middle: number | null;
  level: number;
}

interface Placed {
  series: Series;
  points: (Point | null)[]; // by place of xs
}

export function Lines({
  title,
  x,
  y,
  series,
  height = 260,
  marks = [],
  bands = [],
}: {
  title: string;
  x: Axis;
  y: Axis;
  series: Series[];
  height?: number;
  marks?: Mark[];
  bands?: Band[];
}) {
  const [hidden, setHidden] = useState<string[]>([]);
  const { xs, all } = useMemo(() => place(series, x), [series, hidden]);
  if (xs.length === 0) return <p class="quiet">No values to draw.</p>;
  const shown = all.filter((one) => !hidden.includes(one.series.name));
  const values = all.map((one) =>
    one.points.map((point) => (point === null || !shown.includes(one) ? null : (point.high ?? point.y))),
  );
  return (
    <>
      {series.length > 1 && (
        <div class="plot-legend" role="group" aria-label={`Series of ${title}`}>
          {series.map(({ name, level }) => (
            <button
              key={name}
              type="button"
              aria-pressed={!hidden.includes(name)}
              onClick={() =>
                setHidden(hidden.includes(name) ? hidden.filter((other) => other !== name) : [...hidden, name])
              }
            >
              <span class={`dot level-${level}`} aria-hidden="true" />
              {name}
            </button>
          ))}
        </div>
      )}
      <Plot
        title={title}
        x={x}
        y={y}
        xs={xs}
        ys={values}
        height={height}
        head={marks.length > 0 ? 26 : 10}
        paint={(plot, context, colors) => {
          paintBands(plot, context, colors, bands);
          paintMarks(plot, context, colors, marks);
          for (const one of shown) paintSeries(plot, context, colors, xs, one);
        }}
        at={(i) => {
          const here = shown.flatMap((one) => one.points[i] ?? []);
          return {
            text: here.map((point, k) => <span key={k}>{point.title}</span>),
            onOpen: here.find((point) => point.onOpen !== undefined)?.onOpen,
          };
        }}
      />
    </>
  );
}

function place(series: Series[], x: Axis): { xs: number[]; all: Placed[] } {
  const good = series.map((one) => ({
    ...one,
    points: one.points.filter((point) => isDrawable(point.x) && isDrawable(point.y) && (!x.log || point.x > 0)),
  }));
  const xs = [...new Set(good.flatMap((one) => one.points.map((point) => point.x)))].sort((a, b) => a - b);
  const places = new Map(xs.map((value, i) => [value, i]));
  const all = good.map((one) => {
    const points: (Point | null)[] = xs.map(() => null);
    for (const point of one.points) points[places.get(point.x)!] = point;
    return { series: one, points };
  });
  return { xs, all };
}

function paintBands(plot: uPlot, context: CanvasRenderingContext2D, colors: Colors, bands: Band[]) {
  const { left, width } = plot.bbox,
    ratio = uPlot.pxRatio;
  for (const band of bands) {
    if (!isDrawable(band.from) || !isDrawable(band.to)) continue;
    const top = plot.valToPos(band.to, "y", true),
      bottom = plot.valToPos(band.from, "y", true);
    context.globalAlpha = 0.14;
    context.fillStyle = colors.levels[band.level];
    context.fillRect(left, top, width, Math.max(ratio, bottom - top));
    context.globalAlpha = 0.9;
    if (band.middle === null) continue;
    context.fillRect(left, plot.valToPos(band.middle, "y", true), width, ratio);
    context.globalAlpha = 1;
  }
  context.globalAlpha = 1;
}

// Named vertical lines; a name moves aside for the one before it.
function paintMarks(plot: uPlot, context: CanvasRenderingContext2D, colors: Colors, marks: Mark[]) {
  const ratio = uPlot.pxRatio,
    { left, top, width, height } = plot.bbox;
  context.font = `600 ${12 * ratio}px system-ui, sans-serif`;
  context.textAlign = "left";
  context.textBaseline = "alphabetic";
  let taken = left;
  for (const { x, label } of [...marks].sort((a, b) => a.x - b.x)) {
    const at = plot.valToPos(x, "x", true);
    if (!(at >= left - 1 && at <= left + width + 1)) continue;
    context.strokeStyle = colors.quiet;
    context.lineWidth = ratio;
    context.setLineDash([4 * ratio, 4 * ratio]);
    context.beginPath();
    context.moveTo(at, top);
    context.lineTo(at, top + height);
    context.stroke();
    context.setLineDash([]);
    const wide = context.measureText(label).width,
      start = Math.max(taken, Math.min(at - wide / 2, left + width - wide));
    if (start > at + 4 * ratio || start + wide > left + width + 14 * ratio) continue; // the chart's heading names it too
    context.fillStyle = colors.text;
    context.fillText(label, start, top - 8 * ratio);
    taken = start + wide + 8 * ratio;
  }
}

function paintSeries(
  plot: uPlot,
  context: CanvasRenderingContext2D,
  colors: Colors,
  xs: number[],
  { series, points }: Placed,
) {
  const ratio = uPlot.pxRatio,
    { left, top, width, height } = plot.bbox,
    color = colors.levels[series.level],
    radius = (xs.length > 400 ? 2 : series.isDots ? 3.5 : 4) * ratio;
  context.beginPath();
  context.rect(left - radius * 2, top - radius * 2, width + radius * 4, height + radius * 4);
  context.clip();
  const X = (i: number) => plot.valToPos(xs[i], "x", true),
    Y = (value: number) => plot.valToPos(value, "y", true);
  context.strokeStyle = color;
  context.lineJoin = "round";
  const present = points.flatMap((point, i) => (point === null ? [] : [i]));
  if (series.isDots !== true) {
    context.lineWidth = 2 * ratio;
    context.beginPath();
    present.forEach((i, k) => context[k === 0 ? "moveTo" : "lineTo"](X(i), Y(points[i]!.y)));
    context.stroke();
  }
  for (const i of present) {
    const { y, low, high, hollow, isDimmed, isFocused } = points[i]!;
    context.globalAlpha = isDimmed ? 0.3 : 1;
    context.strokeStyle = color;
    context.lineWidth = 1.5 * ratio;
    if (isDrawable(low) && isDrawable(high)) whisker(context, X(i), Y(low), Y(high), 4 * ratio);
    context.beginPath();
    context.arc(X(i), Y(y), radius, 0, 2 * Math.PI);
    context.fillStyle = hollow ? colors.raised : color;
    context.fill();
    if (hollow) context.stroke();
    if (!isFocused) continue;
    context.strokeStyle = colors.text;
    context.beginPath();
    context.arc(X(i), Y(y), radius + 3 * ratio, 0, 2 * Math.PI);
    context.stroke();
  }
  context.globalAlpha = 1;
}
function whisker(context: CanvasRenderingContext2D, x: number, low: number, high: number, half: number) {
  context.beginPath();
  context.moveTo(x, low);
  context.lineTo(x, high);
  for (const y of [low, high]) {
    context.moveTo(x - half, y);
    context.lineTo(x + half, y);
  }
  context.stroke();
}
