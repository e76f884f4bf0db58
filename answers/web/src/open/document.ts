// SPDX-License-Identifier: Apache-2.0
// An .xsp file as the page's document and parts, made in the browser: experiments, notes, runs and their spans. Tables, tags, call
// paths, samples and counters are left to xsp report.
import { KINDS, LEVELS, BASES, PAGE_VERSION, type Document_, type Experiment, type Lane, type RunFacts } from "../data";
import { Chunks, type Ids } from "./chunks";
import { differences, gaps, planes } from "./columns";
import { layOut, type Layout } from "./layout";
import { Database, type Row, type Value } from "./sqlite";

const APPLICATION_ID = 0x58535031,
  FORMAT = 1;
const IS_OPEN = 1, // of flags
  STORED_BASIS = 4; // bits of flags from here on
const UNITS: Document_["units"] = {
  // of the figures that the page makes itself (answers/table/words.c)
  keys: {},
  endings: [
    ["_ms", "ms"],
    ["_ns", "ns"],
    ["_pct", "%"],
    ["_bytes", "bytes"],
  ],
};
const NONE = { context: [], count: [] };

const text = (value: Value) => (typeof value === "string" ? value : null);
const number = (value: Value) => (value === null ? null : Number(value));
type Parts = Map<string, Uint8Array>;
interface File {
  database: Database;
  chunks: Chunks;
  parts: Parts;
}

// ---- spans
interface RunSpans {
  count: number;
  first: bigint; // start
  find: (id: number | bigint) => number; // -1: no such span
  start: Float64Array;
  duration: Float64Array;
  level: Float64Array;
  kind: Float64Array;
  basis: Float64Array;
  flags: Float64Array;
  track: Float64Array;
  name: Float64Array;
  parent: Int32Array; // by span: the span around it, or -1
  link: Int32Array; // by span: launch, or forward operator
}
// Spans by their ids; ids that count up need no map.
function finder(ids: Ids): (id: number | bigint) => number {
  const first = Number(ids[0] ?? 0);
  let counts = true;
  for (let i = 0; i < ids.length && counts; i++) counts = ids[i] === first + i;
  if (counts) return (id) => (Number(id) >= first && Number(id) < first + ids.length ? Number(id) - first : -1);
  const byId = new Map<number | bigint, number>();
  for (let i = 0; i < ids.length; i++) byId.set(ids[i], i);
  return (id) => byId.get(id) ?? -1;
}
function referred(ids: Ids | null, find: (id: number | bigint) => number, count: number): Int32Array {
  const found = new Int32Array(count).fill(-1);
  if (ids !== null) for (let i = 0; i < count; i++) if (ids[i] !== 0) found[i] = find(ids[i]);
  return found;
}
// Executions by the only launch of their correlation id, backward operators by their forward operator.
function linksOf(correlation: Ids, kind: Float64Array, links: Int32Array): Int32Array {
  const launches = new Map<number | bigint, number>();
  for (let i = 0; i < kind.length; i++)
    if (correlation[i] !== 0 && KINDS[kind[i]] === "launch")
      launches.set(correlation[i], launches.has(correlation[i]) ? -1 : i);
  for (let i = 0; i < kind.length; i++)
    if (KINDS[kind[i]] === "execution") links[i] = launches.get(correlation[i]) ?? -1;
  return links;
}
function spansOf({ chunks }: File, run: number): RunSpans | null {
  const ids = chunks.ids(run, "span_id"),
    times = chunks.times(run, "start_ns");
  if (ids === null || times === null) return null;
  const count = ids.length,
    find = finder(ids),
    column = (name: string) => chunks.numbers(run, name) ?? new Float64Array(count);
  const flags = column("flags"),
    kind = chunks.numbers(run, "derived_kind") ?? column("kind"),
    basis = chunks.numbers(run, "basis") ?? flags.map((value) => Math.max(0, (value >> STORED_BASIS) - 1));
  const all = {
    start: times.from,
    duration: column("duration_ns"),
    level: column("level"),
    track: column("track_id"),
    name: column("name"),
    ...{ flags, kind, basis },
  };
  if (Object.values(all).some((values) => values.length !== count))
    throw new Error("not a whole .xsp file: its columns have different lengths");
  const forward = referred(chunks.ids(run, "forward_id"), find, count),
    parents = chunks.ids(run, "parent_id") ?? chunks.ids(run, "recorded_parent_id");
  const parent = referred(parents, find, count),
    link = linksOf(chunks.ids(run, "correlation_id") ?? column("correlation_id"), kind, forward);
  return { count, first: times.first, find, parent, link, ...all };
}

// ---- a run
function put(parts: Parts, facts: RunFacts, column: string, values: Float64Array) {
  const { bytes, width } = planes(values);
  parts.set(`${facts.run}-${column}`, bytes);
  facts.columns[column] = width;
}
function putColumns(file: File, facts: RunFacts, spans: RunSpans, { order, place, rows }: Layout) {
  const placed = (values: Float64Array) => Float64Array.from(order, (i) => values[i]);
  const places = (values: Int32Array) => Int32Array.from(order, (i) => (values[i] < 0 ? -1 : place[values[i]]));
  const start = placed(spans.start),
    duration = placed(spans.duration);
  put(file.parts, facts, "gap", gaps(start, duration, rows));
  put(file.parts, facts, "duration", duration);
  put(file.parts, facts, "name", placed(spans.name));
  put(file.parts, facts, "parent", differences(places(spans.parent), false));
  put(file.parts, facts, "link", differences(places(spans.link), true));
  put(
    file.parts,
    facts,
    "attributes",
    Float64Array.from(order, (i) => spans.level[i] | (spans.kind[i] << 3) | (spans.basis[i] << 5)),
  );
}

function laneOf(track: Row | undefined, id: number, overlap: number, process: string): Lane {
  const [pid, thread, device, stream] = ["process_id", "thread_id", "device_id", "stream_id"].map((key) =>
    number(track?.[key] ?? null),
  );
  const name =
    text(track?.name ?? null) ||
    (device !== null && stream !== null
      ? `device ${device} stream ${stream}`
      : thread !== null
        ? `thread ${thread}`
        : id === 0
          ? "no thread"
          : `track ${id}`);
  const role = Number(track?.world_size ?? 0) > 1 ? `rank ${track?.rank}` : null;
  return { name, process, pid: pid ?? undefined, role, overlap, is_device: device !== null };
}

const countsOf = (values: Float64Array, kinds: number) => {
  const counts = new Array<number>(kinds).fill(0);
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1;
  return counts;
};

function emptyFacts(row: Row, run: number): RunFacts {
  return {
    run,
    file: 0,
    run_id: Number(row.run_id),
    experiment_id: Number(row.experiment_id),
    levels: text(row.levels) ?? "",
    batch_size: number(row.batch_size),
    dropped: Number(row.dropped_count),
    misused: Number(row.misused_count),
    own_pct: number(row.own_pct),
    epoch: row.epoch === "unix" ? "unix" : "trace",
    levels_counted: LEVELS.map(() => 0),
    bases_counted: BASES.map(() => 0),
    open: 0,
    first_ns: "0",
    detail: "none",
    merged_below_ns: null,
    has_contexts: false,
    recorded: 0,
    kept: 0,
    end_ns: 0,
    spans: 0,
    spans_of_other_clocks: 0,
    lanes: [],
    rows: [],
    samples: NONE,
    cpu_samples: NONE,
    wait_samples: NONE,
    observed: null,
    observations: [],
    counters: [],
    columns: {},
    tag_block: 0,
    tags_left_out: 0,
  };
}

// As the page packs them; each start from the one before.
function observationsOf(rows: Row[], first: bigint): unknown {
  let before = first;
  const start = rows.map((row) => {
    const at = BigInt(row.start_ns as number | bigint),
      gap = Number(at - before);
    before = at;
    return gap;
  });
  const warmup = rows.flatMap((row, i) => (Number(row.warmup) !== 0 ? [i] : []));
  return { start, duration: rows.map((row) => Number(row.duration_ns)), warmup };
}

function runOf(file: File, row: Row, run: number, names: string[], process: string): RunFacts {
  const facts = emptyFacts(row, run),
    spans = spansOf(file, facts.run_id),
    ofRun = (table: string) => [...file.database.rows(table)].filter((one) => Number(one.run_id) === facts.run_id),
    observations = ofRun("observation");
  facts.observations = observationsOf(observations, spans?.first ?? 0n) as RunFacts["observations"];
  if (spans === null || spans.count === 0) return facts;
  const end = spans.start.map((start, i) => (spans.flags[i] & IS_OPEN ? Infinity : start + spans.duration[i])),
    layout = layOut({ count: spans.count, track: spans.track, start: spans.start, end, level: spans.level }),
    tracks = new Map(ofRun("track").map((track) => [Number(track.track_id), track]));
  const ends = end.filter((value) => value !== Infinity);
  Object.assign(facts, {
    detail: "spans",
    first_ns: String(spans.first),
    levels_counted: countsOf(spans.level, LEVELS.length),
    bases_counted: countsOf(spans.basis, BASES.length),
    open: spans.count - ends.length,
    recorded: spans.count,
    kept: spans.count,
    spans: spans.count,
    end_ns: ends.reduce((most, value) => Math.max(most, value), 0),
    lanes: layout.lanes.map(({ track, overlap }) => laneOf(tracks.get(track), track, overlap, process)),
    rows: layout.rows,
  });
  const observed = spans.find((observations[0]?.span_id ?? 0) as number | bigint);
  facts.observed = observed < 0 ? null : names[spans.name[observed]];
  putColumns(file, facts, spans, layout);
  return facts;
}

// ---- the file
function experimentsOf(database: Database): Experiment[] {
  return [...database.rows("experiment")].map((row) => {
    const [name, workload, framework, framework_version, command, xsp_version] = [
      "name",
      "workload",
      "framework",
      "framework_version",
      "command",
      "xsp_version",
    ].map((key) => text(row[key]));
    const system = Object.fromEntries(
      [...database.rows("system")]
        .filter(({ system_id }) => system_id === row.system_id)
        .map(({ key, value }) => [String(key), typeof value === "bigint" ? Number(value) : (value as string | number)]),
    );
    const experiment_id = Number(row.experiment_id),
      created_ms = Number(row.created_ns) / 1e6;
    return {
      ...{ file: 0, experiment_id, name, workload, framework, framework_version, command, xsp_version },
      ...{ cause: null, created_ms, system },
    };
  });
}

export function documentOf(name: string, bytes: Uint8Array): { made: Document_; parts: Parts } {
  const database = new Database(bytes);
  if (database.applicationId !== APPLICATION_ID) throw new Error("an SQLite file, but not one of xsp");
  if (database.userVersion > FORMAT)
    throw new Error(`format ${database.userVersion}, and this page reads ${FORMAT}: take the xsp.html of a newer xsp`);
  const file: File = { database, chunks: new Chunks(database), parts: new Map() },
    names = [""],
    experiments = experimentsOf(database);
  for (const row of database.rows("string")) names[Number(row.string_id)] = text(row.text) ?? "";
  const title = (row: Row) => experiments.find((one) => one.experiment_id === row.experiment_id)?.name ?? name;
  const made: Document_ = {
    page_version: PAGE_VERSION,
    units: UNITS,
    files: [{ name }],
    range_ns: null,
    run_ids: [],
    max_spans: 0,
    experiments,
    runs: [...database.rows("run")].map((row, run) => runOf(file, row, run, names, title(row))),
    names,
    sources: { files: [], name: [], file: [], line: [] },
    notes: [...database.rows("note")].map(({ run_id, key, value }) => ({
      ...{ file: 0, run_id: Number(run_id), key: String(key), value: text(value) },
    })),
    analyses: [],
    short_names: [[]],
  };
  return { made, parts: file.parts };
}
