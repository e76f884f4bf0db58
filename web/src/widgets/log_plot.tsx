// SPDX-License-Identifier: Apache-2.0
// Points on two logarithmic axes, with lines under or over them. Ctrl and wheel or W/S zoom, drag zooms into a rectangle,
// A/D pan, 0 shows all. Each point is a button: arrow keys go from point to point by weight, Enter opens it.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { count } from "../format";
import "./log_plot.css";

// The width at hand, so that letters keep their size.
function useWidth() {
  const box = useRef<HTMLDivElement>(null),
    [width, setWidth] = useState(860);
  useLayoutEffect(() => {
    const watch = new ResizeObserver(([entry]) => setWidth(Math.max(280, Math.round(entry.contentRect.width))));
    watch.observe(box.current!);
    return () => watch.disconnect();
  }, []);
  return { box, width };
}

export interface PlotPoint {
  key: string;
  x: number;
  y: number;
  weight: number; // its area, as a share of the largest
  level: number;
  name: string;
  lines: string[]; // what is told of it
  label?: string; // stands beside it
  isHollow?: boolean; // follows from shapes, was not counted
  isSuspect?: boolean;
  isMarked?: boolean;
  isOut?: boolean; // not in the selected range
  onOpen?: () => void;
}
export interface PlotAxis {
  label: string;
  format: (value: number) => string;
}
export interface Scales {
  x: (value: number) => number; // pixels
  y: (value: number) => number;
  from: [x: number, y: number]; // values at the edges
  to: [x: number, y: number];
}
interface Domain {
  x: [number, number]; // powers of ten
  y: [number, number];
}
const LEFT = 92,
  RIGHT = 16,
  TOP = 14,
  BOTTOM = 44,
  DRAWN_MOST = 3000,
  LEAST_DECADES = 0.05;

function domainOf(points: { x: number; y: number }[]): Domain {
  const range = (values: number[]): [number, number] => {
    const logs = values.filter((value) => value > 0).map(Math.log10);
    const low = logs.reduce((least, value) => Math.min(least, value), Infinity),
      high = logs.reduce((most, value) => Math.max(most, value), -Infinity);
    if (!Number.isFinite(low)) return [0, 1];
    const room = Math.max(0.25, (high - low) * 0.06);
    return [low - room, high + room];
  };
  return { x: range(points.map((point) => point.x)), y: range(points.map((point) => point.y)) };
}
function ticksOf([low, high]: [number, number], room: number): number[] {
  const decades = high - low,
    every = Math.max(1, Math.ceil((decades * 52) / room));
  const steps = decades < 1.2 ? [1, 2, 3, 5, 7] : decades < 3 ? [1, 2, 5] : [1];
  const ticks: number[] = [];
  for (let power = Math.floor(low); power <= Math.ceil(high); power++)
    for (const step of power % every === 0 || every === 1 ? steps : []) {
      const log = power + Math.log10(step);
      if (log >= low && log <= high) ticks.push(10 ** log);
    }
  return ticks;
}
const zoomed = ([low, high]: [number, number], at: number, factor: number): [number, number] => {
  const next: [number, number] = [at - (at - low) * factor, at + (high - at) * factor];
  return next[1] - next[0] < LEAST_DECADES ? [low, high] : next;
};

function Mark({
  point,
  at,
  radius,
  isActive,
  isHot,
  isAtRight,
}: {
  point: PlotPoint;
  at: [number, number];
  radius: number;
  isActive: boolean;
  isHot: boolean;
  isAtRight: boolean; // no room for a label there
}) {
  const [x, y] = at;
  return (
    <g
      class={`plot-point${point.isOut ? " is-out" : ""}${point.isMarked ? " is-marked" : ""}${isHot ? " is-hot" : ""}`}
      role="button"
      tabIndex={isActive ? 0 : -1}
      aria-label={[point.name, ...point.lines].join(", ")}
      aria-pressed={point.isMarked ?? false}
      data-key={point.key}
      data-x={point.x}
      data-y={point.y}
    >
      <circle class={`${point.isHollow ? "level-hollow" : "level-fill"}-${point.level}`} cx={x} cy={y} r={radius} />
      {point.label !== undefined && (
        <text
          class="plot-label"
          x={isAtRight ? x + radius : x}
          y={y - radius - 6}
          text-anchor={isAtRight ? "end" : "middle"}
        >
          {point.label}
        </text>
      )}
      {point.isSuspect && (
        <path
          class="plot-suspect"
          d={`M${x - 4},${y - radius - 3}L${x},${y - radius - 10}L${x + 4},${y - radius - 3}Z`}
        />
      )}
    </g>
  );
}

export function LogPlot({
  title,
  x,
  y,
  points,
  span = [],
  under,
  height = 440,
}: {
  title: string;
  x: PlotAxis;
  y: PlotAxis;
  points: PlotPoint[];
  span?: { x: number; y: number }[]; // also to be in the picture
  under?: (scales: Scales) => ComponentChildren; // lines below the points
  height?: number;
}) {
  const { box, width } = useWidth(),
    [zoom, setZoom] = useState<Domain | null>(null),
    [hot, setHot] = useState(-1),
    [drag, setDrag] = useState<[number, number, number, number] | null>(null),
    frame = useRef<SVGSVGElement>(null);
  const drawn = points
    .slice()
    .sort((a, b) => b.weight - a.weight)
    .slice(0, DRAWN_MOST);
  const domain = zoom ?? domainOf([...points, ...span]),
    roomX = width - LEFT - RIGHT,
    roomY = height - TOP - BOTTOM;
  const toX = (log: number) => LEFT + ((log - domain.x[0]) / (domain.x[1] - domain.x[0])) * roomX,
    toY = (log: number) => TOP + roomY - ((log - domain.y[0]) / (domain.y[1] - domain.y[0])) * roomY;
  const fromX = (pixel: number) => domain.x[0] + ((pixel - LEFT) / roomX) * (domain.x[1] - domain.x[0]),
    fromY = (pixel: number) => domain.y[0] + ((TOP + roomY - pixel) / roomY) * (domain.y[1] - domain.y[0]);
  const scales: Scales = {
    x: (value) => toX(Math.log10(value)),
    y: (value) => toY(Math.log10(value)),
    from: [10 ** domain.x[0], 10 ** domain.y[0]],
    to: [10 ** domain.x[1], 10 ** domain.y[1]],
  };
  const radius = (point: PlotPoint) => Math.max(3.5, Math.sqrt(Math.min(1, point.weight)) * 15);
  const place = (event: MouseEvent): [number, number] => {
    const area = frame.current!.getBoundingClientRect();
    return [event.clientX - area.left, event.clientY - area.top];
  };
  const nearest = ([px, py]: [number, number]) => {
    let best = -1,
      least = 22;
    drawn.forEach((point, i) => {
      const far = Math.hypot(scales.x(point.x) - px, scales.y(point.y) - py) - radius(point);
      if (far < least && !point.isOut) [best, least] = [i, far];
    });
    return best;
  };
  const zoomAt = (px: number, py: number, factor: number) =>
    setZoom({ x: zoomed(domain.x, fromX(px), factor), y: zoomed(domain.y, fromY(py), factor) });
  const pan = (part: number) => {
    const by = (domain.x[1] - domain.x[0]) * part;
    setZoom({ ...domain, x: [domain.x[0] + by, domain.x[1] + by] });
  };
  const focusPoint = (i: number) => {
    const next = Math.min(drawn.length - 1, Math.max(0, i));
    setHot(next);
    [...frame.current!.querySelectorAll<SVGGElement>(".plot-point")]
      .find((mark) => mark.dataset.key === drawn[next].key)
      ?.focus();
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const middle = [LEFT + roomX / 2, TOP + roomY / 2] as const;
    const here = drawn.findIndex((point) => point.key === (document.activeElement as HTMLElement)?.dataset?.key);
    const keys: Record<string, () => void> = {
      w: () => zoomAt(...middle, 0.7),
      s: () => zoomAt(...middle, 1 / 0.7),
      a: () => pan(-0.15),
      d: () => pan(0.15),
      "0": () => setZoom(null),
      ArrowRight: () => focusPoint(here + 1),
      ArrowDown: () => focusPoint(here + 1),
      ArrowLeft: () => focusPoint(here - 1),
      ArrowUp: () => focusPoint(here - 1),
      Home: () => focusPoint(0),
      End: () => focusPoint(drawn.length - 1),
      Enter: () => drawn[here]?.onOpen?.(),
      " ": () => drawn[here]?.onOpen?.(),
    };
    const act = keys[event.key];
    if (act === undefined) return;
    act();
    event.preventDefault();
    event.stopPropagation();
  };
  const inFrame = (point: PlotPoint) =>
    Math.log10(point.x) >= domain.x[0] &&
    Math.log10(point.x) <= domain.x[1] &&
    Math.log10(point.y) >= domain.y[0] &&
    Math.log10(point.y) <= domain.y[1];
  const shown = drawn.map((point, i) => [point, i] as const).filter(([point]) => inFrame(point));
  const active = Math.max(
    0,
    drawn.findIndex((point) => point.isMarked),
  );
  const told = hot >= 0 && hot < drawn.length ? drawn[hot] : null;
  return (
    <div ref={box} class="plot">
      <svg
        ref={frame}
        class="chart"
        width={width}
        height={height}
        role="group"
        aria-label={`${title}: ${count(points.length)} points`}
        onKeyDown={onKey}
        onWheel={(event) => {
          if (!event.ctrlKey) return;
          event.preventDefault();
          zoomAt(...place(event), event.deltaY > 0 ? 1.2 : 1 / 1.2);
        }}
        onPointerDown={(event) => {
          if (event.button !== 0) return;
          const [px, py] = place(event);
          setDrag([px, py, px, py]);
          event.currentTarget.setPointerCapture(event.pointerId);
        }}
        onPointerMove={(event) => {
          const [px, py] = place(event);
          if (drag !== null) setDrag([drag[0], drag[1], px, py]);
          else setHot(nearest([px, py]));
        }}
        onPointerUp={(event) => {
          const at = place(event),
            [x0, y0] = drag ?? [0, 0];
          setDrag(null);
          if (drag === null) return;
          if (Math.abs(at[0] - x0) < 6 && Math.abs(at[1] - y0) < 6) drawn[nearest(at)]?.onOpen?.();
          else if (Math.abs(at[0] - x0) > 8 && Math.abs(at[1] - y0) > 8)
            setZoom({
              x: [fromX(Math.min(x0, at[0])), fromX(Math.max(x0, at[0]))],
              y: [fromY(Math.max(y0, at[1])), fromY(Math.min(y0, at[1]))],
            });
        }}
        onPointerLeave={() => drag === null && setHot(-1)}
        onDblClick={() => setZoom(null)}
      >
        <clipPath id={`clip-${title.replace(/\W+/g, "-")}`}>
          <rect x={LEFT} y={TOP} width={roomX} height={roomY} />
        </clipPath>
        {ticksOf(domain.y, roomY).map((value) => (
          <g key={value}>
            <line class="rule" x1={LEFT} x2={width - RIGHT} y1={scales.y(value)} y2={scales.y(value)} />
            <text class="tick" x={LEFT - 8} y={scales.y(value) + 4} text-anchor="end">
              {y.format(value)}
            </text>
          </g>
        ))}
        {ticksOf(domain.x, roomX).map((value) => (
          <g key={value}>
            <line class="rule" x1={scales.x(value)} x2={scales.x(value)} y1={TOP} y2={TOP + roomY} />
            <text class="tick" x={scales.x(value)} y={TOP + roomY + 16} text-anchor="middle">
              {x.format(value)}
            </text>
          </g>
        ))}
        <text class="axis" x={width - RIGHT} y={height - 6} text-anchor="end">
          {x.label}
        </text>
        <text class="axis" x={LEFT} y={height - 6}>
          ↑ {y.label}
        </text>
        <g clip-path={`url(#clip-${title.replace(/\W+/g, "-")})`}>
          {under?.(scales)}
          {shown.map(([point, i]) => (
            <Mark
              key={point.key}
              point={point}
              at={[scales.x(point.x), scales.y(point.y)]}
              radius={radius(point)}
              isActive={i === active}
              isHot={i === hot}
              isAtRight={scales.x(point.x) > width - RIGHT - 50}
            />
          ))}
        </g>
        {drag !== null && (
          <rect
            class="plot-drag"
            x={Math.min(drag[0], drag[2])}
            y={Math.min(drag[1], drag[3])}
            width={Math.abs(drag[2] - drag[0])}
            height={Math.abs(drag[3] - drag[1])}
          />
        )}
      </svg>
      <p class="plot-line">
        {told !== null ? (
          <>
            <strong>{told.name}</strong> {told.lines.join(", ")}
          </>
        ) : (
          <span class="quiet">
            {points.length > DRAWN_MOST &&
              `The ${count(DRAWN_MOST)} largest of ${count(points.length)} points are drawn. `}
            {shown.length < drawn.length && `${count(drawn.length - shown.length)} points lie outside the picture. `}
            Click a point to open it. Drag or Ctrl + wheel zooms.
          </span>
        )}
        {zoom !== null && (
          <button type="button" onClick={() => setZoom(null)}>
            Show all
          </button>
        )}
      </p>
    </div>
  );
}
