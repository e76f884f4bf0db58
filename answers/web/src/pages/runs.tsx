// SPDX-License-Identifier: Apache-2.0
// The origin of the figures: overhead by level set, one prediction at each, every observation, the runs with place,
// time and command.
import { useMemo } from "preact/hooks";
import { BASES, LEVELS, type Answer, type Cell, type Experiment, type Note, type RunFacts } from "../data";
import { cell } from "../format";
import { noiseOfRuns, observationsOf, runsOf, type Observation } from "../noise";
import { chooseRun, documentData, experiment, experimentRuns, page } from "../state";
import { LinkedTable, text } from "../widgets/answers";
import { WithFocus } from "../widgets/focus_panel";
import { answer, answers } from "../widgets/parts";
import { DataTable, type TableColumn } from "../widgets/table";
import { driftText } from "./noise_panel";
import { isInRange, openObservation, Panel, RangeNote } from "./shown";
import { SideBySide } from "./side_by_side";
import { Strips } from "./strips";
import { when } from "./lead";

export function Runs() {
  const l0 = answers("L0")[0],
    byLayer = answer("L0", "layer"),
    a1 = answers("A1")[0];
  return (
    <WithFocus>
      <RangeNote
        filtered=""
        whole="Observations in it are outlined and marked in their table; everything else on this page is of whole runs."
      />
      {l0 !== undefined && <LinkedTable answer={l0} caption="L0  leveled overhead" />}
      <SideBySide />
      {byLayer !== undefined && <LinkedTable answer={byLayer} caption="L0  overhead by layer" />}
      <Strips />
      {a1 !== undefined && <NoiseTable a1={a1} />}
      <Observations />
      <RunTable />
      {experiment.value !== undefined && <Provenance one={experiment.value} />}
      <SystemNotes />
    </WithFocus>
  );
}

function NoiseTable({ a1 }: { a1: Answer }) {
  const runs = experimentRuns.value;
  const rows = useMemo(
    () =>
      a1.table.rows.map((row) => ({
        size: row.batch_size as Cell,
        noise: noiseOfRuns(runsOf(runs, a1, row.batch_size, a1.table.run_set.levels)),
      })),
    [a1, runs],
  );
  const columns = useMemo(
    (): TableColumn<(typeof rows)[number]>[] => [
      { key: "batch_size", label: "batch", value: ({ size }) => size ?? null },
      { key: "n", label: "n", value: ({ noise }) => noise.n },
      { key: "median_ns", label: "median", value: ({ noise }) => noise.median_ns },
      { key: "p10_ns", label: "p10", value: ({ noise }) => noise.low_ns },
      { key: "p90_ns", label: "p90", value: ({ noise }) => noise.high_ns },
      { key: "spread_pct", label: "spread", title: "(p90 − p10) / median", value: ({ noise }) => noise.spread_pct },
      {
        key: "drift",
        label: "drift",
        title: "median of the last third less that of the first, of the spread",
        isText: true,
        value: ({ noise }) => driftText(noise),
      },
      { key: "outliers", label: "outliers", value: ({ noise }) => (noise.spread_pct === null ? null : noise.outliers) },
      { key: "verdict", label: "verdict", isText: true, value: ({ noise }) => noise.verdict },
    ],
    [],
  );
  return (
    <DataTable
      id="noise"
      caption={`Noise of the model's latency, ${a1.table.run_set.levels ?? "M"}`}
      rows={rows}
      columns={columns}
    />
  );
}

const levelColumns = LEVELS.map((level, i): TableColumn<RunFacts> => ({
  key: level,
  label: level,
  title: `spans at ${level} level`,
  value: (facts) => facts.levels_counted[i],
}));
const basisColumns = BASES.map((basis, i): TableColumn<RunFacts> => ({
  key: `basis_${basis}`,
  label: basis === "none" ? "no parent" : basis,
  title: basis === "none" ? "spans without a parent" : `spans whose parent was found by ${basis}`,
  value: (facts) => facts.bases_counted[i],
}));
const counted = (facts: RunFacts) => facts.observations.filter(([, , warmup]) => warmup === 0).length;

function RunTable() {
  const runs = experimentRuns.value;
  const columns = useMemo(
    (): TableColumn<RunFacts>[] => [
      { key: "run_id", label: "run", value: (facts) => facts.run_id },
      { key: "levels", label: "levels", isText: true, value: (facts) => facts.levels },
      { key: "batch_size", label: "batch", value: (facts) => facts.batch_size },
      { key: "observations", label: "observations", title: "counted ones", value: counted },
      { key: "warmups", label: "warm-ups", value: (facts) => facts.observations.length - counted(facts) },
      ...levelColumns.filter((_, i) => runs.some((facts) => facts.levels_counted[i] > 0)),
      {
        key: "dropped",
        label: "dropped",
        title: "records that did not fit into their ring",
        value: (facts) => facts.dropped,
      },
      { key: "open", label: "open", title: "spans that never finished", value: (facts) => facts.open },
      ...basisColumns.filter((_, i) => runs.some((facts) => facts.bases_counted[i] > 0)),
      { key: "own_pct", label: "own", title: "xsp's own measured share", value: (facts) => facts.own_pct },
    ],
    [runs],
  );
  return (
    <DataTable
      id="runs"
      caption="Runs"
      rows={runs}
      columns={columns}
      onRow={(facts) => {
        chooseRun(facts.run);
        page.value = "timeline";
      }}
    />
  );
}

function Observations() {
  const runs = experimentRuns.value;
  const rows = useMemo(() => observationsOf(runs), [runs]);
  const columns = useMemo(
    (): TableColumn<Observation>[] => [
      { key: "run_id", label: "run", value: ({ facts }) => facts.run_id },
      { key: "levels", label: "levels", isText: true, value: ({ facts }) => facts.levels },
      { key: "batch_size", label: "batch", value: ({ facts }) => facts.batch_size },
      { key: "observation", label: "observation", value: ({ number }) => number },
      { key: "start_ns", label: "start", title: "from the first start of all runs", value: (one) => one.start_ns },
      { key: "duration_ns", label: "duration", value: (one) => one.duration_ns },
      { key: "warmup", label: "counted", isText: true, value: (one) => (one.is_warmup ? "warm-up" : "yes") },
    ],
    [],
  );
  if (rows.length === 0) return null;
  return (
    <DataTable
      id="observations"
      caption="Observations, in order of time"
      rows={rows}
      columns={columns}
      isMarked={(one) => isInRange(one) === true}
      onRow={openObservation}
      height={320}
    />
  );
}

function Provenance({ one }: { one: Experiment }) {
  const framework = [one.framework, one.framework_version].filter((part) => part !== null).join(" ");
  const rows = (
    [
      ["command", one.command],
      ["workload", one.workload],
      ["framework", framework],
      [one.command === null ? "imported" : "recorded", when(one)],
      ["file", documentData.value!.files[one.file]?.name ?? null],
      ["xsp", one.xsp_version],
      ...Object.entries(one.system),
    ] as [string, Cell][]
  ).filter(([, value]) => value !== null && value !== "");
  return (
    <Panel title="Provenance" aside={one.name ?? `experiment ${one.experiment_id}`}>
      <dl class="facts wide provenance">
        {rows.map(([key, value]) => (
          <div key={key}>
            <dt>{key.replaceAll("_", " ")}</dt>
            <dd class="wrap">{cell(key.replace(/\.\w+$/, ""), value)}</dd>
          </div>
        ))}
      </dl>
    </Panel>
  );
}

// Notes of the whole experiment as text, of single runs as a table, since there may be hundreds.
function SystemNotes() {
  const runs = experimentRuns.value,
    file = experiment.value?.file ?? 0;
  const { whole, single } = useMemo(() => {
    const ids = new Set(runs.map((facts) => facts.run_id));
    const notes = documentData.value!.notes.filter((note) => note.file === file && text(note.value) !== "");
    return {
      whole: notes.filter((note) => note.run_id === 0),
      single: notes.filter((note) => ids.has(note.run_id)),
    };
  }, [runs, file]);
  return (
    <>
      {whole.length > 0 && (
        <Panel title="Notes" aside="written by xsp while recording">
          <dl class="facts wide">
            {whole.map((note, i) => (
              <div key={i}>
                <dt>{note.key.replaceAll("_", " ")}</dt>
                <dd class="wrap">{note.value}</dd>
              </div>
            ))}
          </dl>
        </Panel>
      )}
      {single.length > 0 && (
        <DataTable id="notes" caption="Notes of single runs" rows={single} columns={NOTE_COLUMNS} />
      )}
    </>
  );
}
const NOTE_COLUMNS: TableColumn<Note>[] = [
  { key: "run_id", label: "run", value: (note) => note.run_id },
  { key: "key", label: "what", isText: true, value: (note) => note.key.replaceAll("_", " ") },
  { key: "value", label: "note", isText: true, value: (note) => note.value },
];
