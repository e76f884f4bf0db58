// SPDX-License-Identifier: Apache-2.0
// Spans in time order, one block of rows per track. The range shown is the timeline's. W/S zoom, A/D pan, arrows go
// from span to span, click zooms to one, a double click shows it on the timeline.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Spans } from "../data";
import { matching } from "../find";
import { count, plural } from "../format";
import { keyOf, useKeysOfPage } from "../frame/key_of";
import { leastOf } from "../timeline/geometry";
import { isAtOpening, page, rangeText, selection, view, type Range } from "../state";
import { select } from "../windows";
import { linesOf, paint, placeAt, neighbourOf } from "./time_paint";

export interface Spot {
  place: number; // -1: none
  x: number;
  y: number;
}
// Moves the range shown, which the timeline shares; zooming keeps the point under the pointer.
function useView(data: Spans, shown: Range, pointer: { current: number }) {
  const show = (from: number, to: number) => {
    const wide = Math.min(Math.max(to - from, leastOf(data.end)), data.end),
      start = Math.min(Math.max(0, from), data.end - wide);
    view.value = start <= 0 && wide >= data.end ? null : { from: start, to: start + wide };
  };
  return {
    show,
    zoom: (factor: number) => {
      const at = shown.from + pointer.current * (shown.to - shown.from);
      show(at - (at - shown.from) * factor, at + (shown.to - at) * factor);
    },
    zoomTo: (place: number) => {
      const room = data.duration[place] * 0.02;
      show(data.start[place] - room, data.start[place] + data.duration[place] + room);
    },
  };
}

export function TimeOrder({
  data,
  track,
  onHover,
}: {
  data: Spans;
  track: number | null;
  onHover: (spot: Spot) => void;
}) {
  const canvas = useRef<HTMLCanvasElement>(null),
    pointer = useRef(0.5),
    clicked = useRef(-1),
    [hover, setHover] = useState(-1),
    [cursor, setCursor] = useState(-1),
    [size, setSize] = useState(0);
  const { lines, height, left_out } = useMemo(() => linesOf(data, track), [data, track]);
  const chosen = isAtOpening() ? (selection.value ?? view.value) : view.value,
    shown = chosen ?? { from: 0, to: Math.max(1, data.end) };
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
  const { show, zoom, zoomTo } = useView(data, shown, pointer);
  const under = (event: MouseEvent): number => {
    const area = canvas.current!.getBoundingClientRect();
    return placeAt(data, lines, shown, event.clientX - area.left, event.clientY - area.top, area.width);
  };
  const go = (place: number) => {
    setCursor(place);
    onHover({ place, x: -1, y: -1 });
    if (data.start[place] > shown.to || data.start[place] + data.duration[place] < shown.from) zoomTo(place);
  };
  const jump = (place: number) => {
    select(data, place);
    page.value = "timeline";
  };
  const pan = (part: number) =>
    show(shown.from + (shown.to - shown.from) * part, shown.to + (shown.to - shown.from) * part);
  const onKey = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const first = lines.find((line) => line.row >= 0);
    const key = keyOf(event),
      meant = cursor >= 0 ? cursor : hover;
    if (event.key.startsWith("Arrow") && event.target === document.body && cursor < 0) return; // scrolls the page
    if (event.key.startsWith("Arrow") && first !== undefined)
      go(cursor < 0 ? data.facts.rows[first.row][2] : neighbourOf(data, cursor, event.key));
    else if (key === "w" || key === "s") zoom(key === "w" ? 0.7 : 1 / 0.7);
    else if (key === "a" || key === "d") pan(key === "a" ? -0.15 : 0.15);
    else if (["0", "home", "escape", "backspace"].includes(key)) view.value = null;
    else if (key === "enter" && meant >= 0) zoomTo(meant);
    else if (key === "f" && meant >= 0) jump(meant);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  useKeysOfPage(onKey);
  const merged = data.merged === null ? 0 : data.facts.recorded;
  return (
    <div
      class="flame-frame"
      tabIndex={0}
      role="application"
      aria-roledescription="flame graph"
      aria-label="Spans in time order. W and S zoom, A and D pan, arrow keys go from span to span, Enter zooms to one"
      data-spans={data.count}
      data-view={rangeText(shown)}
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
          onHover({ place, x: event.clientX, y: event.clientY });
        }}
        onMouseLeave={() => {
          setHover(-1);
          onHover({ place: -1, x: -1, y: -1 });
        }}
        onWheel={(event) => {
          const isSideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY),
            isZoom = event.ctrlKey || event.metaKey;
          if (!isZoom && !isSideways) return;
          event.preventDefault();
          // As on the timeline; a trackpad's pinch gives small steps.
          const delta = Math.max(-120, Math.min(120, event.deltaY));
          if (isZoom) zoom(Math.exp(delta * (Math.abs(delta) < 30 ? 0.01 : 0.003)));
          else pan((event.deltaX || event.deltaY) / event.currentTarget.clientWidth);
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
          {count(merged)} spans as {count(data.count)} rectangles: a rectangle may contain several spans of one row.
        </p>
      )}
    </div>
  );
}
