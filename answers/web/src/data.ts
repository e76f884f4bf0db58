// SPDX-License-Identifier: Apache-2.0
// The data that `xsp report` appended to the page: the document (facts, tables) and each run's spans as columns.
// Format: answers/report/page/spans.h and docs/internals/page.md. A run's columns are unpacked at first use. The page may be
// truncated or damaged: every count is checked before memory of its size is allocated.
import { setUnits } from "./format";
import { ask, askEarly, broken, fromBase64, loadJson, loadJsonOrNull, unpackExactly, unpackPart } from "./parts";

export const LEVELS = ["application", "model", "layer", "library", "kernel"] as const;
export const KINDS = ["sync", "launch", "execution"] as const;
export const BASES = ["none", "explicit", "correlation", "containment", "ambiguous"] as const;
export const PAGE_VERSION = 5;

export interface Column {
  key: string;
  unit: string;
  label: string;
  detail?: boolean; // spread or origin of a figure: shown after the others
}
// Units of keys: those of single keys, else by their endings, the first that fits.
export interface Units {
  keys: Record<string, string>;
  endings: [ending: string, unit: string][];
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
  summary_columns: Column[];
  notes: string[];
  experiment?: string | null;
}
export interface Answer {
  file: number; // place in files
  by: string | null;
  main: string | null; // key of the column that the rows are sorted by first; null: in their own order
  rows_left_out: number;
  table: Table;
}
export interface Comparison {
  verdict: string;
  sentence: string;
  first_of_a: number; // the files from here on are those of a; the ones before it, of b
  answers: Answer[];
}
export interface Lane {
  name: string;
  process: string;
  pid?: number;
  role?: string | null; // of the process: "loader worker 1"
  command?: string | null; // its main thread's name
  thread?: string | null; // role of the thread: "main", "pool"
  overlap: number;
  is_device: boolean;
}
// One run. The page identifies it by its place in the document's runs, since several files may have a run 1.
export interface Samples {
  context: number[]; // numbers of call paths
  count: number[]; // their own samples
}
export interface RunFacts {
  run: number; // its place in runs; its parts are "<run>-<part>"
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
  // Contents of the columns: each span; rectangles of merged neighbours (merged_below_ns); nothing.
  detail: "spans" | "merged" | "none";
  merged_below_ns: number | null;
  has_contexts: boolean; // merged spans, or spans that are in no file (xsp run --aggregate)
  recorded: number; // spans of the run
  kept: number; // of those on the timeline, in the range asked for
  end_ns: number; // latest end of those, from first_ns
  spans: number; // values of each column: kept, or the number of rectangles
  spans_of_other_clocks: number; // not on the timeline
  lanes: Lane[];
  rows: [lane: number, depth: number, first: number, count: number][];
  samples: Samples; // of instructions
  cpu_samples: Samples; // of threads: nanoseconds on a CPU
  wait_samples: Samples; // and of their waits
  observed: string | null; // name of the first observation's span; null: the run is the only one
  observations: [start: number, duration: number, warmup: number][]; // start from first_ns
  counters: Counter[];
  columns: Record<string, number>; // bytes a value
  has_windows?: boolean; // the server has all spans of the run; here is an overview
  tag_block: number; // places a block of tags; 0: no tags here
  tags_left_out: number;
}
// What the machine, a process or a thread used over time: from each time on it has the value.
export interface Counter {
  name: string; // "cpu", "busy", "rss_bytes"
  unit: string; // "%"; "": the name ends in it
  pid: number; // of whose process it is, or is shown with
  is_of_thread: boolean;
  time: number[]; // from first_ns; of a page's text from the time before
  value: number[];
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
  cause: string | null; // of the time, one sentence
  created_ms: number;
  system: Record<string, Cell>;
}
export interface Note {
  file: number;
  run_id: number;
  key: string;
  value: string | null;
}
// Call paths of a file, by number - 1: a frame and the path of its caller, which has a lower number; 0: none.
export interface CallPaths {
  caller: number[];
  name: number[];
  level: number[];
}
// Where frames are: numbers of names, places in files, lines.
export interface Sources {
  files: string[];
  name: number[];
  file: number[];
  line: number[];
}
export interface Document_ {
  page_version: number;
  units: Units;
  files: { name: string; call_paths?: CallPaths }[];
  range_ns: [from: number, to: number] | null; // spans outside are not on the page (xsp report --range)
  run_ids: number[]; // only these runs' spans are on the page (xsp report --run); empty: all runs'
  max_spans: number;
  experiments: Experiment[];
  runs: RunFacts[];
  names: string[];
  sources: Sources;
  notes: Note[];
  analyses: Answer[];
  comparison?: Comparison; // of a page of xsp compare
  has_code?: boolean; // source files: part "code"
  short_names: string[][]; // of kernels, by file: name, short name, name, …
}

// Spans of one run, by place. Times are nanoseconds from the run's first start.
export interface Spans {
  facts: RunFacts;
  count: number;
  start: Float64Array;
  duration: Float64Array;
  name: Uint32Array;
  parent: Int32Array; // -1: none; empty, as is launch, until loadRun has unpacked the second half
  attributes: Uint8Array; // level | kind << 3 | basis << 5
  launch: Int32Array; // of executions; -1: none
  forward: Int32Array; // of backward operators; -1: none; empty: no span has one
  collective: Int32Array; // of collectives: the same one on the lowest rank; -1: none; empty: no span has one
  row: Uint32Array; // index into facts.rows
  context: Uint32Array; // number of the call path, 0: none; empty: no span has one
  end: number; // latest end
  merged: Uint32Array | null; // spans in a rectangle; null: each is one
  busy: Float64Array | null; // their durations in all; null: the rectangle's own
  id: Float64Array | null; // span_id; 0: a rectangle of several; of runs with windows, when all else is there
}
export const countOf = (spans: Spans, i: number) => (spans.merged === null ? 1 : spans.merged[i]);
export const busyOf = (spans: Spans, i: number) => (spans.busy === null ? spans.duration[i] : spans.busy[i]);
// A context of the whole run: a chain of names. Exact where rectangles are merged.
export interface Contexts {
  parent: number[]; // place of the context around it; -1: none
  name: number[];
  level: number[];
  count: number[];
  own_ns: number[]; // without spans nested on their track
  first_ns: number[];
  folded: number; // spans counted in the context around theirs, because there were too many contexts
  left_out: number; // spans counted in no context, for the same reason
  are_roots_joined: boolean; // for the same reason steps share one context ("NAME and others")
  totals: Totals;
}
// Names of the whole run, each by level and kind.
export interface Totals {
  name: number[];
  level: number[];
  kind: number[];
  count: number[];
  total_ns: number[];
  least_ns: number[];
  most_ns: number[];
  left_out: number; // spans of names beyond the limit
}
export const levelOf = (spans: Spans, i: number) => spans.attributes[i] & 7;
export const kindOf = (spans: Spans, i: number) => (spans.attributes[i] >> 3) & 3;
export const basisOf = (spans: Spans, i: number) => spans.attributes[i] >> 5;

// ---- the document
// As the page has them: a browser reads two lists of numbers much faster than 100,000 small ones.
interface PackedObservations {
  start: number[]; // from that of the one before, the first's from first_ns
  duration: number[];
  warmup: number[]; // places
}
function unpackObservations(packed: unknown, place: number): RunFacts["observations"] {
  const { start, duration, warmup } = (packed ?? {}) as Partial<PackedObservations>;
  if (!Array.isArray(start) || !Array.isArray(duration) || !Array.isArray(warmup) || start.length !== duration.length)
    throw broken(`of run ${place}, the observations are malformed`);
  let at = 0;
  const observations = start.map((more, i): [number, number, number] => [(at += more), duration[i], 0]);
  for (const i of warmup) if (observations[i] !== undefined) observations[i][2] = 1;
  return observations;
}
function unpackCounters(counters: unknown, place: number): Counter[] {
  const isBroken = ({ time, value }: Counter) =>
    !Array.isArray(time) || time.length !== value?.length || ![...time, ...value].every(Number.isFinite);
  if (!Array.isArray(counters) || counters.some(isBroken)) throw broken(`the counters of run ${place} are malformed`);
  return counters.map((counter: Counter) => {
    let at = 0;
    return { ...counter, time: counter.time.map((more) => (at += more)) };
  });
}
const SPANS_MOST = 1 << 26; // more than any page has: the numbers are wrong
const isCount = (value: unknown, most = SPANS_MOST) =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= most;

function checkRun(facts: RunFacts, place: number, document_: Document_) {
  const wrong = (what: string) => broken(`of run ${place}, ${what}`);
  if (facts.run !== place || !isCount(facts.file, document_.files.length - 1)) throw wrong("the place is wrong");
  if (!isCount(facts.spans)) throw wrong("the number of spans is impossible");
  if (!Array.isArray(facts.lanes) || !Array.isArray(facts.rows)) throw wrong("lanes or rows are missing");
  let next = 0;
  for (const [lane, depth, first, count] of facts.rows) {
    if (!isCount(lane, facts.lanes.length - 1) || !isCount(depth) || first !== next || !isCount(count))
      throw wrong("the rows do not fit together");
    next += count;
  }
  if (facts.detail !== "none" && next !== facts.spans) throw wrong("the rows do not hold all spans");
  for (const width of Object.values(facts.columns))
    if (!isCount(width, 8) || width === 0) throw wrong("a column has an impossible width");
}

let namesKnown = 0;
let pathsKnown: number[] = []; // by file
function checkCallPaths(paths: CallPaths | undefined, names: number): number {
  if (paths === undefined) return 0;
  const count = paths.caller?.length ?? -1,
    isBroken =
      [paths.caller, paths.name, paths.level].some((column) => !Array.isArray(column) || column.length !== count) ||
      paths.caller.some((caller, i) => !isCount(caller, i)) ||
      paths.name.some((name) => !isCount(name, names - 1)) ||
      paths.level.some((level) => !isCount(level, LEVELS.length - 1));
  if (isBroken) throw broken("its call paths are malformed");
  return count;
}
function checkSources({ files, name, file, line }: Sources, names: number) {
  const isBroken =
    [files, name, file, line].some((column) => !Array.isArray(column)) ||
    file.length !== name.length ||
    line.length !== name.length ||
    files.some((text) => typeof text !== "string") ||
    name.some((number) => !isCount(number, names - 1)) ||
    file.some((place) => !isCount(place, files.length - 1)) ||
    line.some((number) => !isCount(number, Number.MAX_SAFE_INTEGER));
  if (isBroken) throw broken("its source lines are malformed");
}
function checkSamples({ run, file, samples, cpu_samples, wait_samples }: RunFacts) {
  const isBroken = (of: Samples) =>
    !Array.isArray(of?.context) ||
    of.context.length !== of.count?.length ||
    of.context.some((path) => !isCount(path, pathsKnown[file]) || path === 0) ||
    of.count.some((count) => !isCount(count, Number.MAX_SAFE_INTEGER));
  if ([samples, cpu_samples, wait_samples].some(isBroken)) throw broken(`the samples of run ${run} are malformed`);
}
export async function loadDocument(): Promise<Document_> {
  return checkDocument((await loadJson("document")) as Document_);
}
const versions = new WeakMap<RunFacts, string>(); // of a live page's parts
const versionOf = (facts: RunFacts) => versions.get(facts) ?? "";
export function checkDocument(document_: Document_, version = ""): Document_ {
  if (document_?.page_version !== PAGE_VERSION)
    throw new Error(`this page reads version ${PAGE_VERSION} of its data, not ${document_?.page_version}`);
  for (const key of ["files", "experiments", "runs", "names", "notes", "analyses", "short_names"] as const)
    if (!Array.isArray(document_[key])) throw broken(`it has no ${key}`);
  if (!Array.isArray(document_.units?.endings)) throw broken("it has no units");
  setUnits(document_.units);
  document_.runs.forEach((facts, place) => {
    try {
      facts.observations = unpackObservations(facts.observations, place);
      facts.counters = unpackCounters(facts.counters, place);
      checkRun(facts, place, document_);
    } catch (error) {
      throw error instanceof TypeError ? broken(`the facts of run ${place} are malformed`) : error;
    }
  });
  for (const { rows_left_out, table } of document_.analyses)
    // the largest are here, by size
    if (rows_left_out > 0) table.rows.sort((a, b) => Number(a.layer_index ?? 0) - Number(b.layer_index ?? 0));
  namesKnown = document_.names.length;
  checkSources(document_.sources ?? {}, namesKnown);
  pathsKnown = document_.files.map(({ call_paths }) => checkCallPaths(call_paths, namesKnown));
  document_.runs.forEach(checkSamples);
  for (const facts of document_.runs) versions.set(facts, version);
  return document_;
}

// ---- columns: planes of bytes, the lowest first
// A loop for each width: most of the time to open a page is spent here.
function into32(values: Uint32Array, planes: Uint8Array, width: number) {
  const count = values.length,
    at = (plane: number) => planes.subarray(plane * count, (plane + 1) * count),
    [first, second, third, fourth] = [at(0), at(1), at(2), at(3)];
  if (width === 1) values.set(first);
  else if (width === 2) for (let i = 0; i < count; i++) values[i] = first[i] | (second[i] << 8);
  else if (width === 3) for (let i = 0; i < count; i++) values[i] = first[i] | (second[i] << 8) | (third[i] << 16);
  else for (let i = 0; i < count; i++) values[i] = first[i] | (second[i] << 8) | (third[i] << 16) | (fourth[i] << 24);
}
function into64(values: Float64Array, planes: Uint8Array, width: number) {
  const count = values.length,
    low = new Uint32Array(count);
  into32(low, planes, Math.min(width, 4));
  if (width <= 4) {
    values.set(low);
    return;
  }
  const high = new Uint32Array(count);
  into32(high, planes.subarray(4 * count), width - 4);
  for (let i = 0; i < count; i++) values[i] = high[i] * 0x100000000 + low[i];
}
const unzigzag32 = (value: number) => (value >>> 1) ^ -(value & 1);
// Whole numbers beyond 31 bits too.
const unzigzag = (value: number) => {
  const half = Math.floor(value / 2);
  return half * 2 === value ? half : -half - 1;
};

// ---- windows: spans of a range of time, which a server answers
export interface WindowAnswer {
  detail: "spans" | "merged";
  merged_below_ns: number | null;
  spans: number;
  rows: RunFacts["rows"]; // the same as the run's, with other places
  columns: Record<string, number>;
  parts: Record<string, string>; // by column, base64
}
const windowParts = new WeakMap<RunFacts, Record<string, string>>();
// Facts of the run, as if the page had the window's spans only.
export function windowFacts(facts: RunFacts, answer: WindowAnswer, document_: Document_): RunFacts {
  const { detail, merged_below_ns, spans, rows, columns, parts } = answer,
    made = { ...facts, detail, merged_below_ns, spans, rows, columns };
  checkRun(made, facts.run, document_);
  if (rows.length !== facts.rows.length) throw broken(`a window of run ${facts.run} has other rows`);
  windowParts.set(made, parts ?? {});
  return made;
}

// ---- columns of a run
async function planesOf(facts: RunFacts, name: string, widest: number) {
  const width = facts.columns[name];
  if (width === undefined || width > widest) throw broken(`run ${facts.run} has no column "${name}"`);
  const id = `${facts.run}-${name}`,
    text = windowParts.get(facts)?.[name],
    length = width * facts.spans;
  const planes =
    text === undefined
      ? await unpackPart(id, versionOf(facts), length)
      : await unpackExactly(id, fromBase64(id, text), length);
  return { planes, width };
}
async function column32(facts: RunFacts, name: string): Promise<Uint32Array> {
  const { planes, width } = await planesOf(facts, name, 4),
    values = new Uint32Array(facts.spans);
  into32(values, planes, width);
  return values;
}
async function column64(facts: RunFacts, name: string): Promise<Float64Array> {
  const { planes, width } = await planesOf(facts, name, 8),
    values = new Float64Array(facts.spans);
  into64(values, planes, width);
  return values;
}

// Places, as differences; in place.
async function references(facts: RunFacts, name: string, hasNone: boolean): Promise<Int32Array> {
  const values = await column32(facts, name),
    places = new Int32Array(values.buffer),
    less = hasNone ? 1 : 0,
    count = facts.spans;
  let place = 0,
    isBroken = false;
  for (let i = 0; i < count; i++) {
    if (hasNone && values[i] === 0) {
      places[i] = -1;
      continue;
    }
    place += unzigzag32(values[i] - less);
    places[i] = place - less;
    isBroken ||= place < less - 1 || place - less >= count;
  }
  if (isBroken) throw broken(`column "${name}" of run ${facts.run} leads nowhere`);
  return places;
}

async function callPathsOf(facts: RunFacts): Promise<Uint32Array> {
  if (facts.columns.context === undefined) return new Uint32Array(0);
  const values = await column32(facts, "context"),
    most = pathsKnown[facts.file];
  if (values.some((path) => path > most)) throw broken(`a call path of run ${facts.run} is missing`);
  return values;
}

// Chains of parents must end.
function checkParents(facts: RunFacts, parents: Int32Array): Int32Array {
  const above = new Uint8Array(parents.length), // 1: visited, 2: known to end
    way: number[] = [];
  for (let i = 0; i < parents.length; i++) {
    let at = i;
    for (; at >= 0 && above[at] === 0; at = parents[at]) {
      above[at] = 1;
      way.push(at);
    }
    if (at >= 0 && above[at] === 1) throw broken(`a span of run ${facts.run} is its own ancestor`);
    while (way.length > 0) above[way.pop()!] = 2;
  }
  return parents;
}

async function times(facts: RunFacts) {
  const [gap, duration] = await Promise.all([
    facts.columns.gap <= 4 ? column32(facts, "gap") : column64(facts, "gap"),
    column64(facts, "duration"),
  ]);
  const row = new Uint32Array(facts.spans),
    start = gap instanceof Float64Array ? gap : new Float64Array(facts.spans),
    signed = gap instanceof Float64Array ? unzigzag : unzigzag32;
  let end = 0;
  facts.rows.forEach(([, , first, rowCount], at) => {
    let before = 0;
    for (let i = first; i < first + rowCount; i++) {
      start[i] = before + signed(gap[i]);
      before = start[i] + duration[i];
      if (before > end) end = before;
    }
    row.fill(at, first, first + rowCount);
  });
  return { start, duration, row, end };
}

async function names(facts: RunFacts): Promise<Uint32Array> {
  const values = await column32(facts, "name");
  let most = 0;
  for (let i = 0; i < values.length; i++) if (values[i] > most) most = values[i];
  if (values.length > 0 && most >= namesKnown) throw broken(`a name of run ${facts.run} is missing`);
  return values;
}

async function mergedOf(facts: RunFacts): Promise<{ merged: Uint32Array | null; idle: Float64Array | null }> {
  if (facts.detail !== "merged") return { merged: null, idle: null };
  const [merged, idle] = await Promise.all([column32(facts, "merged"), column64(facts, "idle")]);
  return { merged, idle: idle.map(unzigzag) };
}

async function unpackDrawable(facts: RunFacts): Promise<Spans> {
  const urgent = Promise.all([times(facts), names(facts), planesOf(facts, "attributes", 1), mergedOf(facts)]);
  if (!windowParts.has(facts))
    // For unpackRest.
    for (const name of ["parent", "link", "context", "id"])
      if (facts.columns[name] !== undefined) askEarly(`${facts.run}-${name}`, versionOf(facts));
  const [time, name, attributes, { merged, idle }] = await urgent;
  return {
    facts,
    count: facts.spans,
    ...time,
    name,
    parent: new Int32Array(0),
    attributes: attributes.planes,
    launch: new Int32Array(0),
    forward: new Int32Array(0),
    collective: new Int32Array(0),
    context: new Uint32Array(0),
    merged,
    busy: idle === null ? null : idle.map((free, i) => time.duration[i] - free),
    id: null,
  };
}

// Into the same object, so that references to the spans stay valid.
async function unpackRest(facts: RunFacts): Promise<Spans> {
  const spans = await loadDrawable(facts);
  const [parent, link, context, id] = await Promise.all([
    references(facts, "parent", false),
    references(facts, "link", true),
    callPathsOf(facts),
    facts.has_windows ? idsOf(facts) : null,
  ]);
  return Object.assign(spans, { parent: checkParents(facts, parent), ...splitLinks(spans, link), context, id });
}

// Links of executions lead to their launches, those of collectives to the same one on another rank, those of other spans to
// forward operators.
function splitLinks(spans: Spans, link: Int32Array): Pick<Spans, "launch" | "forward" | "collective"> {
  const EXECUTION = KINDS.indexOf("execution"),
    LIBRARY = LEVELS.indexOf("library"),
    none = new Int32Array(0);
  let launch = link,
    forward = none,
    collective = none;
  for (let i = 0; i < link.length; i++) {
    if (link[i] < 0 || kindOf(spans, i) === EXECUTION) continue;
    if (launch === link) launch = link.slice();
    launch[i] = -1;
    if (levelOf(spans, i) === LIBRARY) {
      if (collective === none) collective = new Int32Array(link.length).fill(-1);
      collective[i] = link[i];
    } else {
      if (forward === none) forward = new Int32Array(link.length).fill(-1);
      forward[i] = link[i];
    }
  }
  return { launch, forward, collective };
}

// What is made of a key, kept as long as the key.
export const once = <Key extends object, Value>(make: (key: Key) => Value) => {
  const made = new WeakMap<Key, Value>();
  return (key: Key): Value => {
    let found = made.get(key);
    if (found === undefined) made.set(key, (found = make(key)));
    return found;
  };
};
// The columns that frames need: start, duration, name. Parents and launches, nearly half of the work, come next.
export const loadDrawable = once(unpackDrawable);
export const loadRun = once(unpackRest);

// ---- details of one span
// A cache by key, of the last few.
function remembered<T>(most: number, make: (key: string) => Promise<T>): (key: string) => Promise<T> {
  const known = new Map<string, Promise<T>>();
  return (key) => {
    let made = known.get(key);
    if (made === undefined) {
      if (known.size >= most) known.delete(known.keys().next().value!);
      known.set(key, (made = make(key)));
    }
    return made;
  };
}
type Tags = Record<string, Cell>;
// Of one key: the spans of the block that have it (as differences; absent if the same as for the previous key), and
// their values.
interface TagGroup {
  key: string;
  places?: number[];
  integers?: number[]; // as differences
  numbers?: (number | null)[];
  digits?: string[]; // integers beyond 2^53
  texts?: string[];
  values?: number[]; // index into the texts
}
function tagsOf(groups: TagGroup[]): Map<number, Tags> {
  const found = new Map<number, Tags>();
  let places: number[] = [];
  for (const { key, places: from, integers, numbers, digits, texts, values } of groups) {
    if (from !== undefined) places = from;
    let place = 0,
      integer = 0;
    places.forEach((step, i) => {
      place += step;
      const value = integers ? (integer += integers[i]) : texts ? texts[values![i]] : (numbers ?? digits!)[i];
      const tags = found.get(place) ?? (Object.create(null) as Tags);
      let name = key;
      for (let again = 2; name in tags; again++) name = `${key} #${again}`;
      tags[name] = value ?? null;
      found.set(place, tags);
    });
  }
  return found;
}
// None of a block's spans may have tags: then there is no such part.
const tagBlocks = (facts: RunFacts) =>
  remembered(8, async (id) => {
    const groups = await loadJsonOrNull(`${facts.run}-tags-${id}`, versionOf(facts));
    return tagsOf((groups ?? []) as TagGroup[]);
  });
const tagsOfRun = new WeakMap<RunFacts, ReturnType<typeof tagBlocks>>();

async function askForTags(facts: RunFacts, place: number): Promise<Tags> {
  const id = await loadSpanId(facts, place);
  if (id === null) return {};
  const reply = await ask("tags", { run_id: facts.run_id, span_id: id });
  const pairs = reply === null ? [] : ((await reply.json()) as [string, Cell][]),
    tags = Object.create(null) as Tags;
  for (const [key, value] of pairs) {
    let name = key;
    for (let again = 2; name in tags; again++) name = `${key} #${again}`;
    tags[name] = value;
  }
  return tags;
}

// Tags of a span, from its block. A merged rectangle has none.
export async function loadTags(facts: RunFacts, place: number): Promise<Tags> {
  if (!isCount(place, facts.spans - 1)) return {};
  if (facts.has_windows) return askForTags(facts, place);
  if (!(facts.tag_block > 0)) return {};
  let blocks = tagsOfRun.get(facts);
  if (blocks === undefined) tagsOfRun.set(facts, (blocks = tagBlocks(facts)));
  return (await blocks(String(Math.floor(place / facts.tag_block)))).get(place % facts.tag_block) ?? {};
}

async function unpackIds(facts: RunFacts): Promise<Float64Array> {
  const ids = await column64(facts, "id");
  let id = 0;
  for (let i = 0; i < ids.length; i++) ids[i] = id += unzigzag(ids[i]);
  return ids;
}
const idsOf = once(unpackIds);
// The span's number in its file: `select * from span where run_id = … and span_id = …`. Null: a merged rectangle, or a
// number beyond 2^53.
export async function loadSpanId(facts: RunFacts, place: number): Promise<number | null> {
  if (!isCount(place, facts.spans - 1) || facts.columns.id > 6) return null;
  return (await idsOf(facts))[place] || null;
}

const contextsOf = once((facts: RunFacts) => loadJson(`${facts.run}-contexts`, versionOf(facts)) as Promise<Contexts>);
// Null: the run's spans are complete, contexts are computed from them.
export const loadContexts = async (facts: RunFacts): Promise<Contexts | null> =>
  facts.has_contexts ? contextsOf(facts) : null;
