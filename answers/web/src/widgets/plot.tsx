// SPDX-License-Identifier: Apache-2.0
// The base of line and bar charts: uplot for scales, cursor and zoom; `paint` draws. Follows theme, width and pixel
// ratio; arrow keys reach every value, a drag zooms, Esc or a double click shows all.
import { signal, type Signal } from "@preact/signals";
import { useEffect, useId, useMemo, useRef } from "preact/hooks";
import type { ComponentChildren } from "preact";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import "./charts.css";
import { colorsOf, niceTicks, powersOfTwo, unitOf, type Axis, type Colors } from "./axis";

export interface PlotData {
  xs: number[]; // rising
  ys: (number | null)[][];
}
export interface PlotProps extends PlotData {
  title: string; // the chart in words, for screen readers
  x: Axis;
  y: Axis;
  height?: number;
  head?: number; // room above the plot for names of marks
  isBars?: boolean; // x counts bars: whole bars are shown
  paint: (plot: uPlot, context: CanvasRenderingContext2D, colors: Colors) => void;
  at: (i: number) => { text: ComponentChildren; onOpen?: () => void }; // the value at a place of xs
}
interface Tip {
  i: number;
  left: number;
  top: number;
  isByKey: boolean;
}
const FONT = "12px system-ui, -apple-system, 'Segoe UI', sans-serif";

const xRange = (isBars: boolean, isLog: boolean) => (_: uPlot, low: number | null, high: number | null) => {
  if (low === null || high === null) return [0, 1] as [number, number];
  if (isBars) return [Math.round(low) - 0.5, Math.round(high) + 0.5] as [number, number];
  // Room for the first and the last mark.
  const room = isLog ? (high / low) ** 0.04 : (high - low) * 0.02;
  if (isLog) return (high > low ? [low / room, high * room] : [low / 2, high * 2]) as [number, number];
  return (high > low ? [low - room, high + room] : [low - 1, high + 1]) as [number, number];
};
const yRange = (hasNoZero: boolean) => (_: uPlot, low: number | null, high: number | null) => {
  if (hasNoZero && low !== null && high !== null) {
    const room = (high - low || Math.abs(high) || 1) * 0.08;
    return [low - room, high + room] as [number, number];
  }
  const a = Math.min(0, low ?? 0),
    b = Math.max(0, high ?? 0);
  return (a === b ? [0, 1] : [a * 1.06, b * 1.06]) as [number, number];
};

function options(host: HTMLElement, latest: () => PlotProps, tip: Signal<Tip | null>, zoomed: Signal<boolean>) {
  const { x, head, isBars, ys, height } = latest();
  const color = (of: (colors: Colors) => string) => () => of(colorsOf(host));
  const axis = (side: "x" | "y"): uPlot.Axis => ({
    scale: side,
    font: FONT,
    stroke: color((colors) => colors.quiet),
    grid: { show: side === "y", stroke: color((colors) => colors.rule), width: 1 },
    ticks: { show: side === "x", stroke: color((colors) => colors.rule), width: 1, size: 4 },
    border: { show: side === "x", stroke: color((colors) => colors.rule), width: 1 },
    gap: side === "x" ? 4 : 8,
    size: side === "x" ? 24 : (_, values) => widest(values ?? []) + 16,
    splits: (plot, _, low, high) => {
      const room = side === "x" ? plot.bbox.width / uPlot.pxRatio / 72 : plot.bbox.height / uPlot.pxRatio / 36,
        spec = latest()[side];
      if (spec.log) return powersOfTwo(low, high, Math.floor(room));
      const few = niceTicks(low, high, Math.max(3, Math.floor(room))),
        ticks = few.length < 3 ? niceTicks(low, high, Math.max(5, room * 1.6)) : few;
      return isBars && side === "x" ? ticks.filter(Number.isInteger) : ticks;
    },
    values: (plot, splits) => {
      const spec = latest()[side],
        scale = plot.scales[side];
      return splits.map(unitOf(spec, Math.max(Math.abs(scale.min ?? 0), Math.abs(scale.max ?? 0))).format);
    },
  });
  return {
    width: Math.max(200, host.clientWidth),
    height: height ?? 260,
    padding: [head ?? 10, 14, 0, 0] as uPlot.Padding,
    legend: { show: false },
    series: [{}, ...ys.map(() => ({ paths: () => null, points: { show: false } }))],
    scales: {
      x: { time: false, distr: x.log ? 3 : 1, log: 2, range: xRange(isBars ?? false, x.log ?? false) },
      y: { range: yRange(latest().y.hasNoZero ?? false) },
    } as uPlot.Scales,
    axes: [axis("x"), axis("y")],
    cursor: {
      y: false,
      drag: { x: true, y: false, dist: 6 },
      points: { show: false },
    } as uPlot.Cursor,
    hooks: {
      draw: [
        (plot: uPlot) => {
          plot.ctx.save();
          latest().paint(plot, plot.ctx, colorsOf(host));
          plot.ctx.restore();
        },
      ],
      setCursor: [
        (plot: uPlot) => {
          const { idx, left, top, event } = plot.cursor;
          tip.value =
            idx === null || idx === undefined || left === undefined || left < 0
              ? null
              : { i: idx, left: left + plot.bbox.left / uPlot.pxRatio, top: top ?? 0, isByKey: event === undefined };
        },
      ],
      setScale: [
        (plot: uPlot, key: string) => {
          const { xs } = latest(),
            { min, max } = plot.scales.x;
          if (key === "x")
            zoomed.value = xs.length > 1 && ((min ?? 0) > xs[0] + 1e-9 || (max ?? 0) < xs.at(-1)! - 1e-9);
        },
      ],
    } as uPlot.Hooks.Arrays,
  };
}
const measure = document.createElement("canvas").getContext("2d")!;
function widest(values: string[]): number {
  measure.font = FONT;
  return Math.ceil(Math.max(24, ...values.map((value) => measure.measureText(value).width)));
}

function showAll(plot: uPlot | null, xs: number[]) {
  if (plot !== null && xs.length > 0) plot.setScale("x", { min: xs[0], max: xs.at(-1)! });
}

function onKey(event: KeyboardEvent, plot: uPlot, { xs, at }: PlotProps) {
  const now = plot.cursor.idx ?? null,
    step = event.shiftKey ? Math.max(10, Math.round(xs.length / 20)) : 1;
  const next =
    event.key === "ArrowRight"
      ? (now ?? -1) + step
      : event.key === "ArrowLeft"
        ? (now ?? xs.length) - step
        : event.key === "Home"
          ? 0
          : event.key === "End"
            ? xs.length - 1
            : null;
  if (next !== null && xs.length > 0) {
    const x = xs[Math.min(xs.length - 1, Math.max(0, next))];
    const { min, max } = plot.scales.x;
    if (x < (min ?? 0) || x > (max ?? 0)) showAll(plot, xs);
    plot.cursor.event = undefined;
    plot.setCursor({ left: plot.valToPos(x, "x"), top: 0 });
  } else if (event.key === "Enter" && now !== null) at(now).onOpen?.();
  else return;
  event.preventDefault();
  event.stopPropagation();
}

function TipBox({ tip, latest, width }: { tip: Signal<Tip | null>; latest: () => PlotProps; width: () => number }) {
  const now = tip.value;
  if (now === null) return null;
  const { text, onOpen } = latest().at(now.i);
  const isRight = now.left > width() / 2;
  return (
    <div
      class="plot-tip"
      role={now.isByKey ? "status" : undefined}
      style={{
        left: isRight ? "auto" : `${now.left + 12}px`,
        right: isRight ? `${width() - now.left + 12}px` : "auto",
        top: "12px",
      }}
    >
      {text}
      {onOpen !== undefined && <small>{now.isByKey ? "Enter opens it" : "click opens it"}</small>}
    </div>
  );
}

export function Plot(props: PlotProps) {
  const host = useRef<HTMLDivElement>(null),
    plot = useRef<uPlot | null>(null),
    newest = useRef(props),
    hint = useId();
  newest.current = props;
  const tip = useMemo(() => signal<Tip | null>(null), []),
    zoomed = useMemo(() => signal(false), []);
  const latest = () => newest.current;
  useEffect(() => {
    const element = host.current!;
    const made = new uPlot(
      options(element, latest, tip, zoomed),
      [props.xs, ...props.ys] as uPlot.AlignedData,
      element,
    );
    plot.current = made;
    made.over.addEventListener("click", () => {
      const i = made.cursor.idx;
      if (i !== null && i !== undefined) latest().at(i).onOpen?.();
    });
    const repaint = () => made.redraw(false, true);
    const watch = new ResizeObserver(() => {
      const width = Math.max(200, element.clientWidth);
      if (width !== made.width) made.setSize({ width, height: latest().height ?? 260 });
    });
    watch.observe(element);
    const media = [matchMedia("(prefers-color-scheme: dark)"), matchMedia("print")];
    media.forEach((query) => query.addEventListener("change", repaint));
    addEventListener("xsp-theme", repaint);
    return () => {
      watch.disconnect();
      media.forEach((query) => query.removeEventListener("change", repaint));
      removeEventListener("xsp-theme", repaint);
      made.destroy();
    };
  }, [props.ys.length, props.x.log, props.isBars, props.height, props.head]);
  useEffect(() => {
    const made = plot.current;
    if (made === null || made.data[0] === props.xs) return;
    made.setData([props.xs, ...props.ys] as uPlot.AlignedData, made.data[0].length !== props.xs.length);
    made.redraw(true, true);
  });
  const most = Math.max(
    0,
    ...props.ys.map((values) => values.reduce<number>((m, v) => Math.max(m, Math.abs(v ?? 0)), 0)),
  );
  return (
    <div
      class="plot"
      role="group"
      tabIndex={0}
      aria-label={props.title}
      aria-describedby={hint}
      onKeyDown={(event) => {
        if (plot.current === null) return;
        if (event.key === "Escape" && zoomed.value) {
          showAll(plot.current, props.xs);
          event.stopPropagation();
        } else onKey(event, plot.current, props);
      }}
      onBlur={() => plot.current?.setCursor({ left: -10, top: -10 })}
    >
      <span class="plot-axis">{unitOf(props.y, most).label}</span>
      <span class="unseen" id={hint}>
        Arrow keys step through the values, Enter opens one if it has a page.
      </span>
      <div class="plot-canvas" role="img" aria-label={props.title} ref={host} />
      <span class="plot-axis plot-axis-x">{props.x.label}</span>
      <ShowAll zoomed={zoomed} onShow={() => showAll(plot.current, props.xs)} />
      <TipBox tip={tip} latest={latest} width={() => host.current?.clientWidth ?? 0} />
    </div>
  );
}
function ShowAll({ zoomed, onShow }: { zoomed: Signal<boolean>; onShow: () => void }) {
  return zoomed.value ? (
    <button type="button" class="plot-all" onClick={onShow}>
      Show all
    </button>
  ) : null;
}
