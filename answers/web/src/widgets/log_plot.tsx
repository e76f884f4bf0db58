// SPDX-License-Identifier: Apache-2.0
// Points on two logarithmic axes, with lines under or over them. Ctrl and wheel or W/S zoom, drag zooms into a rectangle,
// A/D pan, 0 shows all. Each point is a button: arrow keys go from point to point by weight, Enter opens it.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { count, plural } from "../format";
import {
  domainOf,
  isInFrame,
  LEFT,
  logAt,
  RIGHT,
  roomOf,
  scalesOf,
  ticksOf,
  TOP,
  zoomed,
  type Domain,
  type Frame,
  type Scales,
} from "./log_scale";
import "./log_plot.css";

// The available width, so that letters keep their size.
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
  lines: string[]; // figures of the tooltip
  label?: string; // next to it
  isHollow?: boolean; // from shapes, not counted
  isSuspect?: boolean;
  isMarked?: boolean;
  isOut?: boolean; // not in the selected range
  onOpen?: () => void;
}
export interface PlotAxis {
  label: string;
  format: (value: number) => string;
}
const DRAWN_MOST = 3000;

function Mark({
  point,
  at,
  radius,
  isActive,
  isHot,
  hasLabel,
  isAtRight,
  onFocus,
}: {
  point: PlotPoint;
  at: [number, number];
  radius: number;
  isActive: boolean;
  isHot: boolean;
  hasLabel: boolean;
  isAtRight: boolean; // no room for a label there
  onFocus: () => void;
}) {
  const [x, y] = at;
  return (
    <g
      class={`plot-point${point.isOut ? " is-out" : ""}${point.isMarked ? " is-marked" : ""}${isHot ? " is-hot" : ""}`}
      role="button"
      tabIndex={isActive ? 0 : -1}
      onFocus={onFocus}
      aria-label={[point.name, ...point.lines].join(", ")}
      aria-pressed={point.isMarked ?? false}
      data-key={point.key}
      data-x={point.x}
      data-y={point.y}
    >
      <circle class={`${point.isHollow ? "level-hollow" : "level-fill"}-${point.level}`} cx={x} cy={y} r={radius} />
      {hasLabel && (
        <text
          class="plot-label"
          x={isAtRight ? x + radius : x}
          y={y - radius - (point.isSuspect ? 14 : 6)}
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

function Grid({
  domain,
  scales,
  frame,
  x,
  y,
}: {
  domain: Domain;
  scales: Scales;
  frame: Frame;
  x: PlotAxis;
  y: PlotAxis;
}) {
  const [roomX, roomY] = roomOf(frame),
    right = frame.width - RIGHT;
  return (
    <>
      {ticksOf(domain.y, roomY).map((value) => (
        <g key={value}>
          <line class="rule" x1={LEFT} x2={right} y1={scales.y(value)} y2={scales.y(value)} />
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
      <text class="axis" x={right} y={frame.height - 6} text-anchor="end">
        {x.label}
      </text>
      <text class="axis" x={LEFT - 8} y={11} text-anchor="end">
        {y.label} ↑
      </text>
    </>
  );
}

// Zooming and panning by keys; arrows go from point to point of those in the picture.
function keyHandler(actions: {
  zoom: (factor: number) => void;
  pan: (part: number) => void;
  showAll: () => void;
  step: (by: number) => void;
  open: () => void;
}) {
  const keys: Record<string, () => void> = {
    w: () => actions.zoom(0.7),
    s: () => actions.zoom(1 / 0.7),
    a: () => actions.pan(-0.15),
    d: () => actions.pan(0.15),
    "0": actions.showAll,
    ArrowRight: () => actions.step(1),
    ArrowDown: () => actions.step(1),
    ArrowLeft: () => actions.step(-1),
    ArrowUp: () => actions.step(-1),
    Home: () => actions.step(-Infinity),
    End: () => actions.step(Infinity),
    Enter: actions.open,
    " ": actions.open,
  };
  return (event: KeyboardEvent) => {
    const act = keys[event.key];
    if (act === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    act();
    event.preventDefault();
    event.stopPropagation();
  };
}

type Drag = [x0: number, y0: number, x1: number, y1: number];
// Handlers of the pointer: a click opens the nearest point, a drag zooms into its rectangle.
function usePointer(actions: {
  nearest: (at: [number, number]) => number;
  open: (i: number) => void;
  hover: (i: number) => void;
  zoomInto: (drag: Drag) => void;
}) {
  const [drag, setDrag] = useState<Drag | null>(null);
  const place = (event: PointerEvent): [number, number] => {
    const area = (event.currentTarget as Element).getBoundingClientRect();
    return [event.clientX - area.left, event.clientY - area.top];
  };
  const handlers = {
    onPointerDown: (event: PointerEvent) => {
      if (event.button !== 0) return;
      const [px, py] = place(event);
      setDrag([px, py, px, py]);
      (event.currentTarget as Element).setPointerCapture(event.pointerId);
    },
    onPointerMove: (event: PointerEvent) => {
      const [px, py] = place(event);
      if (drag !== null) setDrag([drag[0], drag[1], px, py]);
      else actions.hover(actions.nearest([px, py]));
    },
    onPointerUp: (event: PointerEvent) => {
      if (drag === null) return;
      const [px, py] = place(event),
        [wide, tall] = [Math.abs(px - drag[0]), Math.abs(py - drag[1])];
      setDrag(null);
      if (wide < 6 && tall < 6) actions.open(actions.nearest([px, py]));
      else if (wide > 8 && tall > 8) actions.zoomInto([drag[0], drag[1], px, py]);
    },
    onPointerCancel: () => setDrag(null),
    onPointerLeave: () => drag === null && actions.hover(-1),
  };
  return { drag, handlers };
}

// Labels that have room: those of the largest points first, none over another.
const LABEL_HEIGHT = 14;
const LETTER_WIDTH = 7;
function labelled(points: PlotPoint[], scales: Scales): Set<string> {
  const boxes: { x: number; y: number; half: number }[] = [],
    keys = new Set<string>();
  for (const point of points) {
    if (point.label === undefined) continue;
    const box = {
      x: scales.x(point.x),
      y: scales.y(point.y) - radiusOf(point),
      half: (point.label.length * LETTER_WIDTH) / 2,
    };
    if (boxes.some(({ x, y, half }) => Math.abs(x - box.x) < half + box.half && Math.abs(y - box.y) < LABEL_HEIGHT))
      continue;
    boxes.push(box);
    keys.add(point.key);
  }
  return keys;
}

const radiusOf = (point: PlotPoint) => Math.max(3.5, Math.sqrt(Math.min(1, point.weight)) * 15);
function nearestOf(points: PlotPoint[], scales: Scales, [px, py]: [number, number]): number {
  let best = -1,
    least = 22;
  points.forEach((point, i) => {
    const far = Math.hypot(scales.x(point.x) - px, scales.y(point.y) - py) - radiusOf(point);
    if (far < least && !point.isOut) [best, least] = [i, far];
  });
  return best;
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
    [hotKey, setHotKey] = useState(""),
    marks = useRef<SVGGElement>(null);
  const domain = zoom ?? domainOf([...points, ...span]),
    frame = { width, height },
    scales = scalesOf(domain, frame),
    [roomX, roomY] = roomOf(frame),
    clip = `clip-${title.replace(/\W+/g, "-")}`;
  const largest = points
      .slice()
      .sort((a, b) => b.weight - a.weight)
      .slice(0, DRAWN_MOST),
    shown = largest.filter((point) => isInFrame(domain, point.x, point.y) || point.key === hotKey), // that has the focus
    hot = shown.findIndex((point) => point.key === hotKey),
    withLabel = labelled(shown, scales);
  const setHot = (i: number) => setHotKey(shown[i]?.key ?? "");
  const zoomAt = (px: number, py: number, factor: number) => {
    const [atX, atY] = logAt(domain, frame, px, py);
    setZoom({ x: zoomed(domain.x, atX, factor), y: zoomed(domain.y, atY, factor) });
  };
  const { drag, handlers } = usePointer({
    nearest: (at) => nearestOf(shown, scales, at),
    open: (i) => shown[i]?.onOpen?.(),
    hover: setHot,
    zoomInto: ([x0, y0, x1, y1]) => {
      const [left, low] = logAt(domain, frame, Math.min(x0, x1), Math.max(y0, y1)),
        [right, high] = logAt(domain, frame, Math.max(x0, x1), Math.min(y0, y1));
      setZoom({ x: [left, right], y: [low, high] });
    },
  });
  const onKey = keyHandler({
    zoom: (factor) =>
      hot >= 0
        ? zoomAt(scales.x(shown[hot].x), scales.y(shown[hot].y), factor)
        : zoomAt(LEFT + roomX / 2, TOP + roomY / 2, factor),
    pan: (part) => {
      const by = (domain.x[1] - domain.x[0]) * part;
      setZoom({ ...domain, x: [domain.x[0] + by, domain.x[1] + by] });
    },
    showAll: () => setZoom(null),
    step: (by) => {
      const next = Math.min(shown.length - 1, Math.max(0, hot + by));
      setHot(next);
      (marks.current!.querySelectorAll<SVGGElement>(".plot-point")[next] as SVGGElement | undefined)?.focus();
    },
    open: () => shown[hot]?.onOpen?.(),
  });
  const active = Math.max(
    0,
    shown.findIndex((point) => point.isMarked),
  );
  return (
    <div ref={box} class="plot">
      <svg
        class="chart"
        width={width}
        height={height}
        viewBox={`0 0 ${width} ${height}`}
        role="group"
        aria-label={`${title}: ${count(points.length)} points`}
        onKeyDown={onKey}
        onWheel={(event) => {
          if (!event.ctrlKey) return;
          event.preventDefault();
          const area = event.currentTarget.getBoundingClientRect();
          zoomAt(event.clientX - area.left, event.clientY - area.top, event.deltaY > 0 ? 1.2 : 1 / 1.2);
        }}
        onDblClick={() => setZoom(null)}
        {...handlers}
      >
        <clipPath id={clip}>
          <rect x={LEFT} y={TOP} width={roomX} height={roomY} />
        </clipPath>
        <Grid domain={domain} scales={scales} frame={frame} x={x} y={y} />
        <g clip-path={`url(#${clip})`} ref={marks}>
          {under?.(scales)}
          {shown.map((point, i) => (
            <Mark
              key={point.key}
              point={point}
              at={[scales.x(point.x), scales.y(point.y)]}
              radius={radiusOf(point)}
              isActive={i === active}
              isHot={i === hot}
              hasLabel={withLabel.has(point.key)}
              isAtRight={scales.x(point.x) > width - RIGHT - 50}
              onFocus={() => setHot(i)}
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
      <PlotLine
        hotPoint={shown[hot]}
        left_out={points.length - largest.length}
        outside={largest.length - shown.length}
        onShowAll={zoom === null ? undefined : () => setZoom(null)}
      />
    </div>
  );
}
function PlotLine({
  hotPoint,
  left_out,
  outside,
  onShowAll,
}: {
  hotPoint: PlotPoint | undefined;
  left_out: number;
  outside: number;
  onShowAll?: () => void;
}) {
  return (
    <p class="plot-line">
      {hotPoint !== undefined ? (
        <span>
          <strong>{hotPoint.name}</strong> {hotPoint.lines.join(", ")}
        </span>
      ) : (
        <span class="quiet">
          {left_out > 0 && `The ${count(DRAWN_MOST)} largest points are drawn, ${count(left_out)} are not. `}
          {outside > 0 && `${plural(outside, "point")} outside the picture. `}
          Click a point to open it. Drag or Ctrl + wheel zooms.
        </span>
      )}
      {onShowAll !== undefined && (
        <button type="button" onClick={onShowAll}>
          Show all
        </button>
      )}
    </p>
  );
}
