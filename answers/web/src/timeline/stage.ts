// SPDX-License-Identifier: Apache-2.0
// Shared by the timeline's parts that move it: canvas, scrolling box, range in view, requested frame. One stage per run
// and page shown.
import { signal } from "@preact/signals";
import type { Spans } from "../data";
import { matching } from "../find";
import { details, selected, selection, spans, view, type Range } from "../state";
import type { ArrowCount } from "./arrows";
import { found } from "./found";
import { clamp, headOf, panned, ROW, sideOf, wholeOf, zoomed } from "./geometry";
import { spanAt } from "./lane_draw";
import { linesIn, type Layout } from "./layout";
import { Motion } from "./motion";
import { Painter } from "./painter";
import { isFoundAgain } from "../windows";

const LEAST_VISIBLE = 120; // pixels of the tracks that must be visible when a span is selected elsewhere

export interface Hover {
  span: number;
  x: number; // in the window
  y: number;
}
export const hover = signal<Hover | null>(null);
export const arrowCount = signal<ArrowCount>({ drawn: 0, wanted: 0, isAtLeast: false });
export const areAllArrows = () => details.value["timeline.arrows"] === "all";
export const markAt = (): number | null => {
  const text = details.value["timeline.mark"];
  return text === undefined || text === "" ? null : Number(text);
};

export class Stage {
  whole: Range;
  readonly motion = new Motion();
  readonly head: number;
  pointer: number | null = null; // x on the canvas
  onScroll: ((top: number) => void) | null = null;
  private painter: Painter;
  private frame = 0;

  constructor(
    readonly canvas: HTMLCanvasElement,
    readonly box: HTMLElement,
    public data: Spans,
    whole: Spans, // the run's, where `data` is a window
    names: string[],
    public layout: Layout,
  ) {
    this.painter = new Painter(canvas, data, names);
    this.whole = wholeOf(whole);
    this.head = headOf(data);
  }

  // Other spans of the same run, which it draws from now on.
  take(data: Spans, whole: Spans, names: string[], layout: Layout) {
    if (data !== this.data) hover.value = null; // a place in other spans
    this.data = data;
    this.whole = wholeOf(whole);
    this.layout = layout;
    this.painter.take(data, names);
    this.later();
  }

  get side() {
    return sideOf(this.canvas.clientWidth);
  }
  get width() {
    return Math.max(1, this.canvas.clientWidth - this.side);
  }
  get shown(): Range {
    return view.value ?? this.whole;
  }
  show(range: Range) {
    const next = clamp(range, this.whole);
    view.value = next.to - next.from >= this.whole.to - this.whole.from ? null : next;
  }
  timeAt(x: number) {
    const { from, to } = this.shown;
    return from + ((x - this.side) / this.width) * (to - from);
  }
  get perPixel() {
    return (this.shown.to - this.shown.from) / this.width;
  }
  // Where keys zoom: at the pointer while it is over the tracks, else in the middle.
  get focusTime() {
    const x = this.pointer;
    return this.timeAt(x === null || x < this.side ? this.side + this.width / 2 : x);
  }
  zoom(factor: number, at: number) {
    this.show(zoomed(this.shown, factor, at));
  }
  pan(share: number) {
    this.show(panned(this.shown, share));
  }

  spanUnder(event: { clientX: number; clientY: number }): number {
    const area = this.canvas.getBoundingClientRect(),
      x = event.clientX - area.left,
      y = event.clientY - area.top,
      split = this.head + this.layout.pinnedHeight;
    if (x < this.side || y < this.head) return -1;
    const lines =
      y < split
        ? linesIn(this.layout.pinned, y, y + 1)
        : linesIn(this.layout.lines, y + this.box.scrollTop, y + this.box.scrollTop + 1);
    for (const line of lines.reverse()) {
      const span = spanAt(this.data, line.first, line.first + line.count, this.timeAt(x), this.perPixel * 2);
      if (span >= 0) return span;
    }
    return -1;
  }

  // Brings the span into view, as far as its track is shown.
  reveal(span: number) {
    const { from, to } = this.shown,
      start = this.data.start[span],
      end = start + this.data.duration[span];
    if (end <= from || start >= to) {
      const middle = (start + end) / 2,
        half = Math.max((to - from) / 2, (end - start) * 0.6);
      this.show({ from: middle - half, to: middle + half });
    }
    const { top, bottom } = this.box.getBoundingClientRect();
    if (bottom < LEAST_VISIBLE || top > innerHeight - LEAST_VISIBLE) this.box.scrollIntoView({ block: "center" });
    const line = this.layout.lineOf[this.data.row[span]];
    if (line === undefined || this.layout.isPinnedRow[line.row] === 1) return;
    const { box } = this,
      split = this.head + this.layout.pinnedHeight;
    if (line.top < box.scrollTop + split || line.top + ROW > box.scrollTop + box.clientHeight)
      box.scrollTop = line.top - split - (box.clientHeight - split) / 2;
  }

  readonly later = () => {
    if (this.frame === 0) this.frame = requestAnimationFrame(this.paint);
  };
  private readonly paint = () => {
    const now = performance.now();
    this.frame = 0;
    if (this.motion.isMoving) {
      this.show(this.motion.step(this.shown, this.focusTime, now));
      this.later();
    }
    const { box, layout } = this,
      top = box.scrollTop,
      split = this.head + layout.pinnedHeight;
    const arrows = this.painter.paint(layout, this.shown, top, box.clientHeight, matching.value, {
      selection: selection.value,
      selected: selected.value,
      hovered: hover.value?.span ?? -1,
      mark: markAt(),
      pointer: this.pointer !== null && this.pointer >= this.side ? this.timeAt(this.pointer) : null,
      areAllArrows: areAllArrows(),
      found: found.value,
      visible: [...layout.pinned, ...linesIn(layout.lines, top + split, top + box.clientHeight)],
    });
    this.onScroll?.(top);
    performance.measure("xsp-frame", { start: now, end: performance.now() });
    const before = arrowCount.value;
    if (before.drawn !== arrows.drawn || before.wanted !== arrows.wanted) arrowCount.value = arrows;
  };
  readonly repaint = () => {
    this.painter.forget();
    this.later();
  };

  start(): () => void {
    const stops = [view, selection, matching, hover, details, spans, found].map((signal_) =>
      signal_.subscribe(this.later),
    );
    stops.push(
      selected.subscribe((span) => {
        if (span >= 0 && span < this.data.count && !isFoundAgain()) this.reveal(span);
        this.later();
      }),
    );
    stops.push(view.subscribe(() => (hover.value = null))); // the span under the pointer has moved
    const resized = new ResizeObserver(this.later);
    resized.observe(this.box);
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    this.box.addEventListener("scroll", this.later);
    addEventListener("xsp-theme", this.repaint);
    scheme.addEventListener("change", this.repaint);
    this.later();
    return () => {
      cancelAnimationFrame(this.frame);
      stops.forEach((stop) => stop());
      resized.disconnect();
      this.box.removeEventListener("scroll", this.later);
      removeEventListener("xsp-theme", this.repaint);
      scheme.removeEventListener("change", this.repaint);
    };
  }
}
