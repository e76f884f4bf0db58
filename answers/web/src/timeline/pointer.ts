// SPDX-License-Identifier: Apache-2.0
// Mouse, wheel, pen and touch on the tracks. Drag selects a range, its edges can be dragged afterwards; Shift-drag and one
// finger pan, Ctrl-wheel and two fingers zoom; a click selects a span, two zoom to it.
import { isAtOpening, selected, selection, type Range } from "../state";
import { panned, RULER, widened, zoomed } from "./geometry";
import { hover, type Stage } from "./stage";

const DRAG_LEAST = 3, // pixels
  EDGE = 5,
  LINE_PIXELS = 16, // of a wheel that counts in lines
  TABLE_EVERY_MS = 100; // tables follow a selection that is being dragged

interface Drag {
  kind: "select" | "pan";
  x: number;
  anchor: number; // ns; the end of the selection that stays
  from: Range;
  before: Range | null; // what was selected
  moved: boolean;
}

const tracksOnly = (stage: Stage, event: PointerEvent) =>
  event.clientX - stage.canvas.getBoundingClientRect().left >= stage.side;

// If x is on an edge of the selection, the other edge, which stays.
function anchorOfEdge(stage: Stage, x: number): number | null {
  const range = selection.value;
  if (range === null) return null;
  const at = (time: number) => stage.side + (time - stage.shown.from) / stage.perPixel;
  if (Math.abs(at(range.to) - x) <= EDGE) return range.from;
  return Math.abs(at(range.from) - x) <= EDGE ? range.to : null;
}

class Pinch {
  private fingers = new Map<number, { x: number; y: number }>();
  private start: { range: Range; middle: number; distance: number } | null = null;
  get isOn() {
    return this.fingers.size >= 2;
  }
  private two() {
    const [a, b] = [...this.fingers.values()];
    return { middle: (a.x + b.x) / 2, distance: Math.max(20, Math.abs(a.x - b.x)) };
  }
  down(stage: Stage, event: PointerEvent) {
    this.fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    if (this.isOn) this.start = { range: stage.shown, ...this.two() };
  }
  move(stage: Stage, event: PointerEvent) {
    if (!this.fingers.has(event.pointerId)) return;
    this.fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    if (!this.isOn || this.start === null) return;
    const { range, middle, distance } = this.start,
      now = this.two(),
      left = stage.canvas.getBoundingClientRect().left + stage.side,
      share = (middle - left) / stage.width;
    const zoomedRange = zoomed(range, distance / now.distance, range.from + share * (range.to - range.from));
    stage.show(panned(zoomedRange, (middle - now.middle) / stage.width));
  }
  up(event: PointerEvent) {
    this.fingers.delete(event.pointerId);
    this.start = null;
  }
}

function onWheel(stage: Stage, event: WheelEvent) {
  const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE_PIXELS : 1,
    x = event.clientX - stage.canvas.getBoundingClientRect().left;
  if (event.ctrlKey || event.metaKey) {
    event.preventDefault();
    const delta = Math.max(-120, Math.min(120, event.deltaY * unit)), // a trackpad's pinch gives small ones
      speed = Math.abs(delta) < 30 ? 0.01 : 0.003;
    stage.zoom(Math.exp(delta * speed), stage.timeAt(Math.max(stage.side, x)));
  } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
    event.preventDefault();
    stage.pan(((event.deltaX || event.deltaY) * unit) / stage.width);
  }
}

export function pointerOn(stage: Stage): () => void {
  const { canvas } = stage,
    pinch = new Pinch();
  let drag: Drag | null = null,
    updated = 0;
  const xOf = (event: PointerEvent) => event.clientX - canvas.getBoundingClientRect().left;
  const onDown = (event: PointerEvent) => {
    if (event.button !== 0 || !tracksOnly(stage, event)) return;
    const isTouch = event.pointerType === "touch",
      anchor = anchorOfEdge(stage, xOf(event));
    if (isTouch) pinch.down(stage, event);
    drag = {
      kind: event.shiftKey || (isTouch && anchor === null) ? "pan" : "select",
      x: event.clientX,
      anchor: anchor ?? stage.timeAt(xOf(event)),
      from: stage.shown,
      before: selection.value,
      moved: false,
    };
    canvas.setPointerCapture(event.pointerId);
  };
  const select = (event: PointerEvent, isLast: boolean) => {
    const now = performance.now();
    if (!isLast && now - updated < TABLE_EVERY_MS) return;
    updated = now;
    const { from, to } = stage.whole,
      at = Math.max(Math.max(0, from), Math.min(to, stage.timeAt(xOf(event))));
    const range = { from: Math.min(at, drag!.anchor), to: Math.max(at, drag!.anchor) };
    selection.value = { from: Math.floor(range.from), to: Math.max(Math.ceil(range.to), Math.floor(range.from) + 1) };
  };
  const onMove = (event: PointerEvent) => {
    const x = xOf(event);
    stage.pointer = x;
    if (event.pointerType === "touch") pinch.move(stage, event);
    if (pinch.isOn) {
      drag = null;
      return;
    }
    if (drag === null) {
      const span = event.pointerType === "touch" ? -1 : stage.spanUnder(event);
      hover.value = span < 0 ? null : { span, x: event.clientX, y: event.clientY };
      const isEdge = x > stage.side && anchorOfEdge(stage, x) !== null;
      canvas.style.cursor = isEdge ? "ew-resize" : span >= 0 ? "pointer" : "";
      stage.later();
      return;
    }
    if (Math.abs(event.clientX - drag.x) > DRAG_LEAST) drag.moved = true;
    if (!drag.moved) return;
    hover.value = null;
    if (drag.kind === "pan") stage.show(panned(drag.from, (drag.x - event.clientX) / stage.width));
    else select(event, false);
  };
  const onUp = (event: PointerEvent) => {
    pinch.up(event);
    if (drag?.moved === true && drag.kind === "select") select(event, true);
    else if (drag?.moved === false) {
      const area = canvas.getBoundingClientRect(),
        observation = event.clientY - area.top < stage.head ? observationAt(stage, stage.timeAt(xOf(event))) : null;
      if (observation !== null && event.clientY - area.top > RULER) selection.value = observation;
      else {
        selected.value = stage.spanUnder(event);
        if (selected.value < 0) selection.value = null;
      }
    }
    drag = null;
  };
  const onCancel = (event: PointerEvent) => {
    pinch.up(event);
    drag = null;
  };
  // Escape cancels a drag.
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || drag?.moved !== true) return;
    if (drag.kind === "pan") stage.show(drag.from);
    else selection.value = drag.before;
    drag = null;
    event.stopPropagation();
  };
  const onDouble = (event: MouseEvent) => {
    const span = stage.spanUnder(event);
    if (span >= 0) zoomTo(stage, span);
  };
  const onLeave = () => {
    hover.value = null;
    stage.pointer = null;
    stage.later();
  };
  const listen: [string, (event: any) => void, AddEventListenerOptions?][] = [
    ["wheel", (event) => onWheel(stage, event), { passive: false }],
    ["pointerdown", onDown],
    ["pointermove", onMove],
    ["pointerup", onUp],
    ["pointercancel", onCancel],
    ["pointerleave", onLeave],
    ["dblclick", onDouble],
  ];
  for (const [type, handler, options] of listen) canvas.addEventListener(type, handler, options);
  addEventListener("keydown", onKey, { capture: true }); // before Escape clears it
  return () => {
    hover.value = null;
    removeEventListener("keydown", onKey, { capture: true });
    for (const [type, handler] of listen) canvas.removeEventListener(type, handler);
  };
}

export const rangeOf = (stage: Stage, span: number): Range => ({
  from: stage.data.start[span],
  to: stage.data.start[span] + Math.max(1, stage.data.duration[span]),
});
export const zoomTo = (stage: Stage, span: number) => stage.show(widened(rangeOf(stage, span), 0.1));

export function observationAt(stage: Stage, time: number): Range | null {
  const hit = stage.data.facts.observations.find(([start, duration]) => start <= time && time < start + duration);
  return hit === undefined ? null : { from: hit[0], to: hit[0] + hit[1] };
}

// The next (by = 1) or previous observation from the middle of what is in view, in full width.
export function toObservation(stage: Stage, by: 1 | -1) {
  const all = stage.data.facts.observations,
    { from, to } = stage.shown,
    middle = (from + to) / 2;
  const centre = ([start, duration]: [number, number, number]) => start + duration / 2,
    order = all.slice().sort((a, b) => centre(a) - centre(b)),
    slack = Math.max(1, (to - from) * 0.01); // the one in the middle is not the next one
  const next = isAtOpening()
    ? order[by === 1 ? 0 : order.length - 1]
    : by === 1
      ? order.find((one) => centre(one) > middle + slack)
      : order.reverse().find((one) => centre(one) < middle - slack);
  if (next !== undefined) stage.show(widened({ from: next[0], to: next[0] + Math.max(1, next[1]) }, 0.05));
}
