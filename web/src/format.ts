// SPDX-License-Identifier: Apache-2.0
// Figures as people read them; the exact value stands in the title of each cell and in what is copied.
import type { Cell } from "./data";

const trim = (text: string) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
export function digits(value: number, significant = 4): string {
  if (value === 0) return "0";
  if (!Number.isFinite(value)) return String(value);
  const magnitude = Math.floor(Math.log10(Math.abs(value)));
  if (magnitude >= significant - 1) return Math.round(value).toLocaleString("en-US");
  return trim(value.toFixed(Math.min(12, Math.max(0, significant - 1 - magnitude))));
}
export function time(ns: number, significant = 4): string {
  const size = Math.abs(ns);
  if (size >= 1e9) return `${digits(ns / 1e9, significant)} s`;
  if (size >= 1e6) return `${digits(ns / 1e6, significant)} ms`;
  if (size >= 1e3) return `${digits(ns / 1e3, significant)} µs`;
  return `${digits(ns, significant)} ns`;
}
const PREFIXES: [number, string][] = [
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
];
export function scaled(value: number, unit: string): string {
  for (const [factor, prefix] of PREFIXES)
    if (Math.abs(value) >= factor) return `${digits(value / factor)} ${prefix}${unit}`;
  return `${digits(value)} ${unit}`;
}
export function bytes(value: number): string {
  for (const [factor, unit] of [
    [2 ** 30, "GiB"],
    [2 ** 20, "MiB"],
    [2 ** 10, "KiB"],
  ] as [number, string][])
    if (Math.abs(value) >= factor) return `${digits(value / factor)} ${unit}`;
  return `${digits(value)} B`;
}
export const count = (value: number) => value.toLocaleString("en-US");
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
  dram_read_bytes: "DRAM read",
  dram_write_bytes: "DRAM written",
  achieved_occupancy_pct: "occupancy",
  arithmetic_intensity: "intensity",
  arithmetic_throughput_flops_per_s: "arithmetic throughput",
  own_pct: "xsp's own share",
};
export function label(key: string): string {
  return LABELS[key] ?? key.replace(/_(ms|ns|pct|bytes|per_s|flops)$/, "").replaceAll("_", " ");
}
export function cell(key: string, value: Cell): string {
  if (value === null || value === undefined) return "–";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "string") return value;
  if (key.endsWith("_ms")) return `${digits(value)} ms`;
  if (key.endsWith("_ns")) return time(value);
  if (key.endsWith("_pct")) return `${digits(value, 3)} %`;
  if (key.endsWith("_bytes_per_s")) return scaled(value, "B/s");
  if (key.endsWith("_bytes")) return bytes(value);
  if (key.endsWith("flops_per_s")) return scaled(value, "flop/s");
  if (key.endsWith("flops")) return scaled(value, "flop");
  if (key.endsWith("_per_s")) return `${digits(value)} /s`;
  return Number.isInteger(value) ? count(value) : digits(value);
}
