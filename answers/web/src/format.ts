// SPDX-License-Identifier: Apache-2.0
// Rounded figures; a cell's title and copied text have the exact value. All values of a column have one unit and the
// same decimals.
import type { Cell, Units } from "./data";

// 12,345.60. Intl.NumberFormat takes 10 ms to start.
function fixed(value: number, decimals: number): string {
  const [whole, rest] = value.toFixed(decimals).split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return rest === undefined ? grouped : `${grouped}.${rest}`;
}
const trim = (text: string) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
const magnitudeOf = (value: number) => Math.floor(Math.log10(Math.abs(value)));

export function digits(value: number, significant = 4): string {
  if (value === 0) return "0";
  if (!Number.isFinite(value)) return String(value);
  const magnitude = magnitudeOf(Number(value.toPrecision(significant))); // 999.96 is 1,000
  if (magnitude >= 15 || magnitude < -9) return value.toExponential(significant - 1);
  if (magnitude >= significant - 1) return fixed(value, 0);
  return trim(value.toFixed(Math.min(12, Math.max(0, significant - 1 - magnitude))));
}

export type Prefix = [factor: number, unit: string];
const TIMES: Prefix[] = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
  [1, "ns"],
];
const TIMES_OF_MS: Prefix[] = TIMES.map(([factor, unit]) => [factor / 1e6, unit]);
const PREFIXES: Prefix[] = [
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
  [1, ""],
];
const PERCENT: Prefix[] = [[1, "%"]];
const BYTES: Prefix[] = [
  [1e12, "TB"],
  [1e9, "GB"],
  [1e6, "MB"],
  [1e3, "kB"],
  [1, "B"],
];
// The largest that leaves at least 1 before the point, also after rounding: 999.99 µs is 1 ms.
function prefixOf(prefixes: Prefix[], value: number, significant = 4): Prefix {
  const size = Number(Math.abs(value).toPrecision(significant));
  return prefixes.find(([factor]) => size >= factor) ?? prefixes[prefixes.length - 1];
}

export function time(ns: number, significant = 4): string {
  const [factor, unit] = prefixOf(TIMES, ns, significant);
  return `${digits(ns / factor, significant)} ${unit}`;
}
export function scaled(value: number, unit: string): string {
  const [factor, prefix] = prefixOf(PREFIXES, value);
  return `${digits(value / factor)} ${prefix}${unit}`;
}
export function bytes(value: number): string {
  const [factor, unit] = prefixOf(BYTES, value);
  return `${digits(value / factor)} ${unit}`;
}
export const count = (value: number) => fixed(value, 0);
// "trimmed:0.2" in words; other statistics as they are.
export function statisticWords(statistic: string): string {
  const share = Number(/^trimmed:([\d.]+)$/.exec(statistic)?.[1] ?? NaN);
  return Number.isNaN(share)
    ? statistic
    : `mean without the fastest and the slowest ${digits(100 * share)} % of observations`;
}
export const plural = (value: number, word: string) => `${count(value)} ${word}${value === 1 ? "" : "s"}`;

const PREFIXED: Record<string, { prefixes: Prefix[]; unit: string }> = {
  ms: { prefixes: TIMES_OF_MS, unit: "" },
  ns: { prefixes: TIMES, unit: "" },
  "%": { prefixes: PERCENT, unit: "" },
  bytes: { prefixes: BYTES, unit: "" },
  "bytes/s": { prefixes: PREFIXES, unit: "B/s" },
  flops: { prefixes: PREFIXES, unit: "flop" },
  "flops/s": { prefixes: PREFIXES, unit: "flop/s" },
  "flops/byte": { prefixes: [[1, ""]], unit: "flop/B" },
  ops: { prefixes: PREFIXES, unit: "op" },
  "1/s": { prefixes: [[1, "/s"]], unit: "" },
};
let known: Units = { keys: {}, endings: [] };
export const setUnits = (units: Units) => (known = units);
export const unitOfKey = (key: string): string =>
  known.keys[key] ?? known.endings.find(([ending]) => key.length > ending.length && key.endsWith(ending))?.[1] ?? "";
// Its usual prefixes; null: it has no unit.
export function prefixedUnit(unit: string): { prefixes: Prefix[]; unit: string } | null {
  return unit === "" ? null : (PREFIXED[unit] ?? { prefixes: [[1, ""]], unit });
}

export function cell(key: string, value: Cell): string {
  if (value === null || value === undefined) return "–";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "string") return value;
  const unit = prefixedUnit(unitOfKey(key));
  if (unit === null) return Number.isInteger(value) ? count(value) : digits(value);
  const [factor, prefix] = prefixOf(unit.prefixes, value);
  return `${digits(value / factor, prefix === "%" ? 3 : 4)} ${prefix}${unit.unit}`.trimEnd();
}

export interface ColumnFormat {
  unit: string; // for the head; "": none
  show: (value: Cell) => string;
}
const DECIMALS_MOST = 6;
const COMMON_LEAST = 10; // the value in the middle is at least a tenth of the unit
const SHOWN_LEAST = 3; // significant digits of the value in the middle
const isNumber = (value: Cell): value is number => typeof value === "number" && Number.isFinite(value);
// One unit and one number of decimals, by the largest value and by the one in the middle.
function formatOf({ key, unit: name }: Formatted, values: Cell[]): ColumnFormat {
  const sizes = values
    .filter(isNumber)
    .filter((value) => value !== 0)
    .map(Math.abs)
    .sort((a, b) => a - b);
  const most = sizes[sizes.length - 1] ?? 0,
    common = sizes[sizes.length >> 1] ?? 1,
    unit = prefixedUnit(name ?? unitOfKey(key));
  // Small enough for the common values: one long span does not make microseconds 0.00004 s.
  const [factor, prefix] = unit === null ? [1, ""] : prefixOf(unit.prefixes, Math.min(most, common * COMMON_LEAST));
  const isWhole = factor === 1 && sizes.every(Number.isInteger);
  const wanted = SHOWN_LEAST - 1 - magnitudeOf(common / factor);
  const decimals = isWhole ? 0 : prefix === "%" ? 2 : Math.min(DECIMALS_MOST, Math.max(1, wanted));
  const least = 0.5 * 10 ** -decimals;
  return {
    unit: unit === null ? "" : `${prefix}${unit.unit}`,
    show: (value) => {
      if (!isNumber(value)) return cell(key, value);
      if (value === 0) return "0";
      // Too small for the decimals: a value above 0 is not shown as 0.
      return Math.abs(value / factor) < least ? digits(value / factor, 1) : fixed(value / factor, decimals);
    },
  };
}
interface Formatted {
  key: string;
  unit?: string; // else by the key
}
// Columns of one unit are shown alike: latency, min and max can be compared across.
export function columnFormats(columns: Formatted[], values: Cell[][]): ColumnFormat[] {
  const pools = new Map<string, Cell[]>();
  const poolOf = columns.map(({ key, unit: name }) => {
    const unit = prefixedUnit(name ?? unitOfKey(key));
    // starts have another scale than durations
    return unit === null || unit.prefixes === PREFIXES || key === "start_ns" ? key : JSON.stringify(unit);
  });
  poolOf.forEach((pool, c) => pools.set(pool, (pools.get(pool) ?? []).concat(values[c])));
  const made = new Map<string, ColumnFormat>();
  return columns.map((column, c) => {
    const pool = poolOf[c];
    if (!made.has(pool)) made.set(pool, formatOf(column, pools.get(pool)!));
    return made.get(pool)!;
  });
}
