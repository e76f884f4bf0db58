// SPDX-License-Identifier: Apache-2.0
// A live page: the server answers with newer data as soon as it has some. It is about the newest spans only. Range in view,
// selected range and selected span stay at their times, until these are older than the data.
import { batch as together, computed, effect, signal } from "@preact/signals";
import { checkDocument, loadRun, type Document_, type RunFacts, type Spans } from "./data";
import { ask, served, unpackJson } from "./parts";
import {
  anchor,
  defaultRun,
  documentData,
  run,
  selected,
  selection,
  spans,
  takeDocument,
  view,
  type Range,
} from "./state";
import { placeOf } from "./windows";

export const isLive = () => served === "live";
export const isPaused = signal(false);
export const problem = signal(""); // why nothing new comes

// ---- asking
const versionOf = new WeakMap<Document_, string>();
const AGAIN_MS = 1000; // after a failure
const later = () => new Promise((done) => setTimeout(done, AGAIN_MS));
const shownVersion = () => (documentData.peek() === null ? "0" : versionOf.get(documentData.peek()!)!);
// A version after the one that is shown. Null: none came for some seconds.
async function nextDocument(): Promise<Document_ | null> {
  const reply = await ask("parts/document", { after: shownVersion() });
  if (reply === null || reply.status === 204) return null;
  const version = (reply.headers.get("ETag") ?? "").replace(/[W/"]/g, ""),
    text = await unpackJson("document", new Uint8Array(await reply.arrayBuffer())),
    next = checkDocument(text as Document_, version);
  versionOf.set(next, version);
  return next;
}
export async function firstDocument(): Promise<Document_> {
  for (;;) {
    const first = await nextDocument();
    if (first !== null) return first;
    document.getElementById("loading")!.textContent = "Waiting for spans that are sent to this server…";
  }
}

// ---- the same view of other data
const nameOf = (data: Document_, { file, experiment_id }: RunFacts) =>
  data.experiments.find((one) => one.file === file && one.experiment_id === experiment_id)?.name;
function sameRun(before: Document_, shown: RunFacts | undefined, next: Document_): RunFacts | undefined {
  const alike = next.runs.filter(
    (facts) =>
      shown !== undefined &&
      facts.levels === shown.levels &&
      facts.batch_size === shown.batch_size &&
      nameOf(next, facts) === nameOf(before, shown),
  );
  return alike.find((facts) => facts.run_id === shown?.run_id) ?? alike[0] ?? defaultRun(next.runs);
}
const moved = (range: Range | null, by: number): Range | null =>
  range === null || range.to - by <= 0 ? null : { from: range.from - by, to: range.to - by };

// Where the selected span is in newer data; -1: it is too old.
function foundAgain(before: Spans | null, whole: Spans | null, by: number): number {
  const place = selected.peek();
  if (before === null || whole === null || place < 0 || place >= before.count) return -1;
  const [lane, depth] = before.facts.rows[before.row[place]],
    row = whole.facts.rows.findIndex(
      (other) => other[1] === depth && whole.facts.lanes[other[0]].name === before.facts.lanes[lane].name,
    );
  return row < 0 ? -1 : placeOf(whole, { row, start: before.start[place] - by, id: 0 });
}
async function take(next: Document_) {
  const before = documentData.peek()!,
    shown = run.peek(),
    facts = sameRun(before, shown, next),
    whole = facts === undefined || facts.detail === "none" ? null : await loadRun(facts);
  if (run.peek() !== shown || isPaused.peek()) return; // the reader chose so meanwhile: it is asked for again
  const by = facts === undefined || shown === undefined ? 0 : Number(BigInt(facts.first_ns) - BigInt(shown.first_ns));
  together(() => {
    selected.value = foundAgain(spans.peek(), whole, by);
    anchor.value = null;
    view.value = moved(view.peek(), by);
    selection.value = moved(selection.peek(), by);
    takeDocument(next, facts?.run ?? 0, whole);
  });
}
const resumed = () =>
  new Promise<void>((done) => {
    let stop = () => {};
    stop = effect(() => {
      if (!isPaused.value) queueMicrotask(() => (stop(), done()));
    });
  });
export async function followLive() {
  for (;;) {
    await resumed();
    try {
      const next = await nextDocument();
      if (next !== null && !isPaused.peek()) await take(next);
      problem.value = "";
    } catch (error) {
      problem.value = String((error as Error).message ?? error);
      await later();
    }
  }
}

// What the page is about: spans, observations, and the time from the first start to the last end.
export const basis = computed(() => {
  const runs = documentData.value?.runs ?? [],
    starts = runs.filter((facts) => facts.epoch === "unix").map((facts) => BigInt(facts.first_ns)),
    first = starts.reduce((least, one) => (one < least ? one : least), starts[0] ?? 0n),
    lengths = runs.map((facts) => Number(BigInt(facts.first_ns) - first) + lengthOf(facts));
  return {
    version: documentData.value === null ? "" : versionOf.get(documentData.value),
    spans: runs.reduce((sum, facts) => sum + facts.recorded, 0),
    observations: runs.reduce((sum, facts) => sum + facts.observations.length, 0),
    first,
    length: Math.max(0, ...lengths.filter(Number.isFinite)),
  };
});
const lengthOf = (facts: RunFacts) => {
  const whole = spans.value;
  return whole?.facts.run === facts.run
    ? whole.end
    : Math.max(0, ...facts.observations.map(([start, duration]) => start + duration));
};
