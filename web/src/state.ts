// SPDX-License-Identifier: Apache-2.0
// What the page shows, as signals, mirrored in the URL's fragment: a link reopens the same view, back goes back.
import { computed, effect, signal } from "@preact/signals";
import type { Document_, RunFacts, Spans } from "./data";
import { loadRun } from "./data";

export const PAGES = [
  "overview",
  "timeline",
  "flame",
  "layers",
  "kernels",
  "roofline",
  "batch",
  "memory",
  "runs",
] as const;
export type Page = (typeof PAGES)[number];
export interface Range {
  from: number;
  to: number;
} // ns from the run's first start

export const documentData = signal<Document_ | null>(null);
export const page = signal<Page>("overview");
export const runId = signal<number>(0);
export const view = signal<Range | null>(null); // what the timeline shows; null: all
export const selection = signal<Range | null>(null); // filters the other pages
export const selected = signal<number>(-1); // place of a span
export const search = signal("");
export const batch = signal<number | null>(null);
export const sorts = signal<Record<string, string>>({}); // by table: "key" or "-key"
export const flameMode = signal<"top-down" | "bottom-up" | "left-heavy" | "time">("top-down");
export const helpIsOpen = signal(false);
export const spans = signal<Spans | null>(null);
export const failure = signal("");

export const run = computed<RunFacts | undefined>(() =>
  documentData.value?.runs.find((facts) => facts.run_id === runId.value),
);

const numbers = (text: string | null): Range | null => {
  const [from, to] = (text ?? "").split("-").map(Number);
  return Number.isFinite(from) && Number.isFinite(to) && to > from ? { from, to } : null;
};

function read() {
  const hash = new URLSearchParams(location.hash.slice(1));
  const document_ = documentData.value;
  if (document_ === null) return;
  const wanted = hash.get("page") as Page;
  page.value = PAGES.includes(wanted) ? wanted : "overview";
  const id = Number(hash.get("run"));
  const known = document_.runs.find((facts) => facts.run_id === id) ?? defaultRun(document_);
  runId.value = known?.run_id ?? 0;
  view.value = numbers(hash.get("view"));
  selection.value = numbers(hash.get("select"));
  selected.value = hash.has("span") ? Number(hash.get("span")) : -1;
  search.value = hash.get("find") ?? "";
  batch.value = hash.has("batch") ? Number(hash.get("batch")) : null;
  const mode = hash.get("flame");
  flameMode.value = mode === "bottom-up" || mode === "left-heavy" || mode === "time" ? mode : "top-down";
  sorts.value = Object.fromEntries(
    [...hash].filter(([key]) => key.startsWith("sort.")).map(([key, value]) => [key.slice(5), value]),
  );
}

// The run with most levels that can be seen.
function defaultRun(document_: Document_): RunFacts | undefined {
  const depth = (facts: RunFacts) =>
    facts.levels_counted.reduce((most, counted, level) => (counted > 0 ? level : most), -1);
  return (
    document_.runs
      .filter((facts) => facts.is_shown && facts.spans > 0)
      .sort((a, b) => depth(b) - depth(a) || b.spans - a.spans)[0] ?? document_.runs[0]
  );
}

const span = (range: Range) => `${Math.round(range.from)}-${Math.round(range.to)}`;
export function fragment(): string {
  const hash = new URLSearchParams({ page: page.value });
  if (runId.value !== 0) hash.set("run", String(runId.value));
  if (view.value !== null) hash.set("view", span(view.value));
  if (selection.value !== null) hash.set("select", span(selection.value));
  if (selected.value >= 0) hash.set("span", String(selected.value));
  if (search.value !== "") hash.set("find", search.value);
  if (batch.value !== null) hash.set("batch", String(batch.value));
  if (flameMode.value !== "top-down") hash.set("flame", flameMode.value);
  for (const [table, key] of Object.entries(sorts.value)) hash.set(`sort.${table}`, key);
  return `#${hash}`;
}

export function startState(document_: Document_) {
  documentData.value = document_;
  read();
  addEventListener("hashchange", () => {
    if (location.hash !== fragment()) read();
  });
  let shownPage = page.value,
    timer = 0;
  effect(() => {
    const next = fragment();
    const isNewPage = page.value !== shownPage;
    shownPage = page.value;
    clearTimeout(timer); // a drag changes the view sixty times a second
    const write = () => {
      if (location.hash !== next) history[isNewPage ? "pushState" : "replaceState"](null, "", next);
    };
    if (isNewPage) write();
    else timer = window.setTimeout(write, 150);
  });
  effect(() => {
    const facts = run.value;
    spans.value = null;
    if (facts === undefined || !facts.is_shown) return;
    loadRun(facts).then(
      (loaded) => {
        if (runId.value === facts.run_id) spans.value = loaded;
      },
      (error) => (failure.value = String(error.message ?? error)),
    );
  });
}
export function chooseRun(id: number) {
  view.value = selection.value = null;
  selected.value = -1;
  runId.value = id;
}
