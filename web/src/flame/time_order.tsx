// SPDX-License-Identifier: Apache-2.0
// Spans at their place in time, one block of rows a track: what ran when, and in what. The part of the run shown is the
// timeline's. W/S zoom, A/D pan, arrows go from span to span, click zooms to one, a double click shows it on the timeline.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { palette } from "../colors";
import { levelOf, type Spans } from "../data";
import { matching } from "../find";
import { count, plural, time } from "../format";
import { documentData, page, selected, selection, view, type Range } from "../state";
import { ROW } from "./canvas";
import { tracksOf } from "./own_time";

const HEAD = 18; // pixels of a track's name
const AXIS = 18;
const ROWS_MOST = 300;
const LETTER = 6.2;
const LEAST_NS = 10;

interface Line {
  row: number; // -1: a track's name
  y: number;
  text: string;
}
function linesOf(data: Spans, track: number | null): { lines: Line[]; height: number; left_out: number } {
  const tracks = tracksOf(data.facts),
    lines: Line[] = [];
  let y = AXIS,
    lane = -1,
    rows = 0,
    left_out = 0;
  data.facts.rows.forEach(([of], row) => {
    if (track !== null && tracks[of] !== track) return;
    if (++rows > ROWS_MOST) {
      left_out++;
      return;
    }
    if (of !== lane) {
      const { process, name, overlap } = data.facts.lanes[of];
      lines.push({ row: -1, y, text: `${process} ${name}${overlap > 0 ? " (overlapping)" : ""}`.trim() });
      y += HEAD;
      lane = of;
    }
    lines.push({ row, y, text: "" });
    y += ROW;
  });
  return { lines, height: y, left_out };
}
// The first span of the row that ends after `from`: spans of a row do not overlap.
function firstAfter(data: Spans, row: number, from: number, low: number): number {
  const [, , first, rowCount] = data.facts.rows[row];
  let high = first + rowCount;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (data.start[middle] + data.duration[middle] > from) high = middle;
    else low = middle + 1;
  }
  return low;
}

const css = (packed: number) => `rgb(${packed & 255} ${(packed >> 8) & 255} ${(packed >> 16) & 255})`;
function paintAxis(context: CanvasRenderingContext2D, shown: Range, width: number, color: string) {
  const raw = (shown.to - shown.from) / Math.max(2, width / 120),
    magnitude = 10 ** Math.floor(Math.log10(raw)),
    tick = [1, 2, 5, 10].map((n) => n * magnitude).find((n) => n >= raw)!;
  context.fillStyle = color;
  for (let at = Math.ceil(shown.from / tick) * tick; at <= shown.to; at += tick) {
    const x = ((at - shown.from) / (shown.to - shown.from)) * width;
    context.fillRect(x, AXIS - 5, 1, 4);
    if (x < width - 60) context.fillText(time(at), x + 4, AXIS / 2);
  }
}
function paint(
  element: HTMLCanvasElement,
  data: Spans,
  lines: Line[],
  shown: Range,
  marked: { hover: number; cursor: number },
) {
  const ratio = devicePixelRatio || 1,
    context = element.getContext("2d")!,
    colors = palette(),
    names = documentData.value!.names,
    hits = matching.value,
    style = getComputedStyle(element),
    width = element.clientWidth,
    scale = width / (shown.to - shown.from);
  element.width = Math.round(width * ratio);
  element.height = Math.round(element.clientHeight * ratio);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.font = "11.5px system-ui, sans-serif";
  context.textBaseline = "middle";
  paintAxis(context, shown, width, style.getPropertyValue("--quiet"));
  for (const { row, y, text } of lines) {
    if (row < 0) {
      context.fillStyle = style.getPropertyValue("--quiet");
      const room = Math.floor(width / LETTER);
      context.fillText(text.length > room ? `${text.slice(0, room - 1)}…` : text, 2, y + HEAD / 2 + 2);
      continue;
    }
    const [, , first, rowCount] = data.facts.rows[row],
      end = first + rowCount;
    // One span at most begins in a pixel: the rest of those in it is skipped.
    for (let i = firstAfter(data, row, shown.from, first); i < end && data.start[i] < shown.to;) {
      const from = Math.max(0, (data.start[i] - shown.from) * scale),
        to = Math.min(width, (data.start[i] + data.duration[i] - shown.from) * scale),
        wide = Math.max(1, to - from),
        isHit = hits === null || hits[data.name[i]] === 1,
        level = levelOf(data, i);
      context.fillStyle = css(isHit ? colors.of(level, data.name[i]) : colors.faded(level));
      context.fillRect(from, y, wide > 3 ? wide - 1 : wide, ROW - 1);
      if (i === marked.hover || i === marked.cursor) {
        context.strokeStyle = style.getPropertyValue(i === marked.cursor ? "--accent" : "--text");
        context.lineWidth = 2;
        context.strokeRect(from + 1, y + 1, Math.max(1, wide - 2), ROW - 3);
      }
      const fits = Math.floor((wide - 9) / LETTER);
      if (fits >= 3) {
        const name = names[data.name[i]];
        context.fillStyle = isHit ? colors.text : colors.line;
        context.fillText(name.length > fits ? `${name.slice(0, fits - 1)}…` : name, from + 5, y + ROW / 2);
      }
      i = wide > 1 ? i + 1 : Math.max(i + 1, firstAfter(data, row, shown.from + (Math.floor(from) + 1) / scale, i));
    }
  }
}

export interface Spot {
  place: number; // -1: none
  x: number;
  y: number;
}
export function TimeOrder({
  data,
  track,
  onTell,
}: {
  data: Spans;
  track: number | null;
  onTell: (spot: Spot) => void;
}) {
  const canvas = useRef<HTMLCanvasElement>(null),
    pointer = useRef(0.5),
    clicked = useRef(-1),
    [hover, setHover] = useState(-1),
    [cursor, setCursor] = useState(-1),
    [size, setSize] = useState(0);
  const { lines, height, left_out } = useMemo(() => linesOf(data, track), [data, track]);
  const shown = view.value ?? selection.value ?? { from: 0, to: Math.max(1, data.end) };
  useEffect(() => {
    const again = () => setSize((before) => before + 1);
    const watch = new ResizeObserver(again);
    watch.observe(canvas.current!);
    addEventListener("xsp-theme", again);
    return () => {
      watch.disconnect();
      removeEventListener("xsp-theme", again);
    };
  }, []);
  useLayoutEffect(
    () => paint(canvas.current!, data, lines, shown, { hover, cursor }),
    [data, lines, shown.from, shown.to, hover, cursor, size, matching.value],
  );
  const show = (from: number, to: number) => {
    const wide = Math.min(Math.max(to - from, LEAST_NS), data.end),
      start = Math.min(Math.max(0, from), data.end - wide);
    view.value = start <= 0 && wide >= data.end ? null : { from: start, to: start + wide };
  };
  const zoom = (factor: number) => {
    const at = shown.from + pointer.current * (shown.to - shown.from);
    show(at - (at - shown.from) * factor, at + (shown.to - at) * factor);
  };
  const zoomTo = (place: number) => {
    const room = data.duration[place] * 0.02;
    show(data.start[place] - room, data.start[place] + data.duration[place] + room);
  };
  const under = (event: MouseEvent): number => {
    const area = canvas.current!.getBoundingClientRect(),
      y = event.clientY - area.top,
      line = lines.find((one) => one.row >= 0 && y >= one.y && y < one.y + ROW);
    if (line === undefined) return -1;
    const pixel = (shown.to - shown.from) / area.width,
      at = shown.from + (event.clientX - area.left) * pixel,
      place = firstAfter(data, line.row, at - pixel, data.facts.rows[line.row][2]),
      [, , first, rowCount] = data.facts.rows[line.row];
    return place < first + rowCount && data.start[place] <= at + pixel ? place : -1;
  };
  // A span and what nests in it, for the arrow keys.
  const step = (place: number, key: string): number => {
    const [, , first, rowCount] = data.facts.rows[data.row[place]];
    if (key === "ArrowLeft") return Math.max(first, place - 1);
    if (key === "ArrowRight") return Math.min(first + rowCount - 1, place + 1);
    if (key === "ArrowUp") return data.parent[place] >= 0 ? data.parent[place] : place;
    let longest = -1;
    for (let i = 0; i < data.count; i++)
      if (data.parent[i] === place && (longest < 0 || data.duration[i] > data.duration[longest])) longest = i;
    return longest < 0 ? place : longest;
  };
  const go = (place: number) => {
    setCursor(place);
    onTell({ place, x: -1, y: -1 });
    if (data.start[place] > shown.to || data.start[place] + data.duration[place] < shown.from) zoomTo(place);
  };
  const jump = (place: number) => {
    selected.value = place;
    page.value = "timeline";
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const keys: Record<string, () => void> = {
      w: () => zoom(0.7),
      s: () => zoom(1 / 0.7),
      a: () => show(shown.from - (shown.to - shown.from) * 0.15, shown.to - (shown.to - shown.from) * 0.15),
      d: () => show(shown.from + (shown.to - shown.from) * 0.15, shown.to + (shown.to - shown.from) * 0.15),
      "0": () => (view.value = null),
      Home: () => (view.value = null),
      Escape: () => (view.value = null),
      Backspace: () => (view.value = null),
      Enter: () => cursor >= 0 && zoomTo(cursor),
      f: () => cursor >= 0 && jump(cursor),
    };
    if (event.key.startsWith("Arrow")) {
      const first = lines.find((line) => line.row >= 0);
      if (first !== undefined) go(cursor < 0 ? data.facts.rows[first.row][2] : step(cursor, event.key));
    } else if (keys[event.key] !== undefined) keys[event.key]();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const merged = data.merged === null ? 0 : data.facts.recorded;
  return (
    <div
      class="flame-frame"
      tabIndex={0}
      role="application"
      aria-roledescription="flame graph"
      aria-label="Spans at their place in time. W and S zoom, A and D pan, arrow keys go from span to span, Enter zooms to one"
      data-spans={data.count}
      onKeyDown={onKey}
    >
      <canvas
        class="flame-canvas"
        ref={canvas}
        role="img"
        aria-label={`Spans of ${plural(lines.filter((line) => line.row < 0).length, "track")} in time order; the table below has their contexts`}
        style={{ height: `${height}px` }}
        onMouseMove={(event) => {
          const area = event.currentTarget.getBoundingClientRect(),
            place = under(event);
          pointer.current = (event.clientX - area.left) / area.width;
          setHover(place);
          onTell({ place, x: event.clientX, y: event.clientY });
        }}
        onMouseLeave={() => {
          setHover(-1);
          onTell({ place: -1, x: -1, y: -1 });
        }}
        onWheel={(event) => {
          if (!event.ctrlKey) return;
          event.preventDefault();
          zoom(event.deltaY > 0 ? 1.25 : 0.8);
        }}
        onClick={(event) => {
          const place = under(event);
          if (place < 0 || event.detail > 1) return;
          clicked.current = place;
          setCursor(place);
          zoomTo(place);
        }}
        onDblClick={() => clicked.current >= 0 && jump(clicked.current)}
      />
      {left_out > 0 && (
        <p class="quiet flame-hidden">{count(left_out)} further rows are not drawn: choose a track to see its rows.</p>
      )}
      {merged > 0 && (
        <p class="quiet flame-hidden">
          {count(merged)} spans as {count(data.count)} rectangles: a rectangle may stand for several spans of one row.
        </p>
      )}
    </div>
  );
}
