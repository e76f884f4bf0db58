// SPDX-License-Identifier: Apache-2.0
// The page's state, as signals, mirrored in the URL's fragment: a link reopens the same view, the back button works.
import { batch as together, computed, effect, signal } from "@preact/signals";
import type { Document_, Experiment, RunFacts, Spans } from "./data";
import { loadDrawable, loadRun } from "./data";
import { served } from "./parts";

export const PAGES = [
  "overview",
  "timeline",
  "flame",
  "lines",
  "layers",
  "kernels",
  "roofline",
  "batch",
  "memory",
  "input",
  "generations",
  "compilation",
  "ranks",
  "runs",
  "comparison",
] as const;
export type Page = (typeof PAGES)[number];
export const pageTitle = (name: Page) => name[0].toUpperCase() + name.slice(1);
export interface Range {
  from: number;
  to: number;
} // ns from the run's first start

const OPENED_MOST = 0.9; // of the run: beyond that, its observations are as good as all of it

export const documentData = signal<Document_ | null>(null);
export const page = signal<Page>("overview");
export const runAt = signal<number>(0); // place in the document's runs
export const view = signal<Range | null>(null); // what the timeline shows; null: all. At first: `opening`
export const selection = signal<Range | null>(null); // filters the other pages
export const selected = signal<number>(-1); // place of a span, in what the timeline draws
// Of a run with windows, where places change with the range in view: the selected span by its row and start.
export interface Anchor {
  row: number;
  start: number;
  id: number; // 0: not known, or a rectangle
}
export const anchor = signal<Anchor | null>(null);
export const search = signal("");
export const theme = signal<"" | "light" | "dark">(""); // "": as the system has it
export const batch = signal<number | null>(null);
// The layer, kernel or type selected on all pages.
export interface Focus {
  kind: "layer" | "kernel" | "type";
  name: string;
  index: number | null; // of a layer, where it has one
}
export const focus = signal<Focus | null>(null);
// Of widgets, in the URL by their own key ("table.A2.filter"): set to "" to take one away.
export const details = signal<Record<string, string>>({});
export const setDetail = (key: string, value: string) => {
  const { [key]: _, ...others } = details.value;
  details.value = value === "" ? others : { ...others, [key]: value };
};
export const sorts = signal<Record<string, string>>({}); // by table: "key" or "-key"
export const flameMode = signal<"top-down" | "bottom-up" | "left-heavy" | "time">("top-down");
export const helpIsOpen = signal(false);
export const spans = signal<Spans | null>(null);
const early = signal<Spans | null>(null); // the same, earlier: without parents and launches
// Spans of the range in view, where `spans` is an overview (windows.ts).
export const windowSpans = signal<{ range: Range; spans: Spans } | null>(null);
export const drawable = computed<Spans | null>(() => windowSpans.value?.spans ?? early.value); // by the timeline
export const overview = computed<Spans | null>(() => early.value); // the whole run
// What has the most of the selected range: a window around it, else the whole run.
export const figured = computed<Spans | null>(() => {
  const within = windowSpans.value,
    range = selection.value;
  const isIn = within !== null && range !== null && range.from >= within.range.from && range.to <= within.range.to;
  return isIn ? within.spans : spans.value;
});
export const failure = signal("");

export const run = computed<RunFacts | undefined>(() =>
  documentData.value?.runs.find((facts) => facts.run === runAt.value),
);
// From the first observation's start to the last one's end, with some room.
function observedRange({ observations }: RunFacts): Range {
  let from = Infinity,
    to = 0;
  for (const [start, duration] of observations) {
    from = Math.min(from, start);
    to = Math.max(to, start + duration);
  }
  const room = (to - from) * 0.01;
  return { from: from - room, to: to + room };
}
// What the timeline shows at first, where that is much less than the run: the range that the page was made for (xsp report
// --range), else the observations, without imports and the end. Null: all.
export const opening = computed<Range | null>(() => {
  const facts = run.value;
  if (facts === undefined || served === "live") return null; // that follows what comes
  const part = documentData.value!.range_ns,
    range = part === null ? observedRange(facts) : { from: part[0], to: Math.min(part[1], facts.end_ns) };
  return range.to > range.from && range.to - range.from < OPENED_MOST * facts.end_ns ? range : null;
});
export const openingName = computed(() =>
  documentData.value!.range_ns !== null ? "Range" : observationWord.value === "step" ? "Steps" : "Predictions",
);
export const isAtOpening = () => view.value === null || view.value === opening.value;
// What an observation of the chosen run is called.
export const observationWord = computed(() => (/step/i.test(run.value?.observed ?? "") ? "step" : "prediction"));
// The chosen run has spans, and they are not here yet.
export const isUnpacking = computed(
  () => run.value !== undefined && run.value.detail !== "none" && spans.value?.facts.run !== run.value.run,
);
// Kernels' names as text tables of xsp have them; the others stay as they are.
const shortNames = computed<Map<string, string>[]>(() =>
  documentData.value!.short_names.map(
    (all) => new Map(all.flatMap((name, i): [string, string][] => (i % 2 === 0 ? [[name, all[i + 1]]] : []))),
  ),
);
export const shortKernel = (name: string) => shortNames.value[run.value?.file ?? 0]?.get(name) ?? name;
// The engine's step around a backward operator of PyTorch: what differs is at the end, which would be cut off.
export const shortOperator = (name: string) => name.replace(/^autograd::engine::evaluate_function: /, "…: ");
// The experiment of the run shown. Tables and choosers are about it only.
export const sameExperiment = (a: RunFacts, b: RunFacts) => a.file === b.file && a.experiment_id === b.experiment_id;
export const experiment = computed<Experiment | undefined>(() =>
  documentData.value?.experiments.find(
    (one) => one.file === run.value?.file && one.experiment_id === run.value.experiment_id,
  ),
);
export const experimentRuns = computed<RunFacts[]>(() => {
  const shown = run.value;
  return shown === undefined ? [] : documentData.value!.runs.filter((facts) => sameExperiment(facts, shown));
});

const numbers = (text: string | null): Range | null => {
  const [from, to] = (/^(-?\d+)-(-?\d+)$/.exec(text ?? "") ?? []).slice(1).map(Number); // some start before the first start
  return Number.isFinite(from) && Number.isFinite(to) && to > from ? { from, to } : null;
};

// kind:index:name
function readFocus(text: string | null): Focus | null {
  const [, kind, index, name] = /^(layer|kernel|type):(\d*):(.+)$/s.exec(text ?? "") ?? [];
  return name === undefined ? null : { kind: kind as Focus["kind"], name, index: index === "" ? null : Number(index) };
}

function read() {
  const hash = new URLSearchParams(location.hash.slice(1));
  const document_ = documentData.value;
  if (document_ === null) return;
  const wanted = hash.get("page") as Page;
  page.value = PAGES.includes(wanted) ? wanted : document_.comparison === undefined ? "overview" : "comparison";
  const id = hash.has("run") ? Number(hash.get("run")) : -1;
  runAt.value = (document_.runs.find((facts) => facts.run === id) ?? defaultRun(document_.runs))?.run ?? 0;
  view.value = hash.get("view") === "all" ? null : (numbers(hash.get("view")) ?? opening.value);
  selection.value = numbers(hash.get("select"));
  selected.value = /^\d+$/.test(hash.get("span") ?? "") ? Number(hash.get("span")) : -1;
  const [, row, start] = /^(\d+)\.(-?\d+)$/.exec(hash.get("span") ?? "") ?? [];
  anchor.value = start === undefined ? null : { row: Number(row), start: Number(start), id: 0 };
  search.value = hash.get("find") ?? "";
  batch.value = hash.has("batch") ? Number(hash.get("batch")) : null;
  const wantedTheme = hash.get("theme");
  theme.value = wantedTheme === "light" || wantedTheme === "dark" ? wantedTheme : "";
  const mode = hash.get("flame");
  flameMode.value = mode === "bottom-up" || mode === "left-heavy" || mode === "time" ? mode : "top-down";
  focus.value = readFocus(hash.get("focus"));
  details.value = Object.fromEntries(
    [...hash].filter(([key]) => key.startsWith("x.")).map(([key, value]) => [key.slice(2), value]),
  );
  sorts.value = Object.fromEntries(
    [...hash].filter(([key]) => key.startsWith("sort.")).map(([key, value]) => [key.slice(5), value]),
  );
}

// The optimal batch size, else that of most throughput: shown first.
function batchOfRuns(runs: RunFacts[]): number | null {
  const ids = new Set(runs.map((facts) => facts.run_id));
  const summary = documentData.value!.analyses.find(
    (answer) =>
      answer.table.analysis === "A1" &&
      answer.file === runs[0]?.file &&
      answer.table.run_set.run_ids.some((id) => ids.has(id)),
  )?.table.summary;
  const size = summary?.optimal_batch ?? summary?.maximum_throughput_batch;
  return typeof size === "number" ? size : null;
}

const deepest = (facts: RunFacts) =>
  facts.levels_counted.reduce((most, counted, level) => (counted > 0 ? level : most), -1);
const counted = (facts: RunFacts) => Number(facts.observations.some(([, , warmup]) => warmup === 0));
// Of the first file's runs the one with the most visible levels, at the first batch size shown; a run of warm-ups only if
// there is no other.
export function defaultRun(all: RunFacts[]): RunFacts | undefined {
  const runs = all.filter((facts) => facts.file === all[0].file);
  const seen = runs
    .filter((facts) => facts.detail !== "none" && facts.spans > 0)
    .sort((a, b) => deepest(b) - deepest(a) || counted(b) - counted(a) || b.recorded - a.recorded);
  const first = seen[0] ?? runs[0];
  if (first === undefined) return undefined;
  const size = batchOfRuns(runs.filter((facts) => sameExperiment(facts, first)));
  return (
    seen.find(
      (facts) => sameExperiment(facts, first) && facts.batch_size === size && deepest(facts) === deepest(first),
    ) ?? first
  );
}

export const rangeText = (range: Range) => `${Math.round(range.from)}-${Math.round(range.to)}`;
let firstRun: number | undefined; // shown if the URL names none
export function fragment(at: Page = page.value): string {
  const hash = new URLSearchParams({ page: at });
  if (runAt.value !== (firstRun ?? 0)) hash.set("run", String(runAt.value));
  if (view.value !== opening.value) hash.set("view", view.value === null ? "all" : rangeText(view.value));
  if (selection.value !== null) hash.set("select", rangeText(selection.value));
  if (anchor.value !== null) hash.set("span", `${anchor.value.row}.${anchor.value.start}`);
  else if (selected.value >= 0) hash.set("span", String(selected.value));
  if (search.value !== "") hash.set("find", search.value);
  if (batch.value !== null) hash.set("batch", String(batch.value));
  if (theme.value !== "") hash.set("theme", theme.value);
  if (flameMode.value !== "top-down") hash.set("flame", flameMode.value);
  if (focus.value !== null) hash.set("focus", `${focus.value.kind}:${focus.value.index ?? ""}:${focus.value.name}`);
  for (const [key, value] of Object.entries(details.value)) hash.set(`x.${key}`, value);
  for (const [table, key] of Object.entries(sorts.value)) hash.set(`sort.${table}`, key);
  return `#${hash}`;
}

export function startState(document_: Document_) {
  documentData.value = document_;
  firstRun = defaultRun(document_.runs)?.run;
  read();
  // The URL when last read or written. If it differs, a link or the back button was used and its event is pending:
  // writing now would undo the step.
  let known = location.hash;
  addEventListener("hashchange", () => {
    known = location.hash;
    if (known !== fragment()) together(read);
  });
  let shownPage = page.value,
    timer = 0,
    waiting: string | null = null; // written by the timer
  effect(() => {
    const next = fragment();
    const isNewPage = page.value !== shownPage;
    shownPage = page.value;
    clearTimeout(timer); // a drag changes the view sixty times a second
    const write = (how: "pushState" | "replaceState", what: string) => {
      waiting = null;
      if (location.hash !== known || known === what) return;
      history[how](null, "", what);
      known = location.hash;
    };
    if (isNewPage) {
      if (waiting !== null) write("replaceState", waiting); // so that the back button restores the page
      write("pushState", next);
    } else {
      waiting = next;
      timer = window.setTimeout(() => write("replaceState", next), 150);
    }
  });
  effect(() => {
    const facts = run.value;
    if (facts === spans.peek()?.facts) return; // it came with new data
    spans.value = early.value = null;
    windowSpans.value = null;
    if (facts !== undefined && facts.detail !== "none")
      showRun(facts).catch((error) => {
        if (served !== "live") failure.value = String(error.message ?? error); // else a later version has its spans
      });
  });
}
// A hidden tab draws no frames, so do not wait for one.
const framePainted = () =>
  new Promise<void>((done) => {
    if (document.hidden) done();
    else requestAnimationFrame(() => setTimeout(done));
  });
// The timeline is drawn as soon as it can be; other pages have tables to show before spans are unpacked for them.
async function showRun(facts: RunFacts) {
  const isShown = () => run.peek() === facts;
  if (page.peek() !== "timeline") await framePainted();
  const first = await loadDrawable(facts);
  if (isShown()) early.value = first;
  if (page.peek() === "timeline") await framePainted();
  const whole = await loadRun(facts);
  if (isShown()) spans.value = whole;
}
// Shows newer data of the same kind (live.ts).
export function takeDocument(document_: Document_, at: number, whole: Spans | null) {
  runAt.value = at;
  spans.value = early.value = whole;
  documentData.value = document_;
}
export function chooseRun(id: number) {
  selection.value = null;
  selected.value = -1;
  anchor.value = null;
  runAt.value = id;
  view.value = opening.value;
  batch.value = run.value?.batch_size ?? null;
}
// Tables show this batch size; pages of spans show a run of it, with the same levels if possible.
export function chooseBatch(size: number) {
  const shown = run.value,
    runs = experimentRuns.value.filter((facts) => facts.batch_size === size);
  const next = runs.find((facts) => facts.levels === shown?.levels && facts.detail !== "none") ?? defaultRun(runs);
  if (next !== undefined && shown?.batch_size !== size) chooseRun(next.run);
  batch.value = size;
}
