// SPDX-License-Identifier: Apache-2.0
// The data that `xsp report` put behind the page: the document (facts, tables) and each run's spans as columns. Format:
// report/page_columns.h and docs/internals/page.md. A run's columns are unpacked when they are first asked for.

export const LEVELS = ["application", "model", "layer", "library", "kernel"] as const;
export const KINDS = ["sync", "launch", "execution"] as const;
export const BASES = ["none", "explicit", "correlation", "containment", "ambiguous"] as const;
const PAGE_VERSION = 1;

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
export interface RunFacts {
  run_id: number;
  experiment_id: number;
  levels: string;
  batch_size: number | null;
  dropped: number;
  misused: number;
  own_pct: number | null;
  epoch: "unix" | "trace";
  levels_counted: number[];
  bases_counted: number[];
  open: number;
  first_ns: string;
  is_shown: boolean;
  spans: number;
  spans_of_other_clocks: number;
  lanes: Lane[];
  rows: [lane: number, depth: number, first: number, count: number][];
  observations: [start: number, duration: number, warmup: number][];
  columns: Record<string, number>;
}
export interface Experiment {
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
export interface Document_ {
  page_version: number;
  file: string;
  max_spans: number;
  experiments: Experiment[];
  runs: RunFacts[];
  names: string[];
  notes: { run_id: number; key: string; value: string | null }[];
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

export async function loadDocument(): Promise<Document_> {
  const document_ = JSON.parse(new TextDecoder().decode(await unpack("xsp-document"))) as Document_;
  if (document_.page_version !== PAGE_VERSION)
    throw new Error(`this page reads version ${PAGE_VERSION} of its data, not ${document_.page_version}`);
  return document_;
}

const unzigzag = (value: number) => (value % 2 === 0 ? value / 2 : -(value + 1) / 2);

async function column(facts: RunFacts, name: string, put: (i: number, value: number) => void) {
  const planes = await unpack(`xsp-${facts.run_id}-${name}`);
  const width = facts.columns[name],
    count = facts.spans;
  if (planes.length !== width * count)
    throw new Error(`column ${name} of run ${facts.run_id} has ${planes.length} bytes instead of ${width * count}`);
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
  let spans = unpacked.get(facts.run_id);
  if (spans === undefined) unpacked.set(facts.run_id, (spans = unpackRun(facts)));
  return spans;
}
