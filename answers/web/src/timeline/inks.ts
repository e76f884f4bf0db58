// SPDX-License-Identifier: Apache-2.0
// Colours of the timeline, computed once per theme, not per frame: a pixel for each level and name, lighter for merged
// rectangles, faded for spans that do not match the search.
import { palette } from "../colors";
import { LEVELS, type Spans } from "../data";

const MERGED_SHARE = 0.55; // of its colour that a merged rectangle keeps

const channels = (pixel: number) => [pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255];
function mix(pixel: number, other: number, share: number): number {
  const a = channels(pixel),
    b = channels(other);
  const [red, green, blue] = a.map((value, i) => Math.round(value * share + b[i] * (1 - share)));
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}
// By WCAG's formula.
function luminance(pixel: number): number {
  const [red, green, blue] = channels(pixel).map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
function parse(color: string): number {
  const context = document.createElement("canvas").getContext("2d")!;
  context.fillStyle = color;
  context.fillRect(0, 0, 1, 1);
  const [red, green, blue] = context.getImageData(0, 0, 1, 1).data;
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

export class Inks {
  readonly surface: string;
  readonly raised: string;
  readonly text: string;
  readonly quiet: string;
  readonly rule: string;
  readonly accent: string;
  readonly line: string;
  readonly finding: string;
  private whole: Uint32Array; // by name and level
  private merged: Uint32Array;
  private faded: Uint32Array; // by level

  constructor(element: Element, names: number) {
    const style = getComputedStyle(element),
      colors = palette(),
      value = (name: string) => style.getPropertyValue(name).trim();
    this.surface = value("--surface");
    this.raised = value("--raised");
    this.text = value("--text");
    this.quiet = value("--quiet");
    this.rule = value("--rule");
    this.accent = value("--accent");
    this.line = colors.line;
    this.finding = value("--warn");
    const back = parse(this.surface);
    this.whole = new Uint32Array(names * 8);
    this.merged = new Uint32Array(names * 8);
    const lighter = new Map<number, number>();
    for (let name = 0; name < names; name++)
      for (let level = 0; level < LEVELS.length; level++) {
        const pixel = colors.of(level, name);
        this.whole[name * 8 + level] = pixel;
        if (!lighter.has(pixel)) lighter.set(pixel, mix(pixel, back, MERGED_SHARE));
        this.merged[name * 8 + level] = lighter.get(pixel)!;
      }
    this.faded = Uint32Array.from(LEVELS, (_, level) => colors.faded(level));
  }

  // The pixel of a span, by place. Spans that are not among the hits are faded.
  of(data: Spans, isHit: ((span: number) => boolean) | null): (span: number) => number {
    const { whole, merged, faded } = this,
      { name, attributes } = data,
      counts = data.merged;
    const pixel =
      counts === null
        ? (i: number) => whole[name[i] * 8 + (attributes[i] & 7)]
        : (i: number) => (counts[i] > 1 ? merged : whole)[name[i] * 8 + (attributes[i] & 7)];
    return isHit === null ? pixel : (i) => (isHit(i) ? pixel(i) : faded[attributes[i] & 7]);
  }

  private readonly onPixel = new Map<number, string>();
  // Black or white, whichever contrasts more.
  textOn(pixel: number): string {
    let color = this.onPixel.get(pixel);
    if (color === undefined) {
      const light = luminance(pixel);
      color = 1.05 / (light + 0.05) >= (light + 0.05) / 0.05 ? "#ffffff" : "#10141a";
      this.onPixel.set(pixel, color);
    }
    return color;
  }
}

// Hits before each place: one more value than there are spans.
export function hitsBefore(data: Spans, isHit: (span: number) => boolean): Uint32Array {
  const before = new Uint32Array(data.count + 1);
  for (let i = 0; i < data.count; i++) before[i + 1] = before[i] + Number(isHit(i));
  return before;
}
