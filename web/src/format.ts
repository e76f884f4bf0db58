// SPDX-License-Identifier: Apache-2.0
// Rounded figures; a cell's title and copied text have the exact value. All values of a column have one unit and the
// same decimals.
import type { Cell } from "./data";

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
  const magnitude = magnitudeOf(value);
  if (magnitude >= 15 || magnitude < -9) return value.toExponential(significant - 1);
  if (magnitude >= significant - 1) return fixed(value, 0);
  return trim(value.toFixed(Math.min(12, Math.max(0, significant - 1 - magnitude))));
}

type Prefix = [factor: number, unit: string];
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

const LABELS: Record<string, string> = {
  latency_ms: "latency",
  layer_index: "#",
  layer_name: "layer",
  layer_type: "type",
  layer_shape: "shape",
  kernel_name: "kernel",
  alloc_bytes: "allocated",
  batch_size: "batch",
  throughput_per_s: "throughput",
  n: "n",
  min_ms: "min",
  max_ms: "max",
  cv_pct: "cv",
  occurrence_ms: "where present",
  metric_coverage_pct: "metrics cover",
  dram_read_bytes: "DRAM read",
  dram_write_bytes: "DRAM written",
  achieved_occupancy_pct: "occupancy",
  arithmetic_intensity: "intensity",
  arithmetic_throughput_flops_per_s: "arithmetic throughput",
  own_pct: "xsp's own share",
  gpu_latency_ms: "GPU latency",
  non_gpu_latency_ms: "non-GPU latency",
  dram_bytes: "DRAM, both",
  analytic_flops: "analytic flops",
  analytic_bytes: "analytic bytes",
  analytic_throughput_flops_per_s: "analytic throughput",
};
export function label(key: string): string {
  return LABELS[key] ?? key.replace(/_(ms|ns|pct|bytes|per_s|flops)$/, "").replaceAll("_", " ");
}

// The unit in a key's suffix, and its usual prefixes.
function unitOf(key: string): { prefixes: Prefix[]; unit: string } | null {
  if (key.endsWith("_ms")) return { prefixes: TIMES_OF_MS, unit: "" };
  if (key.endsWith("_ns")) return { prefixes: TIMES, unit: "" };
  if (key.endsWith("_pct")) return { prefixes: PERCENT, unit: "" };
  if (key.endsWith("_bytes_per_s")) return { prefixes: PREFIXES, unit: "B/s" };
  if (key.endsWith("_bytes")) return { prefixes: BYTES, unit: "" };
  if (key.endsWith("flops_per_s")) return { prefixes: PREFIXES, unit: "flop/s" };
  if (key.endsWith("flops")) return { prefixes: PREFIXES, unit: "flop" };
  if (key.endsWith("_per_s")) return { prefixes: [[1, "/s"]], unit: "" };
  if (key.endsWith("_intensity")) return { prefixes: [[1, ""]], unit: "flop/B" };
  return null;
}

export function cell(key: string, value: Cell): string {
  if (value === null || value === undefined) return "–";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "string") return value;
  const known = unitOf(key);
  if (known === null) return Number.isInteger(value) ? count(value) : digits(value);
  const [factor, prefix] = prefixOf(known.prefixes, value);
  return `${digits(value / factor, prefix === "%" ? 3 : 4)} ${prefix}${known.unit}`.trimEnd();
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
function formatOf(key: string, values: Cell[]): ColumnFormat {
  const sizes = values
    .filter(isNumber)
    .filter((value) => value !== 0)
    .map(Math.abs)
    .sort((a, b) => a - b);
  const most = sizes[sizes.length - 1] ?? 0,
    common = sizes[sizes.length >> 1] ?? 1,
    known = unitOf(key);
  // Small enough for the common values: one long span does not make microseconds 0.00004 s.
  const [factor, prefix] = known === null ? [1, ""] : prefixOf(known.prefixes, Math.min(most, common * COMMON_LEAST));
  const isWhole = factor === 1 && sizes.every(Number.isInteger);
  const wanted = SHOWN_LEAST - 1 - magnitudeOf(common / factor);
  const decimals = isWhole ? 0 : prefix === "%" ? 2 : Math.min(DECIMALS_MOST, Math.max(1, wanted));
  const least = 0.5 * 10 ** -decimals;
  return {
    unit: known === null ? "" : `${prefix}${known.unit}`,
    show: (value) => {
      if (!isNumber(value)) return cell(key, value);
      if (value === 0) return "0";
      // Too small for the decimals: a value above 0 is not shown as 0.
      return Math.abs(value / factor) < least ? digits(value / factor, 1) : fixed(value / factor, decimals);
    },
  };
}
// Columns of one unit are shown alike: latency, min and max can be compared across.
export function columnFormats(keys: string[], values: Cell[][]): ColumnFormat[] {
  const pools = new Map<string, Cell[]>();
  const poolOf = keys.map((key) => {
    const known = unitOf(key);
    // starts have another scale than durations
    return known === null || known.prefixes === PREFIXES || key === "start_ns" ? key : JSON.stringify(known);
  });
  poolOf.forEach((pool, c) => pools.set(pool, (pools.get(pool) ?? []).concat(values[c])));
  const made = new Map<string, ColumnFormat>();
  return keys.map((key, c) => {
    const pool = poolOf[c];
    if (!made.has(pool)) made.set(pool, formatOf(key, pools.get(pool)!));
    return made.get(pool)!;
  });
}
