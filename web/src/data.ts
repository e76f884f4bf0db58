// SPDX-License-Identifier: Apache-2.0
// The data that `xsp report` put behind the page: the document (facts, tables) and each run's spans as columns. Format:
// report/page_columns.h and docs/internals/page.md. A run's columns are unpacked when they are first asked for.

export const LEVELS = ["application", "model", "layer", "library", "kernel"] as const;
export const KINDS = ["sync", "launch", "execution"] as const;
export const BASES = ["none", "explicit", "correlation", "containment", "ambiguous"] as const;
const PAGE_VERSION = 2;

export interface Column {
  key: string;
  unit: string;
}
export type Cell = number | string | boolean | null;
export interface Table {
  analysis: string;
  title: string | null;
  run_set: { batch_size: number | null; levels: string | null; run_ids: number[]; observations: number };
  statistic: string;
  columns: Column[];
  rows: Record<string, Cell>[];
  summary: Record<string, Cell>;
  notes: string[];
  experiment?: string | null;
}
export interface Answer {
  file: number; // place in files
  by: string | null;
  rows_left_out: number;
  table: Table;
}
export interface Lane {
  name: string;
  process: string;
  overlap: number;
  is_device: boolean;
}
// One run. On the page it is known by its place in the document's runs: several files may have a run 1.
export interface RunFacts {
  run: number; // its place in runs; its parts are the elements "xsp-<run>-<part>"
  file: number; // place in files
  run_id: number; // in its file
  experiment_id: number; // in its file
  levels: string;
  batch_size: number | null;
  dropped: number;
  misused: number;
  own_pct: number | null;
  epoch: "unix" | "trace";
  levels_counted: number[];
  bases_counted: number[];
  open: number;
  first_ns: string; // beyond 2^53
  // What the columns hold: each span; rectangles of spans too close to be told apart (merged_below_ns); nothing.
  detail: "spans" | "merged" | "none";
  merged_below_ns: number | null;
  recorded: number; // spans of the run
  spans: number; // values of each column
  spans_of_other_clocks: number; // not on the timeline
  lanes: Lane[];
  rows: [lane: number, depth: number, first: number, count: number][];
  observations: [start: number, duration: number, warmup: number][]; // start from first_ns
  columns: Record<string, number>; // bytes a value
  tag_block: number; // places a block of tags; 0: no tags here
  tags_left_out: number;
}
export interface Experiment {
  file: number;
  experiment_id: number;
  name: string | null;
  workload: string | null;
  framework: string | null;
  framework_version: string | null;
  command: string | null;
  xsp_version: string | null;
  created_ms: number;
  system: Record<string, Cell>;
}
export interface Note {
  file: number;
  run_id: number;
  key: string;
  value: string | null;
}
export interface Document_ {
  page_version: number;
  files: { name: string }[];
  range_ns: [from: number, to: number] | null; // spans outside are not on the page (xsp report --range)
  max_spans: number;
  experiments: Experiment[];
  runs: RunFacts[];
  names: string[];
  notes: Note[];
  analyses: Answer[];
}

// Spans of one run, by place. Times are nanoseconds from the run's first start.
export interface Spans {
  facts: RunFacts;
  count: number;
  start: Float64Array;
  duration: Float64Array;
  name: Uint32Array;
  parent: Int32Array; // -1: none
  attributes: Uint8Array; // level | kind << 3 | basis << 5
  launch: Int32Array; // of executions; -1: none
  row: Uint32Array; // index into facts.rows
  end: number; // latest end
  merged: Uint32Array | null; // spans that a rectangle stands for; null: each is one
  busy: Float64Array | null; // their durations in all; null: the rectangle's own
}
export const countOf = (spans: Spans, i: number) => (spans.merged === null ? 1 : spans.merged[i]);
export const busyOf = (spans: Spans, i: number) => (spans.busy === null ? spans.duration[i] : spans.busy[i]);
// A context of the whole run: a chain of names. Exact where rectangles are merged.
export interface Contexts {
  parent: number[]; // place of the context around it; -1: none
  name: number[];
  level: number[];
  count: number[];
  own_ns: number[]; // without what nests in its spans on their track; launches 0
  first_ns: number[];
}
export const levelOf = (spans: Spans, i: number) => spans.attributes[i] & 7;
export const kindOf = (spans: Spans, i: number) => (spans.attributes[i] >> 3) & 3;
export const basisOf = (spans: Spans, i: number) => spans.attributes[i] >> 5;

function packed(id: string): Uint8Array {
  const element = document.getElementById(id);
  if (element === null)
    throw new Error(`this report lacks its part "${id}": it was cut short; write it again with xsp report`);
  const text = element.textContent ?? "";
  element.remove(); // its text is no longer needed
  const native = (Uint8Array as unknown as { fromBase64?: (text: string) => Uint8Array }).fromBase64;
  if (native !== undefined) return native(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

async function unpack(id: string): Promise<Uint8Array> {
  const stream = new Blob([packed(id) as BlobPart]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Of the first version, until the program writes the second.
// eslint-disable-next-line
function upgrade(old: any): Document_ {
  if (old.page_version !== 1) return old;
  const runs = old.runs.map((facts: any, run: number) => ({
    ...facts,
    run,
    file: 0,
    detail: facts.is_shown ? "spans" : "none",
    merged_below_ns: null,
    recorded: facts.spans + facts.spans_of_other_clocks,
    tag_block: 0,
    tags_left_out: 0,
    part: facts.run_id,
  }));
  const inFile = (one: any) => ({ ...one, file: 0 });
  return {
    ...old,
    page_version: PAGE_VERSION,
    files: [{ name: old.file }],
    range_ns: null,
    runs,
    experiments: old.experiments.map(inFile),
    notes: old.notes.map(inFile),
    analyses: old.analyses.map(inFile),
  };
}

export async function loadDocument(): Promise<Document_> {
  const document_ = upgrade(JSON.parse(new TextDecoder().decode(await unpack("xsp-document"))));
  if (document_.page_version !== PAGE_VERSION)
    throw new Error(`this page reads version ${PAGE_VERSION} of its data, not ${document_.page_version}`);
  return document_;
}

const unzigzag = (value: number) => (value % 2 === 0 ? value / 2 : -(value + 1) / 2);

async function column(facts: RunFacts, name: string, put: (i: number, value: number) => void) {
  const planes = await unpack(`xsp-${(facts as any).part ?? facts.run}-${name}`);
  const width = facts.columns[name],
    count = facts.spans;
  if (planes.length !== width * count)
    throw new Error(`column ${name} of run ${facts.run} has ${planes.length} bytes instead of ${width * count}`);
  for (let i = 0; i < count; i++) {
    let value = 0;
    for (let plane = width - 1; plane >= 0; plane--) value = value * 256 + planes[plane * count + i];
    put(i, value);
  }
}

async function unpackRun(facts: RunFacts): Promise<Spans> {
  const count = facts.spans;
  const spans: Spans = {
    facts,
    count,
    start: new Float64Array(count),
    duration: new Float64Array(count),
    name: new Uint32Array(count),
    parent: new Int32Array(count),
    attributes: new Uint8Array(count),
    launch: new Int32Array(count),
    row: new Uint32Array(count),
    end: 0,
    merged: null,
    busy: null,
  };
  await column(facts, "gap", (i, value) => (spans.start[i] = unzigzag(value)));
  await column(facts, "duration", (i, value) => (spans.duration[i] = value));
  await column(facts, "name", (i, value) => (spans.name[i] = value));
  let parent = 0,
    link = 0;
  await column(facts, "parent", (i, value) => (spans.parent[i] = parent += unzigzag(value)));
  await column(facts, "attributes", (i, value) => (spans.attributes[i] = value));
  await column(facts, "link", (i, value) => (spans.launch[i] = value === 0 ? -1 : (link += unzigzag(value - 1)) - 1));
  facts.rows.forEach(([, , first, rowCount], row) => {
    let before = 0;
    for (let i = first; i < first + rowCount; i++) {
      spans.start[i] += before;
      before = spans.start[i] + spans.duration[i];
      spans.row[i] = row;
      if (before > spans.end) spans.end = before;
    }
  });
  return spans;
}

const unpacked = new Map<number, Promise<Spans>>();
export function loadRun(facts: RunFacts): Promise<Spans> {
  let spans = unpacked.get(facts.run);
  if (spans === undefined) unpacked.set(facts.run, (spans = unpackRun(facts)));
  return spans;
}

// Tags of a span, from the block it lies in. Of a merged rectangle: none.
export async function loadTags(_facts: RunFacts, _place: number): Promise<Record<string, Cell>> {
  return {};
}
// The number that the span has in its file: `select * from span where run_id = … and span_id = …`.
export async function loadSpanId(_facts: RunFacts, _place: number): Promise<number | null> {
  return null;
}
// Null: the run's spans are all there, contexts follow from them.
export async function loadContexts(_facts: RunFacts): Promise<Contexts | null> {
  return null;
}
