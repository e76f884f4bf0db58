// SPDX-License-Identifier: Apache-2.0
// The charts of all pages; each stands beside a table of its numbers.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { digits } from "../format";

export { Bars, type Stages } from "./bars";
export { Lines, type Band, type Mark, type Series } from "./lines";

export interface Point {
  x: number; // of bars: what the axis calls them; they stand in the order given
  y: number;
  low?: number; // spread
  high?: number;
  title: string;
  level?: number;
  hollow?: boolean;
  size?: number;
  isFocused?: boolean; // outlined and marked
  isDimmed?: boolean; // a filter leaves it out
  onOpen?: () => void;
}
export interface Axis {
  label: string;
  log?: boolean;
  format?: (value: number) => string;
  from?: number;
  to?: number;
}
export const LEFT = 64,
  RIGHT = 16,
  TOP = 18,
  BOTTOM = 40;

// The width at hand, so that letters keep their size.
export function useWidth() {
  const box = useRef<HTMLDivElement>(null),
    [width, setWidth] = useState(860);
  useLayoutEffect(() => {
    const watch = new ResizeObserver(([entry]) => setWidth(Math.max(280, Math.round(entry.contentRect.width))));
    watch.observe(box.current!);
    return () => watch.disconnect();
  }, []);
  return { box, width };
}

export function scaleOf(axis: Axis, values: number[], size: number) {
  let low = axis.from ?? Math.min(...values),
    high = axis.to ?? Math.max(...values);
  if (axis.log) {
    const a = Math.floor(Math.log10(low)),
      b = Math.max(a + 1, Math.ceil(Math.log10(high)));
    return {
      at: (value: number) => ((Math.log10(value) - a) / (b - a)) * size,
      ticks: Array.from({ length: b - a + 1 }, (_, i) => 10 ** (a + i)),
      low: 10 ** a,
      high: 10 ** b,
    };
  }
  if (axis.from === undefined && low > 0) low = 0;
  if (high <= low) high = low + 1;
  const raw = (high - low) / 5,
    magnitude = 10 ** Math.floor(Math.log10(raw)),
    step = [1, 2, 5, 10].map((n) => n * magnitude).find((n) => n >= raw)!;
  const top = Math.ceil(high / step) * step;
  return {
    at: (value: number) => ((value - low) / (top - low)) * size,
    ticks: Array.from({ length: Math.round((top - low) / step) + 1 }, (_, i) => low + i * step),
    low,
    high: top,
  };
}

export function Frame({
  title,
  x,
  y,
  xs,
  ys,
  width: WIDTH,
  height,
  children,
}: {
  title: string;
  x: Axis;
  y: Axis;
  xs: ReturnType<typeof scaleOf>;
  ys: ReturnType<typeof scaleOf>;
  width: number;
  height: number;
  children: preact.ComponentChildren;
}) {
  const bottom = height - BOTTOM,
    show = (axis: Axis, value: number) => axis.format?.(value) ?? digits(value);
  return (
    <svg class="chart" width={WIDTH} height={height} viewBox={`0 0 ${WIDTH} ${height}`} role="img" aria-label={title}>
      {ys.ticks.map((value) => (
        <g key={value}>
          <line class="rule" x1={LEFT} x2={WIDTH - RIGHT} y1={bottom - ys.at(value)} y2={bottom - ys.at(value)} />
          <text class="tick" x={LEFT - 8} y={bottom - ys.at(value) + 4} text-anchor="end">
            {show(y, value)}
          </text>
        </g>
      ))}
      {xs.ticks.map((value) => (
        <text key={value} class="tick" x={LEFT + xs.at(value)} y={bottom + 16} text-anchor="middle">
          {show(x, value)}
        </text>
      ))}
      <text class="axis" x={WIDTH - RIGHT} y={height - 6} text-anchor="end">
        {x.label}
      </text>
      <text class="axis" x={0} y={TOP - 6}>
        {y.label}
      </text>
      {children}
    </svg>
  );
}

// A share of a whole as one bar with its figure beside it.
export function Meter({
  label,
  value,
  whole,
  level,
  text,
  title,
}: {
  label: string;
  value: number;
  whole: number;
  level: number;
  text: string;
  title?: string;
}) {
  const share = whole > 0 ? Math.min(1, value / whole) : 0;
  return (
    <div class="meter" title={title}>
      <span class="meter-label">{label}</span>
      <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
        <rect class="meter-back" width="100" height="10" />
        <rect class={`level-fill-${level}`} width={share * 100} height="10" />
      </svg>
      <span class="meter-text">{text}</span>
    </div>
  );
}
