// SPDX-License-Identifier: Apache-2.0
// Intensity against throughput of kernels (A9), layers (A14) and the model over batch sizes (A15), under the system's roofs.
import { useMemo } from "preact/hooks";
import type { Answer } from "../data";
import { isFocused, openKernel, openLayer } from "../focus";
import { insideOf } from "../filter";
import { cell, count, digits, plural, scaled } from "../format";
import { chooseBatch, details, experimentRuns, shortKernel } from "../state";
import { LinkedTable, number, PickedNote, text, type Row } from "../widgets/answers";
import { WithFocus } from "../widgets/focus_panel";
import type { PlotPoint } from "../widgets/log_plot";
import { answer, answers, labelOf } from "../widgets/parts";
import { Roofline, RooflineLegend, RoofTable, type Roof } from "../widgets/roofline_chart";
import { DataTable, type TableColumn } from "../widgets/table";
import { Tabs, type Tab } from "../widgets/tabs";
import { BatchNote, percent } from "./shown";
import { NoData } from "./no_data";
import "./layers.css";

// The same in all rows: shown in the table of roofs.
const ROOF_KEYS = ["peak_flops_per_s", "memory_bandwidth_bytes_per_s", "ideal_arithmetic_intensity"];

interface What {
  level: number;
  name: (row: Row) => string;
  isLabelled?: boolean;
  time: (row: Row) => number | null;
  open?: (row: Row) => void;
}
const KERNELS: What = {
  level: 4,
  name: (row) => shortKernel(text(row.kernel_name)),
  time: (row) => number(row.latency_ms),
  open: (row) => openKernel(text(row.kernel_name)),
};
const LAYERS: What = {
  level: 2,
  name: (row) => `${text(row.layer_index)} ${text(row.layer_name)}`,
  time: (row) => number(row.kernel_latency_ms) ?? number(row.layer_latency_ms),
  open: (row) => openLayer(text(row.layer_name), number(row.layer_index)),
};
const MODELS: What = {
  level: 1,
  isLabelled: true,
  name: (row) => (row.batch_size === null ? "model" : `batch ${row.batch_size}`),
  time: (row) => number(row.model_latency_ms),
  open: (row) => typeof row.batch_size === "number" && chooseBatch(row.batch_size),
};

// Rows with both figures, measured if possible; a point never mixes measured and analytic ones.
function pointsOf(rows: Row[], what: What): PlotPoint[] {
  const all = rows.reduce((sum, row) => sum + (what.time(row) ?? 0), 0),
    most = rows.reduce((longest, row) => Math.max(longest, what.time(row) ?? 0), 0);
  return rows.flatMap((row, i): PlotPoint[] => {
    const isHollow = number(row.arithmetic_intensity) === null;
    const prefix = isHollow ? "analytic" : "arithmetic",
      x = number(row[`${prefix}_intensity`]),
      y = number(row[`${prefix}_throughput_flops_per_s`]),
      bound = row[isHollow ? "analytic_bound" : "bound"],
      took = what.time(row);
    if (x === null || y === null || x <= 0 || y <= 0) return [];
    const isSuspect = row[isHollow ? "analytic_above_roof" : "above_roof"] === true;
    return [
      {
        key: `${i}`,
        x,
        y,
        weight: most > 0 ? (took ?? 0) / most : 0,
        level: what.level,
        name: what.name(row),
        label: what.isLabelled ? what.name(row) : undefined,
        lines: [
          `${digits(x)} flops/byte`,
          scaled(y, "flop/s"),
          ...(took === null
            ? []
            : [`${cell("x_ms", took)}${all > 0 ? ` (${cell("x_pct", (100 * took) / all)})` : ""}`]),
          ...(typeof bound === "string" ? [`${bound}-bound`] : []),
          ...(isHollow ? ["analytic"] : []),
          ...(isSuspect ? ["above the roofs that are listed"] : []),
        ],
        isHollow,
        isSuspect,
        isMarked: isFocused(row),
        isOut: insideOf(row) === null,
        onOpen: what.open && (() => what.open!(row)),
      },
    ];
  });
}

// Roofs of the rows, one per precision; the analysis' note has their source.
function roofsOf(all: (Answer | undefined)[]): Roof[] {
  const known = new Map<string, Roof>();
  for (const one of all) {
    if (one === undefined) continue;
    const source = one.table.notes
      .map((note) => /^roofs \((.+?)\):/.exec(note)?.[1])
      .find((found) => found !== undefined);
    for (const row of one.table.rows) {
      const peak = number(row.peak_flops_per_s),
        bandwidth = number(row.memory_bandwidth_bytes_per_s);
      if (peak === null || bandwidth === null || peak <= 0 || bandwidth <= 0) continue;
      const name = text(row.precision) || text(row.analytic_precision) || "single";
      if (!known.has(`${name} ${peak}`))
        known.set(`${name} ${peak}`, { name, peak, bandwidth, source: source ?? "recorded" });
    }
  }
  return [...known.values()].filter(
    // the same peak under "single", without a precision, is the same roof
    (roof, i, roofs) => !roofs.some((other, j) => j < i && other.peak === roof.peak && other.name === roof.name),
  );
}

// A14's sums for each batch size, if the model has no measured kernels: its layers' work over their time.
function analyticSweep(): Row[] {
  return answers("A14").flatMap(({ table }): Row[] => {
    const sum = (key: string) => table.rows.reduce((total, row) => total + (number(row[key]) ?? 0), 0),
      flops = sum("analytic_flops"),
      moved = sum("analytic_bytes"),
      took_ms = sum("layer_latency_ms");
    const isWhole = number(table.summary.analytic_unknown_layers) === 0;
    if (table.run_set.batch_size === null || !isWhole || flops <= 0 || moved <= 0 || took_ms <= 0) return [];
    return [
      {
        batch_size: table.run_set.batch_size,
        model_latency_ms: took_ms,
        arithmetic_intensity: null,
        analytic_intensity: flops / moved,
        analytic_throughput_flops_per_s: flops / (took_ms / 1e3),
      },
    ];
  });
}

function SweepTable() {
  const rows = useMemo(analyticSweep, [experimentRuns.value]);
  const columns = useMemo(
    (): TableColumn<Row>[] =>
      [
        ["batch_size", "batch"],
        ["model_latency_ms", "layers' time"],
        ["analytic_intensity", labelOf("A14", "analytic_intensity")],
        ["analytic_throughput_flops_per_s", labelOf("A14", "analytic_throughput_flops_per_s")],
      ].map(([key, label]) => ({
        key,
        label,
        title: key,
        value: (row) => row[key],
      })),
    [],
  );
  return <DataTable id="roofline.sweep" caption="Model over batch sizes, analytic" columns={columns} rows={rows} />;
}

interface Chart {
  id: string;
  name: string;
  note?: string;
  points: PlotPoint[];
  rows: Row[];
  timeKey: string; // of the rows' whole time
}
function chartsAtHand(a9?: Answer, a14?: Answer, a15?: Answer): Chart[] {
  const measured = pointsOf(a15?.table.rows ?? [], MODELS),
    sweep = measured.length > 0 ? measured : pointsOf(analyticSweep(), MODELS);
  const all: Chart[] = [
    {
      id: "layers",
      name: "Layers",
      points: pointsOf(a14?.table.rows ?? [], LAYERS),
      rows: a14?.table.rows ?? [],
      timeKey: "layer_latency_ms",
    },
    {
      id: "kernels",
      name: "Kernels",
      points: pointsOf(a9?.table.rows ?? [], KERNELS),
      rows: a9?.table.rows ?? [],
      timeKey: "latency_ms",
    },
    {
      id: "model",
      name: "Model over batch sizes",
      points: sweep,
      rows: [],
      timeKey: "model_latency_ms",
      note:
        measured.length > 0
          ? undefined
          : "Sums over the layers: analytic flops and bytes over the layers' time at each batch size.",
    },
  ];
  return all.filter((chart) => chart.points.length > 0);
}

// Points have their row's place as key.
function WithoutPoint({ chart: { points, rows, timeKey } }: { chart: Chart }) {
  if (points.length >= rows.length) return null;
  const drawn = new Set(points.map(({ key }) => Number(key)));
  const sum = (of: Row[]) => of.reduce((total, row) => total + (number(row[timeKey]) ?? 0), 0);
  const all = sum(rows),
    left = sum(rows.filter((_, i) => !drawn.has(i)));
  return (
    <p class="quiet">
      {plural(rows.length - points.length, "row")} of {count(rows.length)} without a point: {cell(timeKey, left)} of{" "}
      {cell(timeKey, all)}, {percent(left, all)} of the time. Their flops or bytes are not known, or 0.
    </p>
  );
}

export function RooflinePage() {
  const a9 = answer("A9"),
    a14 = answer("A14"),
    a15 = answers("A15")[0];
  const charts = chartsAtHand(a9, a14, a15),
    roofs = roofsOf([a9, a14, a15]);
  const tables: Tab[] = [
    ["A14", "Layers", a14],
    ["A9", "Kernels", a9],
    ["A15", "Model", a15],
  ].flatMap(([id, name, one]) =>
    one === undefined
      ? []
      : [
          {
            id: id as string,
            name: name as string,
            show: () => <LinkedTable answer={one as Answer} without={roofs.length > 0 ? ROOF_KEYS : []} height={520} />,
          },
        ],
  );
  if (a15 === undefined && charts.some((chart) => chart.id === "model"))
    tables.push({ id: "sweep", name: "Model over batch sizes", show: () => <SweepTable /> });
  // The numbers of the chart shown come first.
  const shown = charts.find((chart) => chart.id === details.value["roofline.chart.tab"]) ?? charts[0];
  const wanted = { layers: ["A14"], kernels: ["A9"], model: ["A15", "sweep"] }[shown?.id ?? "layers"] ?? [];
  tables.sort((a, b) => Number(wanted.includes(b.id)) - Number(wanted.includes(a.id)));
  if (charts.length === 0)
    return (
      <WithFocus>
        <NoData />
        <RoofTable roofs={roofs} />
        <Tabs id="roofline" label="Tables of the roofline" tabs={tables} />
      </WithFocus>
    );
  return (
    <WithFocus>
      <BatchNote
        of={[
          ["A14", "layers"],
          ["A9", "kernels"],
        ]}
      />
      <PickedNote answer={a14 ?? a9} what={a14 === undefined ? "kernel call" : "layer"} />
      <Tabs
        id="roofline.chart"
        label="Rooflines"
        tabs={charts.map((chart) => ({
          id: chart.id,
          name: chart.name,
          show: () => (
            <section class="panel">
              <RooflineLegend points={chart.points} />
              <Roofline
                title={`Roofline: ${chart.name.toLowerCase()}`}
                points={chart.points}
                roofs={roofs}
                isSweep={chart.id === "model"}
              />
              <WithoutPoint chart={chart} />
              {chart.note !== undefined && <p class="quiet">{chart.note}</p>}
              {roofs.length > 0 ? (
                <RoofTable roofs={roofs} />
              ) : (
                <p class="note">
                  No roofs: the file records neither the system's peak and bandwidth nor a GPU whose data sheet is
                  known.
                </p>
              )}
            </section>
          ),
        }))}
      />
      <Tabs id="roofline" label="Tables of the roofline" tabs={tables} />
    </WithFocus>
  );
}
