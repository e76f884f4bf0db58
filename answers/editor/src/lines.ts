// SPDX-License-Identifier: Apache-2.0
// Times of source lines, from the call paths of a profile. Pure: the rows come from `xsp sql`.

export const PATHS_SQL =
  "select context_id, parent_id, kind, name, file, line from context join frame using (frame_id) order by context_id";
export const METRICS_SQL =
  "select run_id, levels, context_id, metric, exclusive_sum from context_metric join run using (run_id) " +
  "where metric in ('host_ns', 'device_ns') and exclusive_sum > 0";

export interface PathRow {
  context_id: number;
  parent_id: number | null; // lower than context_id
  kind: string;
  name: string | null;
  file: string | null;
  line: number | null;
}
export interface MetricRow {
  run_id: number;
  levels: string;
  context_id: number;
  metric: "host_ns" | "device_ns";
  exclusive_sum: number; // those of a subtree add up to the sum of its root
}

export interface LineTime {
  hostNs: number; // with all that the line calls; recursion counts once
  deviceNs: number;
  callees: Map<string, number>; // what took this time: operators, kernels and functions, own ns by name
}
export interface LineTimes {
  files: Map<string, Map<number, LineTime>>; // by recorded path, by line
  hostNs: number; // of the run: 100 %
  deviceNs: number;
  runs: number; // times are means over them
  levels: string;
}

// The runs that answer: the deepest levels, without metrics, which slow kernels down.
function chosenRuns(metrics: MetricRow[]): { levels: string; runs: Set<number> } {
  const depth = (levels: string) => levels.split("/").length - (levels.includes("+metrics") ? 10 : 0);
  let levels = metrics[0]?.levels ?? "";
  for (const row of metrics) if (depth(row.levels) > depth(levels)) levels = row.levels;
  return { levels, runs: new Set(metrics.filter((row) => row.levels === levels).map((row) => row.run_id)) };
}

// A damaged file may have callers in a circle.
const callerOf = (rows: Map<number, PathRow>, { context_id, parent_id }: PathRow) =>
  parent_id !== null && parent_id < context_id ? rows.get(parent_id) : undefined;

export function lineTimes(paths: PathRow[], metrics: MetricRow[]): LineTimes {
  const rows = new Map(paths.map((row) => [row.context_id, row])),
    { levels, runs } = chosenRuns(metrics),
    times: LineTimes = { files: new Map(), hostNs: 0, deviceNs: 0, runs: runs.size, levels };
  const at = (file: string, line: number): LineTime => {
    const lines = times.files.get(file) ?? new Map<number, LineTime>();
    times.files.set(file, lines);
    const known = lines.get(line) ?? { hostNs: 0, deviceNs: 0, callees: new Map<string, number>() };
    lines.set(line, known);
    return known;
  };
  for (const { context_id, run_id, metric, exclusive_sum } of metrics) {
    if (!runs.has(run_id)) continue;
    const key = metric === "host_ns" ? "hostNs" : "deviceNs",
      ns = exclusive_sum / runs.size,
      counted = new Set<LineTime>();
    times[key] += ns;
    const own = rows.get(context_id);
    for (let row = own; row !== undefined; row = callerOf(rows, row)) {
      if (row.file === null || row.line === null || row.line <= 0) continue;
      const time = at(row.file, row.line);
      if (counted.has(time)) continue;
      counted.add(time);
      time[key] += ns;
      if (row !== own && own?.name) time.callees.set(own.name, (time.callees.get(own.name) ?? 0) + ns);
    }
  }
  return times;
}

const UNITS: [number, string][] = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
  [1, "ns"],
];
export function timeText(ns: number): string {
  if (ns === 0) return "0 ns";
  const [unit, name] = UNITS.find(([least]) => ns >= least * 0.9995) ?? [1, "ns"];
  const value = ns / unit;
  return `${value.toFixed(value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2)} ${name}`;
}
export const percentText = (part: number, all: number) => (all > 0 ? `${((100 * part) / all).toFixed(1)} %` : "– %");
