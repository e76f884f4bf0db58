// SPDX-License-Identifier: Apache-2.0
// Matches of the search and the selected range in a run, computed once for all pages. A keystroke costs time in
// proportion to the table of names; a new range visits the spans inside it once.
import { computed } from "@preact/signals";
import { busyOf, countOf, levelOf, type Spans } from "./data";
import { tracksOf, unionOf } from "./flame/own_time";
import { documentData, figured, search, selection, spans, type Range } from "./state";

const KIND_MASK = 31; // level | kind << 3
const LAUNCH = 1;

// The search: plain text, or /a regular expression/.
export const wanted = computed<{ test: ((name: string) => boolean) | null; error: string | null }>(() => {
  const text = search.value.trim();
  if (text === "") return { test: null, error: null };
  const [, pattern] = /^\/(.*)\/i?$/s.exec(text) ?? [];
  if (pattern === undefined || pattern === "") {
    const plain = text.toLowerCase();
    return { test: (name) => name.toLowerCase().includes(plain), error: null };
  }
  try {
    const expression = new RegExp(pattern, "i");
    return { test: (name) => expression.test(name), error: null };
  } catch (error) {
    return { test: null, error: String((error as Error).message).replace(/^Invalid regular expression: /, "") };
  }
});
// By name: 1 if it matches. Null: no search, or an invalid pattern.
export const matching = computed<Uint8Array | null>(() => {
  const names = documentData.value?.names,
    { test } = wanted.value;
  return names === undefined || test === null ? null : Uint8Array.from(names, (name) => (test(name) ? 1 : 0));
});

// Wholly or in part; a span without length by its start, as in rowsInside().
export const isInside = (data: Spans, i: number, range: Range | null) =>
  range === null ||
  (data.start[i] < range.to && (data.start[i] + data.duration[i] > range.from || data.start[i] >= range.from));

// First span of [low, high), one row, that ends after `time`, or starts at or after it.
export function firstFrom(data: Spans, low: number, high: number, time: number): number {
  while (low < high) {
    const middle = (low + high) >> 1;
    if (data.start[middle] + data.duration[middle] <= time && data.start[middle] < time) low = middle + 1;
    else high = middle;
  }
  return low;
}
export function firstStartingAt(data: Spans, low: number, high: number, time: number): number {
  while (low < high) {
    const middle = (low + high) >> 1;
    if (data.start[middle] < time) low = middle + 1;
    else high = middle;
  }
  return low;
}
// For each row, the places of spans that overlap the range.
export function rowsInside(data: Spans, range: Range | null, visit: (low: number, high: number, row: number) => void) {
  data.facts.rows.forEach(([, , first, count], row) => {
    const end = first + count;
    const low = range === null ? first : firstFrom(data, first, end, range.from);
    const high = range === null ? end : firstStartingAt(data, low, end, range.to);
    if (high > low) visit(low, high, row);
  });
}
// The span's busy time inside the range; of a merged rectangle, in proportion.
export function timeInside(data: Spans, i: number, range: Range | null): number {
  if (range === null) return busyOf(data, i);
  const start = data.start[i],
    end = start + data.duration[i];
  if (start >= range.from && end <= range.to) return busyOf(data, i);
  const inside = Math.min(end, range.to) - Math.max(start, range.from);
  return data.busy === null ? inside : (inside / data.duration[i]) * data.busy[i];
}

export interface Group {
  name: number;
  level: number;
  kind: number;
  count: number;
  total: number;
  least: number; // NaN: unknown, spans are merged
  most: number;
}
// By name, level and kind: a table without holes in which each span finds its group by two look-ups.
interface Keys {
  slots: Int8Array; // by level | kind << 3
  width: number;
  attributes: number[]; // by slot
}
const keysOf = new WeakMap<Spans, Keys>();
function keys(data: Spans): Keys {
  let known = keysOf.get(data);
  if (known === undefined) {
    const slots = new Int8Array(KIND_MASK + 1).fill(-1),
      attributes: number[] = [];
    for (let i = 0; i < data.count; i++) {
      const attribute = data.attributes[i] & KIND_MASK;
      if (slots[attribute] < 0) slots[attribute] = attributes.push(attribute) - 1;
    }
    keysOf.set(data, (known = { slots, width: attributes.length, attributes }));
  }
  return known;
}

function group(data: Spans, range: Range | null, nameCount: number): Group[] {
  const { slots, width, attributes } = keys(data),
    at = new Int32Array(nameCount * width).fill(-1),
    all: Group[] = [];
  rowsInside(data, range, (low, high) => {
    for (let i = low; i < high; i++) {
      const slot = slots[data.attributes[i] & KIND_MASK],
        key = data.name[i] * width + slot,
        count = countOf(data, i),
        duration = count === 1 ? data.duration[i] : NaN;
      if (at[key] < 0) {
        const attribute = attributes[slot];
        const one = { name: data.name[i], level: attribute & 7, kind: attribute >> 3, count: 0, total: 0 };
        at[key] = all.push({ ...one, least: duration, most: duration }) - 1;
      }
      const found = all[at[key]];
      found.count += count;
      found.total += timeInside(data, i, range);
      found.least = Math.min(found.least, duration); // NaN stays
      found.most = Math.max(found.most, duration);
    }
  });
  return all.sort((a, b) => b.total - a.total);
}

// All spans of the selected range, without the search.
const everything = computed<Group[]>(() => {
  const data = figured.value;
  return data === null ? [] : group(data, selection.value, documentData.value!.names.length);
});
// Spans of the selected range by name, level and kind that match the search; time is the part inside the range.
export const groups = computed<Group[]>(() => {
  const names = matching.value;
  return names === null ? everything.value : everything.value.filter((one) => names[one.name] === 1);
});

export interface Found {
  count: number;
  names: number;
  time: number; // without launches
  share: number; // of the time of all spans of their levels
}
export const found = computed<Found | null>(() => {
  if (spans.value === null || matching.value === null) return null;
  const hit = new Float64Array(8),
    base = new Float64Array(8),
    names = new Set<number>();
  let count = 0;
  for (const one of groups.value) {
    count += one.count;
    names.add(one.name);
    if (one.kind !== LAUNCH) hit[one.level] += one.total;
  }
  for (const one of everything.value) if (one.kind !== LAUNCH && hit[one.level] > 0) base[one.level] += one.total;
  const time = hit.reduce((sum, value) => sum + value, 0),
    all = base.reduce((sum, value) => sum + value, 0);
  return { count, names: names.size, time, share: all > 0 ? time / all : 0 };
});

// The next match in time after `from` (before it: by = -1), wrapping around; and its number among all matches.
export function nextMatch(data: Spans, names: Uint8Array, range: Range | null, from: number, by: 1 | -1) {
  const isLater = (a: number, b: number) => data.start[a] > data.start[b] || (data.start[a] === data.start[b] && a > b);
  let best = -1,
    outer = -1;
  const isBetter = (a: number, b: number) => b < 0 || (by === 1 ? isLater(b, a) : isLater(a, b));
  rowsInside(data, range, (low, high) => {
    for (let i = low; i < high; i++) {
      if (names[data.name[i]] === 0) continue;
      if (isBetter(i, outer)) outer = i;
      if (from >= 0 && i !== from && isLater(i, from) === (by === 1) && isBetter(i, best)) best = i;
    }
  });
  const next = best >= 0 ? best : outer;
  let number = 1;
  rowsInside(data, range, (low, high) => {
    for (let i = low; i < high; i++) if (names[data.name[i]] === 1 && isLater(next, i)) number++;
  });
  return next < 0 ? null : { span: next, number };
}

// Time inside the range by track and level; nested spans of a level and track count once; launches separately.
export interface Busy {
  lane: number; // the track's first; its other lanes have overlapping spans
  byLevel: Float64Array;
  any: number; // of any level
  spans: number;
}
type Intervals = [number, number][][]; // by level; at 8 of all levels
const outermostOf = new WeakMap<Spans, Uint8Array>();
// By place: 1 if no enclosing span on its track has its level; without launches.
function outermost(data: Spans): Uint8Array {
  let known = outermostOf.get(data);
  if (known !== undefined) return known;
  known = new Uint8Array(data.count);
  const within = new Uint8Array(data.count); // levels of the span and of those around it
  let lane = -1,
    above = 0,
    aboveEnd = 0;
  for (const [rowLane, , first, count] of data.facts.rows) {
    if (rowLane !== lane) above = aboveEnd = first;
    lane = rowLane;
    for (let i = first, j = above; i < first + count; i++) {
      // The last that starts before its middle: spans of a row are inside spans of the row above; merged ones
      // approximately.
      const middle = data.start[i] + data.duration[i] / 2;
      while (j + 1 < aboveEnd && data.start[j + 1] <= middle) j++;
      const around = j < aboveEnd && data.start[j] <= middle ? within[j] : 0;
      const isLaunch = ((data.attributes[i] >> 3) & 3) === LAUNCH,
        bit = isLaunch ? 0 : 1 << levelOf(data, i);
      known[i] = !isLaunch && (around & bit) === 0 ? 1 : 0;
      within[i] = around | bit;
    }
    above = first;
    aboveEnd = first + count;
  }
  outermostOf.set(data, known);
  return known;
}
export const busy = computed<Busy[]>(() => {
  const data = figured.value,
    range = selection.value;
  if (data === null) return [];
  const isOuter = outermost(data),
    track = tracksOf(data.facts),
    isShared = track.map((first, lane) => first !== lane || track[lane + 1] === first);
  const apart = new Map<number, Intervals>(); // by track, of those with several lanes
  const all = data.facts.lanes.map((_, lane) => ({ lane, byLevel: new Float64Array(8), any: 0, spans: 0 }));
  rowsInside(data, range, (low, high, row) => {
    const [lane, depth] = data.facts.rows[row],
      one = all[track[lane]];
    let shared = isShared[lane] && data.busy === null ? apart.get(track[lane]) : undefined;
    if (isShared[lane] && data.busy === null && shared === undefined)
      apart.set(track[lane], (shared = Array.from({ length: 9 }, () => [])));
    for (let i = low; i < high; i++) {
      one.spans += countOf(data, i);
      if (depth !== 0 && isOuter[i] === 0) continue;
      if (shared !== undefined) {
        const interval: [number, number] = [data.start[i], data.start[i] + data.duration[i]];
        if (depth === 0) shared[8].push(interval);
        if (isOuter[i] === 1) shared[levelOf(data, i)].push(interval);
        continue;
      }
      const time = timeInside(data, i, range);
      if (depth === 0) one.any += time;
      if (isOuter[i] === 1) one.byLevel[levelOf(data, i)] += time;
    }
  });
  const { from, to } = range ?? { from: 0, to: Infinity };
  for (const [lane, levels] of apart)
    levels.forEach((intervals, level) => {
      const time = unionOf(intervals, from, to);
      if (level === 8) all[lane].any = time;
      else all[lane].byLevel[level] = time;
    });
  return all.filter((one) => one.spans > 0);
});
