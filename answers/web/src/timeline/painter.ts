// SPDX-License-Identifier: Apache-2.0
// A frame of the timeline: rows of spans as lines of one image, names on wide ones, then marks. A frame's allocations
// depend on the number of rows in view.
import { countOf, busyOf, type Spans } from "../data";
import { count, digits } from "../format";
import type { Range } from "../state";
import { paintArrows, type ArrowCount } from "./arrows";
import { headOf, sideOf } from "./geometry";
import { Inks, hitsBefore } from "./inks";
import { drawRow, type Label } from "./lane_draw";
import { linesIn, type Layout, type Line } from "./layout";
import { paintMarks, type Marks } from "./marks";
import { paintGrid, paintRuler } from "./ruler";

const LEAST_LABEL = 30,
  LEAST_HATCHED = 9,
  MEASURED_AGAIN = 200, // letters
  LABELS_MOST = 900; // of one frame: text costs more than all the rest

// A frame's contents and positions, shared by everything painted over the rows.
export interface Frame {
  data: Spans;
  layout: Layout;
  inks: Inks;
  context: CanvasRenderingContext2D;
  range: Range;
  side: number;
  head: number;
  width: number; // of the tracks, without the side
  height: number;
  scrollTop: number;
  x: (at: number) => number;
  yOf: (line: Line) => number; // its top on the canvas
}

export class Painter {
  private image = document.createElement("canvas");
  private pixels = new Uint32Array(0);
  private imageData: ImageData | null = null;
  private labels: Label[] = [];
  private labelLines: Line[] = [];
  private inks: Inks | null = null;
  private hits: Uint8Array | null = null; // by name, of the search, else by place, of the finding
  private isHit: ((span: number) => boolean) | null = null;
  private before: Uint32Array | null = null;
  private widths: Float32Array; // of names, 0: not measured yet
  private ellipsis = 0;
  private hatching: CanvasPattern | null = null;
  constructor(
    private canvas: HTMLCanvasElement,
    private data: Spans,
    private names: string[],
  ) {
    this.widths = new Float32Array(names.length);
  }

  take(data: Spans, names: string[]) {
    if (names !== this.names) {
      this.widths = new Float32Array(names.length);
      this.inks = null;
    }
    if (data !== this.data) this.hits = this.isHit = this.before = null;
    this.data = data;
    this.names = names;
  }

  // Spans that are not faded: those that the search finds, else those of the finding.
  private takeHits(byName: Uint8Array | null, { found }: Marks) {
    const byPlace = found !== null && found.data === this.data && found.from.length > 0 ? found.isIt : null,
      hits = byName ?? byPlace,
      { name } = this.data;
    if (hits === this.hits) return;
    this.hits = hits;
    this.isHit = hits === null ? null : hits === byName ? (i) => hits[name[i]] === 1 : (i) => hits[i] === 1;
    this.before = this.isHit === null ? null : hitsBefore(this.data, this.isHit);
  }

  // The theme changed: compute all colours again.
  forget() {
    this.inks = this.hatching = null;
  }

  paint(
    layout: Layout,
    range: Range,
    scrollTop: number,
    height: number,
    hits: Uint8Array | null,
    marks: Marks,
  ): ArrowCount {
    const { canvas, data } = this,
      ratio = devicePixelRatio || 1,
      full = canvas.clientWidth,
      side = sideOf(full),
      width = Math.max(1, full - side),
      context = canvas.getContext("2d", { alpha: false })!;
    if (canvas.width !== Math.round(full * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(full * ratio);
      canvas.height = Math.round(height * ratio);
    }
    this.inks ??= new Inks(canvas, this.names.length);
    this.takeHits(hits, marks);
    const head = headOf(data),
      split = head + layout.pinnedHeight;
    const frame: Frame = {
      data,
      layout,
      inks: this.inks,
      context,
      range,
      side,
      head,
      width,
      height,
      scrollTop,
      x: (at) => side + ((at - range.from) / (range.to - range.from)) * width,
      yOf: (line) => (layout.isPinnedRow[line.row] === 1 ? line.top : line.top - scrollTop),
    };
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = this.inks.surface;
    context.fillRect(0, 0, full, height);
    paintGrid(frame);
    this.paintRows(frame, linesIn(layout.lines, scrollTop + split, scrollTop + height), ratio);
    if (layout.pinned.length > 0) {
      context.fillStyle = this.inks.raised;
      context.fillRect(0, head, full, layout.pinnedHeight);
      this.paintRows(frame, layout.pinned, ratio);
    }
    paintRuler(frame, marks);
    const arrows = paintArrows(frame, marks);
    paintMarks(frame, marks);
    if (layout.pinned.length > 0) {
      context.fillStyle = this.inks.quiet;
      context.fillRect(0, split - 1, full, 1);
    }
    return arrows;
  }

  private paintRows(frame: Frame, lines: Line[], ratio: number) {
    if (lines.length === 0) return;
    const { context, range, side, width } = frame,
      wide = Math.max(1, Math.round(width * ratio));
    if (this.imageData === null || this.image.width !== wide || this.imageData.height < lines.length) {
      this.image.width = wide;
      this.image.height = Math.max(lines.length, 32);
      this.pixels = new Uint32Array(wide * this.image.height);
      const bytes = new Uint8ClampedArray(this.pixels.buffer as ArrayBuffer);
      this.imageData = new ImageData(bytes, wide, this.image.height);
    }
    this.pixels.fill(0, 0, wide * lines.length);
    const pixelOf = frame.inks.of(this.data, this.isHit),
      { labels, labelLines } = this;
    const least = (this.data.merged === null ? LEAST_LABEL : LEAST_HATCHED) * ratio;
    labels.length = labelLines.length = 0;
    lines.forEach((line, n) => {
      const { first, count: spans } = line,
        leastLabel = line.height < 12 ? Infinity : least;
      drawRow(
        this.data,
        first,
        first + spans,
        range.from,
        range.to,
        wide,
        pixelOf,
        this.pixels,
        n * wide,
        leastLabel,
        labels,
        this.before,
      );
      while (labelLines.length < labels.length) labelLines.push(line);
    });
    this.image.getContext("2d")!.putImageData(this.imageData, 0, 0, 0, 0, wide, lines.length);
    context.imageSmoothingEnabled = false;
    lines.forEach((line, n) => context.drawImage(this.image, 0, n, wide, 1, side, frame.yOf(line), width, line.height));
    this.paintLabels(frame, pixelOf, ratio);
  }

  // Stripes over merged rectangles.
  private hatch(context: CanvasRenderingContext2D): CanvasPattern {
    if (this.hatching === null) {
      const tile = document.createElement("canvas");
      tile.width = tile.height = 6;
      const inner = tile.getContext("2d")!;
      inner.strokeStyle = this.inks!.line;
      inner.globalAlpha = 0.22;
      inner.lineWidth = 1.2;
      for (const shift of [-6, 0, 6]) {
        inner.moveTo(shift, 6);
        inner.lineTo(shift + 6, 0);
      }
      inner.stroke();
      this.hatching = context.createPattern(tile, "repeat")!;
    }
    return this.hatching;
  }

  private paintLabels(frame: Frame, pixelOf: (span: number) => number, ratio: number) {
    const { context, side } = frame,
      { labels, data } = this,
      least = labels.length > LABELS_MOST ? 2 * LEAST_LABEL : LEAST_LABEL; // names in the narrowest are letters at best
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    let color = "";
    labels.forEach(({ x0, x1, span }, i) => {
      const line = this.labelLines[i],
        left = side + x0 / ratio,
        wide = (x1 - x0) / ratio,
        top = frame.yOf(line),
        together = countOf(data, span);
      if (together > 1) {
        context.fillStyle = this.hatch(context);
        context.fillRect(left, top, wide - 1, line.height);
        color = "";
      }
      if (wide < least) return;
      const wanted = frame.inks.textOn(pixelOf(span));
      if (wanted !== color) context.fillStyle = color = wanted;
      const text =
        together > 1
          ? this.mergedText(context, span, together, wide - 8)
          : this.nameIn(context, data.name[span], wide - 8);
      if (text !== "") context.fillText(text, left + 4, top + line.height / 2 + 0.5);
    });
  }

  private mergedText(context: CanvasRenderingContext2D, span: number, together: number, room: number): string {
    const share = digits((100 * busyOf(this.data, span)) / Math.max(1, this.data.duration[span]), 2);
    const all = [`${count(together)} spans, ${share} % busy`, `${count(together)} spans`, count(together)];
    return all.find((text) => context.measureText(text).width <= room) ?? "";
  }

  // The name, cut to the room: each is measured once only, that costs more than drawing.
  private nameIn(context: CanvasRenderingContext2D, name: number, room: number): string {
    const text = this.names[name];
    if (this.widths[name] === 0) this.widths[name] = context.measureText(text).width;
    if (this.widths[name] <= room) return text;
    if (this.ellipsis === 0) this.ellipsis = context.measureText("…").width;
    const fits = Math.floor(((room - this.ellipsis) / this.widths[name]) * text.length);
    if (fits <= 2) return "";
    const cut = `${text.slice(0, fits).replace(/[\ud800-\udbff]$/, "")}…`,
      wide = text.length > MEASURED_AGAIN ? context.measureText(cut).width : 0; // a long name's letters may vary a lot
    return wide <= room ? cut : `${text.slice(0, Math.floor((fits * room) / wide) - 1)}…`;
  }
}
