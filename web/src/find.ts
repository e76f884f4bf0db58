// SPDX-License-Identifier: Apache-2.0
// What the search and the selected range pick out of a run, computed once for all pages.
import { computed } from "@preact/signals";
import { kindOf, levelOf, type Spans } from "./data";
import { documentData, search, selection, spans } from "./state";

// By name's place: 1 where it matches.
export const matching = computed<Uint8Array | null>(() => {
  const names = documentData.value?.names,
    wanted = search.value.trim().toLowerCase();
  if (names === undefined || wanted === "") return null;
  return Uint8Array.from(names, (name) => (name.toLowerCase().includes(wanted) ? 1 : 0));
});

export const isInside = (data: Spans, i: number, range: { from: number; to: number } | null) =>
  range === null || (data.start[i] < range.to && data.start[i] + data.duration[i] > range.from);

export interface Found {
  count: number;
  first: number[];
  time: number;
  share: number;
}
// Matches in the selected range, and their share of the time of all spans of their levels.
export const found = computed<Found | null>(() => {
  const data = spans.value,
    names = matching.value;
  if (data === null || names === null) return null;
  const range = selection.value,
    first: number[] = [],
    all = new Float64Array(8),
    hit = new Float64Array(8);
  let count = 0;
  for (let i = 0; i < data.count; i++) {
    if (!isInside(data, i, range)) continue;
    const level = levelOf(data, i);
    if (kindOf(data, i) !== 1) all[level] += data.duration[i];
    if (names[data.name[i]] === 0) continue;
    if (kindOf(data, i) !== 1) hit[level] += data.duration[i];
    count++;
    first.push(i);
  }
  first.sort((a, b) => data.start[a] - data.start[b]);
  const time = hit.reduce((sum, value) => sum + value, 0);
  const base = all.reduce((sum, value, level) => sum + (hit[level] > 0 ? value : 0), 0);
  return { count, first, time, share: base > 0 ? time / base : 0 };
});

export interface Group {
  name: number;
  level: number;
  kind: number;
  count: number;
  total: number;
  least: number;
  most: number;
}
// Spans of the selected range by name, level and kind; time is what lies inside the range.
export const groups = computed<Group[]>(() => {
  const data = spans.value,
    range = selection.value,
    names = matching.value;
  if (data === null) return [];
  const byKey = new Map<number, Group>();
  for (let i = 0; i < data.count; i++) {
    if (!isInside(data, i, range) || (names !== null && names[data.name[i]] === 0)) continue;
    const key = data.name[i] * 32 + (data.attributes[i] & 31);
    let group = byKey.get(key);
    if (group === undefined)
      byKey.set(
        key,
        (group = {
          name: data.name[i],
          level: levelOf(data, i),
          kind: kindOf(data, i),
          count: 0,
          total: 0,
          least: Infinity,
          most: 0,
        }),
      );
    const from = range === null ? data.start[i] : Math.max(range.from, data.start[i]);
    const to = range === null ? data.start[i] + data.duration[i] : Math.min(range.to, data.start[i] + data.duration[i]);
    group.count++;
    group.total += to - from;
    group.least = Math.min(group.least, data.duration[i]);
    group.most = Math.max(group.most, data.duration[i]);
  }
  return [...byKey.values()].sort((a, b) => b.total - a.total);
});
