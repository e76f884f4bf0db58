// SPDX-License-Identifier: Apache-2.0
// Positions of rows: tracks open, short or closed, pinned ones first, hidden ones left out. The user's arrangement is
// in the URL, by run.
import { computed } from "@preact/signals";
import type { Spans } from "../data";
import { details, runAt, setDetail } from "../state";
import { GAP, GROUP_HEAD, headOf, ROW } from "./geometry";
import type { Track, TrackGroup } from "./tracks";

const ROWS_OPEN = 16, // a deeper track shows ROWS_SHORT rows and the rest in one
  ROWS_SHORT = 11,
  THUMBNAIL_ROWS = 17; // one pixel each at least

export interface Line {
  row: number; // of facts.rows
  top: number;
  height: number;
  first: number;
  count: number;
}
export interface TrackBox {
  track: Track;
  top: number;
  height: number;
  state: "open" | "short" | "closed";
  isPinned: boolean;
  depth: number; // rows that it has in all
}
export interface GroupBox {
  group: TrackGroup;
  top: number;
  isOpen: boolean;
}
export interface Layout {
  pinned: Line[]; // by top; of the window
  lines: Line[]; // by top; of the scrolled content
  lineOf: (Line | undefined)[]; // by row of facts.rows; none: not drawn
  isPinnedRow: Uint8Array;
  tracks: TrackBox[];
  groups: GroupBox[];
  headHeight: number;
  pinnedHeight: number; // below the head
  height: number;
  leftOut: number; // tracks hidden or filtered away
}

export interface Arrangement {
  closed: Set<string>; // of groups and tracks
  open: Set<string>; // tracks shown in all their depth
  pinned: Set<string>;
  hidden: Set<string>;
  filter: string;
}
const key = (what: string) => `timeline.${runAt.value}.${what}`;
const read = (what: string) => new Set((details.value[key(what)] ?? "").split(" ").filter((id) => id !== ""));
export const arrangement = computed<Arrangement>(() => ({
  closed: read("closed"),
  open: read("open"),
  pinned: read("pinned"),
  hidden: read("hidden"),
  filter: details.value[key("tracks")] ?? "",
}));
export function toggle(what: "closed" | "open" | "pinned" | "hidden", id: string) {
  const ids = new Set(arrangement.value[what]);
  if (!ids.delete(id)) ids.add(id);
  setDetail(key(what), [...ids].join(" "));
}
export const setFilter = (text: string) => setDetail(key("tracks"), text);
export function showAllTracks() {
  setDetail(key("hidden"), "");
  setDetail(key("tracks"), "");
}

// Neither hidden nor filtered away.
export const isShown = (arranged: Arrangement, lane: number, label: string) =>
  !arranged.hidden.has(String(lane)) && label.toLowerCase().includes(arranged.filter.trim().toLowerCase());

class Stack {
  readonly lines: Line[] = [];
  constructor(
    private data: Spans,
    private layout: Layout,
    public top: number,
  ) {}
  private put(row: number, top: number, height: number) {
    const [, , first, count] = this.data.facts.rows[row];
    const line = { row, top, height, first, count };
    this.lines.push(line);
    this.layout.lineOf[row] = line;
  }
  // Rows as stripes of one row's height.
  thumbnail(rows: number[]) {
    const shown = rows.slice(0, THUMBNAIL_ROWS),
      height = (ROW - 2) / shown.length;
    shown.forEach((row, i) => this.put(row, this.top + i * height, height));
    const last = this.layout.lineOf[shown[shown.length - 1]];
    for (const row of rows.slice(THUMBNAIL_ROWS)) this.layout.lineOf[row] = last; // arrows end somewhere near
  }
  // A stripe a track; deeper rows are found there too.
  tracks(tracks: Track[]) {
    this.thumbnail(tracks.map((track) => track.rows[0]));
    for (const { rows } of tracks) for (const row of rows) this.layout.lineOf[row] ??= this.layout.lineOf[rows[0]];
  }
  track(track: Track, arranged: Arrangement, isPinned: boolean) {
    const id = String(track.lane),
      depth = track.rows.length,
      isDeep = depth > ROWS_OPEN && !arranged.open.has(id);
    const state = arranged.closed.has(id) ? "closed" : isDeep ? "short" : "open";
    const box: TrackBox = { track, top: this.top, height: 0, state, isPinned, depth };
    const full = state === "closed" ? 0 : isDeep ? ROWS_SHORT : depth;
    for (const row of track.rows.slice(0, full)) {
      this.put(row, this.top, ROW - 2);
      this.top += ROW;
    }
    if (full < depth) {
      this.thumbnail(track.rows.slice(full));
      this.top += ROW;
    }
    box.height = this.top - box.top;
    this.layout.tracks.push(box);
    this.top += GAP;
    if (isPinned) for (const row of track.rows) this.layout.isPinnedRow[row] = 1;
  }
}

export function lay(data: Spans, groups: TrackGroup[], arranged: Arrangement): Layout {
  const rows = data.facts.rows.length;
  const layout: Layout = {
    pinned: [],
    lines: [],
    lineOf: new Array(rows).fill(undefined),
    isPinnedRow: new Uint8Array(rows),
    tracks: [],
    groups: [],
    headHeight: headOf(data),
    pinnedHeight: 0,
    height: 0,
    leftOut: 0,
  };
  const isWanted = (track: Track) => isShown(arranged, track.lane, track.label),
    isPinned = (track: Track) => arranged.pinned.has(String(track.lane));
  const head = layout.headHeight,
    pinned = new Stack(data, layout, head + 4);
  for (const { tracks } of groups)
    for (const track of tracks) if (isPinned(track) && isWanted(track)) pinned.track(track, arranged, true);
  layout.pinned = pinned.lines;
  layout.pinnedHeight = pinned.lines.length > 0 ? pinned.top - head : 0;
  const rest = new Stack(data, layout, head + layout.pinnedHeight + 4);
  for (const group of groups) {
    const shown = group.tracks.filter(isWanted);
    layout.leftOut += group.tracks.length - shown.length;
    const unpinned = shown.filter((track) => !isPinned(track));
    if (unpinned.length === 0) continue;
    if (groups.length > 1) {
      const isOpen = !arranged.closed.has(group.id);
      layout.groups.push({ group, top: rest.top, isOpen });
      if (!isOpen) rest.tracks(unpinned);
      rest.top += GROUP_HEAD;
      if (!isOpen) continue;
    }
    for (const track of unpinned) rest.track(track, arranged, false);
  }
  layout.lines = rest.lines;
  layout.height = rest.top;
  return layout;
}

// Lines that reach into [from, to): they are in the order of their tops.
export function linesIn(lines: Line[], from: number, to: number): Line[] {
  let low = 0,
    high = lines.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lines[middle].top + lines[middle].height <= from) low = middle + 1;
    else high = middle;
  }
  let end = low;
  while (end < lines.length && lines[end].top < to) end++;
  return lines.slice(low, end);
}
