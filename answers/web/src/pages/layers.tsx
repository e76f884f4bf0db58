// SPDX-License-Identifier: Apache-2.0
// Analyses of layers: A2 to A7 and, if there are kernels, A11 to A13. The chart first, then types, then the tables.
import type { Answer } from "../data";
import { isFocused, openLayer, TypeLink } from "../focus";
import { insideOf } from "../filter";
import { cell, count, plural, scaled } from "../format";
import { details, observationWord, setDetail } from "../state";
import { LinkedTable, number, PickedNote, text, type Row } from "../widgets/answers";
import { WithFocus } from "../widgets/focus_panel";
import { Bars, type Stages } from "../widgets/charts";
import { answer } from "../widgets/parts";
import { Summary } from "../widgets/table";
import { Tabs, type Tab } from "../widgets/tabs";
import { withRows } from "./reasons";
import { BatchNote } from "./shown";
import { NoData } from "./no_data";
import "./layers.css";

// Shares of the thirds in execution order, ⌊3·position/n⌋: as the analysis has them, else of the sums of the rows.
function thirds(series: Series): Stages {
  const { rows, summary } = series.of.table,
    prefix = series.id === "counted" ? "flops_" : "";
  if (number(summary[`${prefix}beginning_pct`]) !== null)
    return {
      shares: ["beginning_pct", "middle_pct", "end_pct"].map((key) => number(summary[`${prefix}${key}`])),
      largest: text(summary[`${prefix}stage`]),
    };
  if (series.of.rows_left_out > 0 || rows.some((row) => number(row[series.key]) === null))
    return { shares: [null, null, null], largest: null };
  const sums = [0, 0, 0];
  rows.forEach((row, i) => (sums[Math.floor((3 * i) / rows.length)] += number(row[series.key]) ?? 0));
  const all = sums[0] + sums[1] + sums[2];
  return {
    shares: sums.map((sum) => (all > 0 ? (100 * sum) / all : null)),
    largest: "BME"[sums.indexOf(Math.max(...sums))],
  };
}
interface Series {
  id: string;
  name: string;
  of: Answer;
  key: string;
  level: number;
}
// The chart's choices: figures that some layer has.
function seriesAtHand(): Series[] {
  const all: [string, string, string, string, number][] = [
    ["latency", "Latency", "A3", "latency_ms", 2],
    ["device", "On the device", "A13", "gpu_latency_ms", 4],
    ["memory", "Allocated", "A4", "alloc_bytes", 2],
    ["counted", "Arithmetic", "A12", "flops", 4],
    ["flops", "Arithmetic, analytic", "A14", "analytic_flops", 2],
  ];
  return all.flatMap(([id, name, analysis, key, level]) => {
    const of = answer(analysis);
    return of !== undefined && of.table.rows.some((row) => (number(row[key]) ?? 0) > 0)
      ? [{ id, name, of, key, level }]
      : [];
  });
}

function Chart({ types }: { types: Map<string, string> }) {
  const series = seriesAtHand();
  if (series.length === 0) return null;
  const shown = series.find((one) => one.id === details.value["layers.chart"]) ?? series[0];
  const unknown = shown.of.table.rows.filter((row) => number(row[shown.key]) === null).length;
  const points = shown.of.table.rows.map((row, i) => ({
    x: number(row.layer_index) ?? i,
    y: number(row[shown.key]) ?? NaN,
    title: [`${text(row.layer_index)} ${row.layer_name}`, types.get(rowKey(row)) ?? "", cell(shown.key, row[shown.key])]
      .filter((part) => part !== "")
      .join(", "),
    level: shown.level,
    isFocused: isFocused(row),
    isDimmed: insideOf(row) === null,
    onOpen: () => openLayer(text(row.layer_name), number(row.layer_index)),
  }));
  return (
    <section class="panel">
      <div class="panel-head">
        <h3>
          {shown.name} by layer, in execution order
          {shown.id === "flops" && <span class="quiet"> (from shapes)</span>}
          {shown.id === "counted" && <span class="quiet"> (counted by hardware, of its kernels)</span>}
        </h3>
        <span class="spacer-flex" />
        {series.length > 1 && (
          <div class="segments" role="group" aria-label="What the bars show">
            {series.map((one) => (
              <button
                key={one.id}
                type="button"
                aria-pressed={one === shown}
                onClick={() => setDetail("layers.chart", one === series[0] ? "" : one.id)}
              >
                {one.name}
              </button>
            ))}
          </div>
        )}
      </div>
      <Bars
        title={`${shown.name} by layer`}
        x={{ label: "index of the layer, in execution order" }}
        y={
          shown.key.endsWith("flops")
            ? { label: "flop", format: (value) => scaled(value, "") }
            : { label: "", key: shown.key }
        }
        points={points}
        stages={thirds(shown)}
        height={280}
      />
      <p class="quiet">
        Click a bar, or select it by ← and → and press Enter, to open a layer. Beginning, middle and end are the shares
        of the three thirds of the layers.
        {unknown > 0 && ` No value for ${plural(unknown, "layer")}: no bar, no shares.`}
      </p>
    </section>
  );
}
const rowKey = (row: Row) => `${row.layer_index}:${row.layer_name}`;

function Bar({ share, level }: { share: number | null; level: number }) {
  return (
    <td class="type-bar">
      <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
        <rect class="meter-back" width="100" height="10" />
        <rect class={`level-fill-${level}`} width={Math.min(100, Math.max(0, share ?? 0))} height="10" />
      </svg>
    </td>
  );
}
const TYPES_SHOWN = 12;
// Types by latency, each with its share of the time, of the number and of the memory.
function Types() {
  const a5 = answer("A5"),
    a6 = answer("A6"),
    a7 = answer("A7");
  const main = a6 ?? a5;
  if (main === undefined) return null;
  const of = (one: Answer | undefined, type: string) => one?.table.rows.find((row) => text(row.layer_type) === type);
  const groups: [string, Answer | undefined, string, string][] = [
    ["latency", a6, "latency_ms", "latency_pct"],
    ["layers", a5, "count", "count_pct"],
    ["allocated", a7, "alloc_bytes", "alloc_pct"],
  ];
  const shown = groups.filter(([, one]) => one !== undefined);
  const rows = main.table.rows.slice(0, TYPES_SHOWN);
  return (
    <section class="panel">
      <h3>By type</h3>
      <div class="type-scroll" tabIndex={0} role="region" aria-label="Layers by type">
        <table class="type-rows">
          <thead>
            <tr>
              <th scope="col">type</th>
              {shown.map(([name]) => (
                <th key={name} scope="colgroup" colSpan={3}>
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => {
              const type = text(row.layer_type);
              return (
                <tr key={type}>
                  <td class="type-name" title={type}>
                    <TypeLink name={type} />
                  </td>
                  {shown.map(([name, one, key, share]) => {
                    const at = of(one, type),
                      part = number(at?.[share]);
                    return [
                      <Bar key={`${name} bar`} share={part} level={2} />,
                      <td key={`${name} value`} title={text(at?.[key])}>
                        {cell(key, at?.[key] ?? null)}
                      </td>,
                      <td key={`${name} share`} class="type-share" title={text(at?.[share])}>
                        {cell(share, part)}
                      </td>,
                    ];
                  })}
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      {main.table.rows.length > TYPES_SHOWN && (
        <p class="quiet">{plural(main.table.rows.length - TYPES_SHOWN, "more type")} in the tables below.</p>
      )}
      {a6 !== undefined && number(a6.table.summary.convolution_pct_of_layers) !== null && (
        <p class="quiet">
          Convolutions: {cell("x_pct", a6.table.summary.convolution_pct_of_layers)} of the layers' time,{" "}
          {cell("x_pct", a6.table.summary.convolution_pct_of_model)} of the model's.
        </p>
      )}
    </section>
  );
}

function tables(): Tab[] {
  const wanted: [id: string, name: string, by?: string][] = [
    ["A2", "Layers"],
    ["A3", "Latency"],
    ["A4", "Memory"],
    ["A6", "Types, latency"],
    ["A5", "Types, count"],
    ["A7", "Types, memory"],
    ["A16", "Forward and backward"],
    ["A16", "By module", "module"],
    ["A11", "Kernels by layer"],
    ["A13", "Device and host time"],
    ["A12", "Metrics by layer"],
  ];
  return wanted.flatMap(([id, name, by]) => {
    const one = answer(id, by ?? null);
    return one === undefined
      ? []
      : [{ id: id + (by ?? ""), name, show: () => <LinkedTable answer={one} height={520} /> }];
  });
}

export function Layers() {
  const a2 = withRows(answer("A2")),
    a11 = answer("A11");
  if (a2 === undefined) return <NoData />;
  const types = new Map(a2.table.rows.map((row) => [rowKey(row), text(row.layer_type)]));
  const without = number(a11?.table.summary.kernels_without_layer);
  return (
    <WithFocus>
      <BatchNote of={[["A2", "layers"]]} />
      <PickedNote answer={a2} what="layer" />
      <Summary answer={a2} />
      <Chart types={types} />
      <Types />
      {without !== null && without > 0 && (
        <p class="note">
          {plural(without, "kernel")} ({cell("x_ms", a11!.table.summary.kernels_without_layer_ms)}) are in no layer, and
          on the Kernels page only. <code>xsp check --links FILE</code> has reasons.
        </p>
      )}
      {without === 0 && (
        <p class="quiet">
          Each of the {count(number(a11!.table.summary.kernels) ?? 0)} kernels of a {observationWord.value} is in a
          layer.
        </p>
      )}
      <Tabs id="layers" label="Tables of layers" tabs={tables()} />
    </WithFocus>
  );
}
