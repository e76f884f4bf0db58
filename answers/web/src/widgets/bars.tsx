// SPDX-License-Identifier: Apache-2.0
// Bars in a meaningful order (execution, size). Where bars are narrower than a pixel, a column of pixels shows the
// largest of those in it, so that 10⁵ bars lose no peak.
import { useMemo } from "preact/hooks";
import uPlot from "uplot";
import { count } from "../format";
import { isDrawable, type Axis, type Colors } from "./axis";
import type { Point } from "./charts";
import { Plot } from "./plot";

// Shares of the first, second and last third, as analyses A3, A4 and A12 have them.
export interface Stages {
  shares: (number | null)[];
  largest: string | null; // B, M or E
}
const STAGE_NAMES = ["Beginning", "Middle", "End"];

export function Bars({
  title,
  x,
  y,
  points,
  height = 260,
  stages,
  titleOf,
  onOpen,
}: {
  title: string;
  x: Axis;
  y: Axis;
  points: Point[];
  height?: number;
  stages?: Stages;
  titleOf?: (i: number) => string; // if texts of all points are too many
  onOpen?: (i: number) => void;
}) {
  const { xs, ys } = useMemo(
    () => ({
      xs: points.map((_, i) => i),
      ys: points.map((point) => (isDrawable(point.y) ? point.y : null)),
    }),
    [points],
  );
  if (points.length === 0 || ys.every((value) => value === null)) return <p class="quiet">No values to draw.</p>;
  return (
    <Plot
      title={title}
      x={{ ...x, format: x.format ?? ((value) => count(points[value]?.x ?? value)) }}
      y={y}
      xs={xs}
      ys={[ys]}
      height={height}
      head={stages === undefined ? 10 : 26}
      isBars
      paint={(plot, context, colors) => {
        if (stages !== undefined) paintStages(plot, context, colors, stages, points.length);
        paintBars(plot, context, colors, points, ys);
      }}
      at={(i) => ({
        text: titleOf?.(i) ?? points[i]?.title ?? "",
        onOpen: onOpen === undefined ? points[i]?.onOpen : () => onOpen(i),
      })}
    />
  );
}

function paintStages(plot: uPlot, context: CanvasRenderingContext2D, colors: Colors, stages: Stages, count: number) {
  const ratio = uPlot.pxRatio,
    { left, top, width, height } = plot.bbox;
  const place = (value: number) => Math.min(left + width, Math.max(left, plot.valToPos(value, "x", true)));
  context.font = `${12 * ratio}px system-ui, sans-serif`;
  context.textAlign = "left";
  context.textBaseline = "alphabetic";
  for (let third = 0; third < 3; third++) {
    const from = place(Math.ceil((count * third) / 3) - 0.5),
      to = place(Math.ceil((count * (third + 1)) / 3) - 0.5);
    if (to - from < 2) continue;
    if (third === 1) {
      context.globalAlpha = 0.28;
      context.fillStyle = colors.rule;
      context.fillRect(from, top, to - from, height);
      context.globalAlpha = 1;
    }
    const share = stages.shares[third],
      name = STAGE_NAMES[third],
      isLargest = stages.largest === name[0],
      figure = share === null || !isDrawable(share) ? "" : ` ${share.toFixed(share < 10 ? 1 : 0)} %`;
    context.fillStyle = isLargest ? colors.text : colors.quiet;
    context.font = `${isLargest ? "600 " : ""}${12 * ratio}px system-ui, sans-serif`;
    const label = [name + figure, name[0] + figure, name[0]].find(
      (text) => context.measureText(text).width < to - from - 8 * ratio,
    );
    if (label !== undefined) context.fillText(label, from + 4 * ratio, top - 8 * ratio);
  }
}

function paintBars(
  plot: uPlot,
  context: CanvasRenderingContext2D,
  colors: Colors,
  points: Point[],
  ys: (number | null)[],
) {
  const ratio = uPlot.pxRatio,
    { left, width } = plot.bbox,
    low = plot.scales.x.min ?? 0,
    high = plot.scales.x.max ?? 1;
  const each = width / (high - low),
    gap = each > 4 * ratio ? Math.min(each * 0.2, 4 * ratio) : 0,
    size = Math.max(1, each - gap),
    zero = plot.valToPos(0, "y", true);
  const bar = (i: number, x: number, wide: number) => {
    const point = points[i],
      end = plot.valToPos(ys[i]!, "y", true),
      tall = ys[i] === 0 ? 0 : Math.max(ratio, Math.abs(end - zero));
    context.fillStyle = colors.levels[point.level ?? 2] ?? colors.levels[2];
    context.globalAlpha = point.isDimmed ? 0.22 : 1;
    context.fillRect(x, ys[i]! < 0 ? zero : zero - tall, wide, tall);
    context.globalAlpha = 1;
    if (point.isFocused) mark(context, colors, x + wide / 2, zero - (ys[i]! < 0 ? 0 : tall), wide, tall, ratio);
  };
  const from = Math.max(0, Math.ceil(low)),
    to = Math.min(points.length - 1, Math.floor(high));
  if (each >= ratio) {
    for (let i = from; i <= to; i++) if (ys[i] !== null) bar(i, left + (i - low) * each - each / 2 + gap / 2, size);
    return;
  }
  let column = -1,
    best = -1;
  const weight = (i: number) => (points[i].isFocused ? 2 : points[i].isDimmed ? 0 : 1);
  for (let i = from; i <= to + 1; i++) {
    const here = Math.floor(((i - low) * each) / ratio);
    if (here !== column || i > to) {
      if (best >= 0) bar(best, left + column * ratio, ratio);
      column = here;
      best = -1;
    }
    if (i > to || ys[i] === null) continue;
    if (best < 0 || weight(i) > weight(best) || (weight(i) === weight(best) && Math.abs(ys[i]!) > Math.abs(ys[best]!)))
      best = i;
  }
}

// The focused bar is outlined and marked, so that colour is not the only sign.
function mark(
  context: CanvasRenderingContext2D,
  colors: Colors,
  x: number,
  top: number,
  wide: number,
  tall: number,
  ratio: number,
) {
  const half = 5 * ratio,
    tip = top - 3 * ratio;
  context.strokeStyle = context.fillStyle = colors.text;
  context.lineWidth = 1.5 * ratio;
  if (wide > 3 * ratio) context.strokeRect(x - wide / 2, top, wide, tall);
  context.beginPath();
  context.moveTo(x, tip);
  context.lineTo(x - half, tip - half * 1.4);
  context.lineTo(x + half, tip - half * 1.4);
  context.fill();
}
