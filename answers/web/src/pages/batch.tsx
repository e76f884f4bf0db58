// SPDX-License-Identifier: Apache-2.0
// Latency and throughput over batch sizes: A1, and A15 if there are kernels.
import type { Answer } from "../data";
import { cell, digits, statisticWords } from "../format";
import { chooseBatch, observationWord } from "../state";
import { Lines, type Mark, type Point } from "../widgets/charts";
import { answers, shownBatch } from "../widgets/parts";
import { LinkedTable, text, type Row } from "../widgets/answers";
import { Summary } from "../widgets/table";
import { NoData } from "./no_data";
import { Panel, positive, RangeNote } from "./shown";

const sizeOf = (row: Row) => positive(row.batch_size);

// Points over batch size; a click shows that batch size on all pages.
function points(rows: Row[], key: string, spread: (row: Row) => [number, number] | null, level: number): Point[] {
  return rows.flatMap((row): Point[] => {
    const size = sizeOf(row),
      value = positive(row[key]);
    if (size === null || value === null) return [];
    const range = spread(row);
    return [
      {
        x: size,
        y: value,
        low: range?.[0],
        high: range?.[1],
        level,
        isFocused: size === shownBatch(),
        title: `batch ${digits(size)}: ${cell(key, value)}${range === null ? "" : ` (${cell(key, range[0])} to ${cell(key, range[1])})`}, n = ${text(row.n) || "–"}`,
        onOpen: () => chooseBatch(size),
      },
    ];
  });
}
const between = (row: Row): [number, number] | null => {
  const low = positive(row.min_ms),
    high = positive(row.max_ms);
  return low === null || high === null ? null : [low, high];
};
const perSecond = (row: Row): [number, number] | null => {
  const range = between(row),
    size = sizeOf(row);
  return range === null || size === null ? null : [(1000 * size) / range[1], (1000 * size) / range[0]];
};
const perItem = (row: Row): [number, number] | null => {
  const range = between(row),
    size = sizeOf(row);
  return range === null || size === null ? null : [range[0] / size, range[1] / size];
};

function marksOf(a1: Answer): Mark[] {
  const optimal = positive(a1.table.summary.optimal_batch),
    most = positive(a1.table.summary.maximum_throughput_batch);
  if (optimal !== null && optimal === most) return [{ x: optimal, label: `optimal and maximum: ${optimal}` }];
  return [
    ...(optimal === null ? [] : [{ x: optimal, label: `optimal: ${optimal}` }]),
    ...(most === null ? [] : [{ x: most, label: `maximum: ${most}` }]),
  ];
}

export function Batch() {
  const a1 = answers("A1")[0],
    a15 = answers("A15")[0];
  if (a1 === undefined) return <NoData />;
  const rows = a1.table.rows,
    sizes = rows.filter((row) => sizeOf(row) !== null);
  return (
    <>
      <RangeNote filtered="" whole="Not filtered: batch sizes are compared by whole runs." />
      <Summary answer={a1} />
      {sizes.length < 2 && <NoData />}
      {sizes.length > 1 && <Curves a1={a1} rows={rows} />}
      <LinkedTable answer={a1} />
      {a15 !== undefined && <KernelCurves a15={a15} />}
      {a15 !== undefined && <LinkedTable answer={a15} />}
    </>
  );
}

const AXIS = { label: "batch size", log: true, format: (value: number) => digits(value) };
function Curves({ a1, rows }: { a1: Answer; rows: Row[] }) {
  const marks = marksOf(a1),
    summary = marks.map((mark) => mark.label).join(", ");
  const items = rows.map((row) => {
    const size = sizeOf(row),
      latency = positive(row.latency_ms);
    return { ...row, item_ms: size === null || latency === null ? null : latency / size };
  });
  return (
    <>
      <div class="batch-curves">
        <Panel title="Throughput" aside={summary || "optimal batch size not reached"}>
          <Lines
            title={`Throughput over batch size; ${summary}`}
            x={AXIS}
            y={{ label: "inputs a second", key: "throughput_per_s" }}
            marks={marks}
            series={[{ name: "throughput", level: 1, points: points(rows, "throughput_per_s", perSecond, 1) }]}
          />
        </Panel>
        <Panel title="Latency" aside="of the whole batch">
          <Lines
            title={`Latency over batch size; ${summary}`}
            x={AXIS}
            y={{ label: "", key: "latency_ms" }}
            marks={marks}
            series={[{ name: "latency", level: 1, points: points(rows, "latency_ms", between, 1) }]}
          />
        </Panel>
        <Panel title="Latency of one input" aside="saving by batching">
          <Lines
            title={`Latency of one input over batch size; ${summary}`}
            x={AXIS}
            y={{ label: "", key: "item_ms" }}
            marks={marks}
            series={[{ name: "one input", level: 1, points: points(items, "item_ms", perItem, 1) }]}
          />
        </Panel>
      </div>
      <p class="quiet small">
        Point: {statisticWords(a1.table.statistic)}; whiskers: shortest and longest observation; ring: the batch size
        shown. Optimal: the smallest size whose doubling gains 5 % or less; maximum: most throughput.
      </p>
    </>
  );
}

function KernelCurves({ a15 }: { a15: Answer }) {
  const rows = a15.table.rows.filter((row) => sizeOf(row) !== null);
  if (rows.length < 2) return null;
  const none = () => null;
  return (
    <Panel title="Kernels over batch sizes" aside={`time of a ${observationWord.value} and of its kernels`}>
      <Lines
        title="Model latency, kernel latency and device time over batch size"
        x={AXIS}
        y={{ label: "", key: "latency_ms" }}
        series={[
          { name: "model", level: 1, points: points(rows, "model_latency_ms", none, 1) },
          { name: "kernels, summed", level: 4, points: points(rows, "kernel_latency_ms", between, 4) },
          { name: "device busy", level: 3, points: points(rows, "gpu_latency_ms", none, 3) },
        ]}
      />
    </Panel>
  );
}
