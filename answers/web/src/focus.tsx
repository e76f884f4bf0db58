// SPDX-License-Identifier: Apache-2.0
// The layer, kernel or layer type selected on all pages: links that open it, and its spans.
import { batch as together, untracked } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { kindOf, levelOf, loadRun, type Cell, type RunFacts, type Spans } from "./data";
import {
  chooseRun,
  documentData,
  focus,
  fragment,
  page,
  run,
  shortKernel,
  shortOperator,
  view,
  type Focus,
  type Page,
} from "./state";
import { select } from "./windows";
import { shownBatch } from "./widgets/parts";

const LAYER = 2;
const KERNEL = 4;
const LAUNCH = 1;

export const openLayer = (name: string, index: number | null) => (focus.value = { kind: "layer", name, index });
export const openKernel = (name: string) => (focus.value = { kind: "kernel", name, index: null });

const isLike = (value: Cell | undefined, name: string) => value !== undefined && String(value) === name;
// Whether a row of an analysis is about the selection.
export function isFocused(row: Record<string, Cell>): boolean {
  const at = focus.value;
  if (at === null) return false;
  if (at.kind === "kernel") return isLike(row.kernel_name, at.name);
  if (at.kind === "type") return isLike(row.layer_type, at.name);
  if (!isLike(row.layer_name, at.name)) return false;
  return at.index === null || row.layer_index === undefined || row.layer_index === at.index;
}

// The current address with another selection.
export function focusHref(target: Focus, on?: Page): string {
  const hash = new URLSearchParams(untracked(fragment).slice(1));
  if (on !== undefined) hash.set("page", on);
  hash.set("focus", `${target.kind}:${target.index ?? ""}:${target.name}`);
  return `${location.href.split("#")[0]}#${hash}`; // whole: a bare fragment counts as a skip link
}

export const shownName = (target: Focus) =>
  target.kind === "kernel" ? shortKernel(target.name) : shortOperator(target.name);

export function FocusLink({
  target,
  on,
  children,
  class: className = "focus-link",
}: {
  target: Focus;
  on?: Page;
  children?: ComponentChildren;
  class?: string;
}) {
  // The state changes: the address is made again when the link is used.
  const refresh = (event: Event) => ((event.currentTarget as HTMLAnchorElement).href = focusHref(target, on));
  const isHere = focus.value?.kind === target.kind && focus.value.name === target.name;
  return (
    <a
      class={className}
      title={children === undefined && target.name !== shownName(target) ? target.name : undefined}
      href={focusHref(target, on)}
      aria-current={isHere && focus.value!.index === target.index ? "true" : undefined}
      onPointerDown={refresh}
      onFocus={refresh}
      onClick={(event) => {
        event.stopPropagation();
        if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
        event.preventDefault();
        together(() => {
          focus.value = target;
          if (on !== undefined) page.value = on;
        });
      }}
    >
      {children ?? shownName(target)}
    </a>
  );
}
export const LayerLink = ({ name, index, on }: { name: string; index: number | null; on?: Page }) => (
  <FocusLink target={{ kind: "layer", name, index }} on={on} />
);
export const KernelLink = ({ name, on }: { name: string; on?: Page }) => (
  <FocusLink target={{ kind: "kernel", name, index: null }} on={on} />
);
export const TypeLink = ({ name, on }: { name: string; on?: Page }) =>
  name === "" ? <>no type</> : <FocusLink target={{ kind: "type", name, index: null }} on={on} />;

// Spans of the name at its level, without launches, in order of time.
function placesOf(data: Spans, name: number, level: number): number[] {
  const places: number[] = [];
  for (let i = 0; i < data.count; i++)
    if (data.name[i] === name && levelOf(data, i) === level && kindOf(data, i) !== LAUNCH) places.push(i);
  return places.sort((a, b) => data.start[a] - data.start[b]);
}

// A layer without a recorded index has its position within its observation: by start, longer first, counting all layers.
function placesAtIndex(data: Spans, name: number, index: number): number[] {
  const { observations } = data.facts,
    inOne: number[][] = observations.map(() => []);
  for (let i = 0; i < data.count; i++) {
    if (levelOf(data, i) !== LAYER || kindOf(data, i) === LAUNCH) continue;
    const at = observations.findIndex(([from, length]) => data.start[i] >= from && data.start[i] < from + length);
    if (at >= 0) inOne[at].push(i);
  }
  return inOne.flatMap((places) => {
    places.sort((a, b) => data.start[a] - data.start[b] || data.duration[b] - data.duration[a]);
    const place = places[index];
    return place !== undefined && data.name[place] === name ? [place] : [];
  });
}

export interface Occurrences {
  facts: RunFacts;
  data: Spans;
  places: number[]; // in order of time
  median: number; // the place of the median duration, without warm-ups if others exist
}
function occurrencesIn(facts: RunFacts, data: Spans, target: Focus): Occurrences | null {
  const name = documentData.value!.names.indexOf(target.name);
  if (name < 0) return null;
  let places = placesOf(data, name, target.kind === "kernel" ? KERNEL : LAYER);
  if (target.kind === "layer" && target.index !== null && places.length > facts.observations.length) {
    const exact = placesAtIndex(data, name, target.index);
    if (exact.length > 0) places = exact;
  }
  if (places.length === 0) return null;
  const warm = facts.observations.filter(([, , warmup]) => warmup === 1);
  const isWarm = (i: number) => warm.some(([from, length]) => data.start[i] >= from && data.start[i] < from + length);
  const measured = places.filter((i) => !isWarm(i));
  const sorted = (measured.length > 0 ? measured : places).slice().sort((a, b) => data.duration[a] - data.duration[b]);
  return { facts, data, places, median: sorted[sorted.length >> 1] };
}

// In the shown run, else in the first run that has its level and the batch size shown.
export async function findOccurrences(target: Focus): Promise<Occurrences | null> {
  const level = target.kind === "kernel" ? KERNEL : LAYER,
    shown = run.value,
    size = shownBatch();
  const others = documentData
    .value!.runs.filter((facts) => facts.detail !== "none" && facts.levels_counted[level] > 0 && facts !== shown)
    .sort((a, b) => Number(b.batch_size === size) - Number(a.batch_size === size));
  for (const facts of shown === undefined || shown.detail === "none" ? others : [shown, ...others]) {
    if (facts.levels_counted[level] === 0) continue;
    const found = occurrencesIn(facts, await loadRun(facts), target);
    if (found !== null) return found;
  }
  return null;
}
export function showOnTimeline({ facts, data }: Pick<Occurrences, "facts" | "data">, place: number) {
  const room = Math.max(data.duration[place] * 2, 1000);
  together(() => {
    if (run.value !== facts) chooseRun(facts.run);
    select(data, place);
    view.value = {
      from: Math.max(0, data.start[place] - room),
      to: data.start[place] + data.duration[place] + room,
    };
    page.value = "timeline";
  });
}
