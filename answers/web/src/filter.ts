// SPDX-License-Identifier: Apache-2.0
// Contents of the range selected on the timeline, by layer, kernel and layer type: the tables of every page filter by
// it. One pass over the spans of the shown run, by index of the name; rows of analyses are matched by name.
import { computed } from "@preact/signals";
import { busyOf, countOf, kindOf, levelOf, type Cell, type Spans } from "./data";
import { isInside } from "./find";
import { documentData, run, selection, spans, type Range } from "./state";

const LAYER = 2;
const KERNEL = 4;
const LAUNCH = 1;
const CLIMB_MOST = 64; // nested layers around a kernel that are visited

export interface Inside {
  count: number; // spans; of kernels: executions, not their launches
  time_ns: number; // the part inside the range
}
export interface Picked {
  range: Range;
  spans: number; // of any level
  layers: Map<string, Inside>;
  kernels: Map<string, Inside>;
  types: Map<string, Inside>;
  pairs: Set<string>; // kernel and layer, as pairKey has it
}
type Row = Record<string, Cell>;
const pairKey = (kernel: Cell, layer: Cell) => `${kernel}\n${layer}`;

// Part of the span's time inside the range; a merged rectangle counts in proportion.
function timeInside(data: Spans, i: number, range: Range): number {
  const from = data.start[i],
    to = from + data.duration[i];
  if (from >= range.from && to <= range.to) return busyOf(data, i);
  const part = Math.min(to, range.to) - Math.max(from, range.from);
  return data.duration[i] > 0 ? (busyOf(data, i) * part) / data.duration[i] : 0;
}

// A layer in a layer of the same name does not count again.
const repeatsParent = (data: Spans, i: number) =>
  data.parent[i] >= 0 && data.name[data.parent[i]] === data.name[i] && levelOf(data, data.parent[i]) === LAYER;

export function pick(data: Spans, names: string[], typeOf: Map<string, string>, range: Range): Picked {
  const counts = [new Float64Array(names.length), new Float64Array(names.length)],
    times = [new Float64Array(names.length), new Float64Array(names.length)],
    pairs = new Set<number>();
  let all = 0;
  for (let i = 0; i < data.count; i++) {
    if (!isInside(data, i, range)) continue;
    all += countOf(data, i);
    const level = levelOf(data, i),
      name = data.name[i];
    if ((level !== LAYER && level !== KERNEL) || kindOf(data, i) === LAUNCH) continue;
    if (level === LAYER && repeatsParent(data, i)) continue;
    const which = level === LAYER ? 0 : 1;
    counts[which][name] += countOf(data, i);
    times[which][name] += timeInside(data, i, range);
    if (level === KERNEL)
      for (let at = data.parent[i], steps = 0; at >= 0 && steps < CLIMB_MOST; at = data.parent[at], steps++)
        if (levelOf(data, at) === LAYER) pairs.add(name * names.length + data.name[at]);
  }
  const [layers, kernels] = counts.map((ofNames, which) => {
    const byName = new Map<string, Inside>();
    ofNames.forEach((count, name) => {
      if (count > 0) byName.set(names[name], { count, time_ns: times[which][name] });
    });
    return byName;
  });
  const types = new Map<string, Inside>();
  for (const [layer, inside] of layers) {
    const type = typeOf.get(layer);
    if (type === undefined) continue;
    const sum = types.get(type) ?? { count: 0, time_ns: 0 };
    types.set(type, { count: sum.count + inside.count, time_ns: sum.time_ns + inside.time_ns });
  }
  const named = [...pairs].map((key) => pairKey(names[Math.floor(key / names.length)], names[key % names.length]));
  return { range, spans: all, layers, kernels, types, pairs: new Set(named) };
}

const typeOfLayer = computed(() => {
  const types = new Map<string, string>();
  for (const { table } of documentData.value?.analyses ?? [])
    if (table.analysis === "A2")
      for (const row of table.rows)
        if (typeof row.layer_type === "string") types.set(String(row.layer_name), row.layer_type);
  return types;
});

// Null: no selection, or the run's spans are not in this report.
export const picked = computed<Picked | null>(() => {
  const range = selection.value,
    data = spans.value,
    names = documentData.value?.names;
  return range === null || data === null || names === undefined ? null : pick(data, names, typeOfLayer.value, range);
});

// For a row of an analysis. Null: not inside; undefined: not selectable, such as a layer if the run shown has none.
export function insideOf(row: Row): Inside | null | undefined {
  const inside = picked.value;
  if (inside === null) return undefined;
  const { levels_counted } = run.value!;
  if (row.kernel_name !== undefined) {
    if (levels_counted[KERNEL] === 0) return undefined;
    const isApart =
      row.layer_name !== undefined &&
      row.layer_name !== null &&
      !inside.pairs.has(pairKey(row.kernel_name, row.layer_name));
    return isApart ? null : (inside.kernels.get(String(row.kernel_name)) ?? null);
  }
  if (levels_counted[LAYER] === 0) return undefined;
  if (row.layer_name !== undefined) return inside.layers.get(String(row.layer_name)) ?? null;
  if (row.layer_type !== undefined) return inside.types.get(String(row.layer_type)) ?? null;
  return undefined;
}
export const inPicked = (row: Row) => insideOf(row) !== null;
