// SPDX-License-Identifier: Apache-2.0
// Axes of the charts: ticks at round values, one unit for a whole axis, and colours as the style sheet has them now.
// Pure: any value of a trace (null, huge, negative) gives finite ends and a bounded number of ticks.
import { digits, prefixedUnit, unitOfKey } from "../format";

export interface Axis {
  label: string;
  key?: string; // of the values, as in analyses ("latency_ms"): gives the unit
  log?: boolean; // by powers of two
  hasNoZero?: boolean; // the axis begins at the least value
  format?: (value: number) => string;
}
export interface Colors {
  text: string;
  quiet: string;
  rule: string;
  raised: string;
  accent: string;
  range: string;
  levels: string[];
}

export function colorsOf(element: Element): Colors {
  const style = getComputedStyle(element),
    of = (name: string) => style.getPropertyValue(`--${name}`).trim();
  return {
    text: of("text"),
    quiet: of("quiet"),
    rule: of("rule"),
    raised: of("raised"),
    accent: of("accent"),
    range: of("range"),
    levels: [0, 1, 2, 3, 4].map((level) => of(`level-${level}`)),
  };
}

const LARGEST = 1e300; // beyond, differences overflow
export const isDrawable = (value: number | null | undefined): value is number =>
  typeof value === "number" && Number.isFinite(value) && Math.abs(value) < LARGEST;

const SHORT = (value: number) =>
  Math.abs(value) >= 1e15 || (value !== 0 && Math.abs(value) < 1e-9) ? value.toExponential(1) : digits(value, 4);

// One unit for the axis, chosen by its largest value: "latency, µs".
export function unitOf(axis: Axis, most: number): { label: string; format: (value: number) => string } {
  if (axis.format !== undefined) return { label: axis.label, format: axis.format };
  const unit = axis.key === undefined ? null : prefixedUnit(unitOfKey(axis.key));
  if (unit === null) return { label: axis.label, format: SHORT };
  const [factor, prefix] = unit.prefixes.find(([size]) => Math.abs(most) >= size) ?? unit.prefixes.at(-1)!;
  return {
    label: [axis.label, `${prefix}${unit.unit}`].filter((part) => part !== "").join(", "),
    format: (value) => SHORT(value / factor),
  };
}

// Multiples of 1, 2 or 5 times a power of ten within [low, high].
export function niceTicks(low: number, high: number, most: number): number[] {
  if (!(high > low) || most < 1) return [low];
  const raw = (high - low) / most,
    magnitude = 10 ** Math.floor(Math.log10(raw)),
    step = magnitude * ([1, 2, 5].find((n) => n * magnitude >= raw * 0.999) ?? 10);
  const first = Math.ceil(low / step - 1e-9),
    count = Math.min(200, Math.floor(high / step + 1e-9) - first + 1);
  return Array.from({ length: Math.max(0, count) }, (_, i) => (first + i) * step);
}
export function powersOfTwo(low: number, high: number, most: number): number[] {
  const first = Math.ceil(Math.log2(low) - 1e-9),
    last = Math.floor(Math.log2(high) + 1e-9),
    every = Math.max(1, Math.ceil((last - first + 1) / Math.max(1, most)));
  const ticks = [];
  for (let power = first; power <= last && ticks.length < 200; power += every) ticks.push(2 ** power);
  return ticks;
}
