// SPDX-License-Identifier: Apache-2.0
// The first page: model and machine, findings, latency, overhead, noise, and the distribution of time.
import type { Answer } from "../data";
import { cell, count, digits, plural, statisticWords, time } from "../format";
import { observationWord, run } from "../state";
import { LinkedTable, number, text, type Row } from "../widgets/answers";
import { answer, answers, batches, shownBatch } from "../widgets/parts";
import { Findings } from "./findings";
import { Lead } from "./lead";
import { NoisePanel } from "./noise_panel";
import { AnalysisNotes, Recorded } from "./recorded";
import { noLayersOrKernels, origin, withRows } from "./reasons";
import { BatchNote, finite, Panel, percent, positive, RangeNote, Stack, type Part } from "./shown";
import { TopList, targetOf } from "./top_list";
import { Waterfall } from "./waterfall";

interface FigureProps {
  value: string;
  label: string;
  notes?: (string | null)[];
  warn?: string | null;
  title?: string;
}
function Figure({ value, label, notes = [], warn, title }: FigureProps) {
  return (
    <div class="figure">
      <span>{label}</span>
      <strong class={/^[a-z]/.test(value) ? "is-words" : undefined} title={title}>
        {value}
      </strong>
      {notes.map((note) => note && <small key={note}>{note}</small>)}
      {warn && <small class="warn">{warn}</small>}
    </div>
  );
}

// Where the time goes comes first, then batch and throughput, then what recording cost and how far figures can be trusted.
export function Overview() {
  const size = shownBatch(),
    a1 = answers("A1")[0],
    row = a1?.table.rows.find((one) => one.batch_size === size) ?? a1?.table.rows[0],
    l0 = answers("L0")[0],
    ranges = answers("ranges")[0];
  const isRight = row !== undefined && number(row.n) === 1; // without noise to draw, columns stay of equal height
  const a2 = withRows(answer("A2")),
    a10 = withRows(answer("A10"));
  return (
    <>
      <Lead />
      <Findings />
      <RangeNote
        filtered="The lists of layers, types and kernels show their part in it;"
        whole="all figures are those of whole runs."
      />
      <BatchNote
        of={[
          ["A2", "layers"],
          ["A10", "kernels"],
        ]}
      />
      {a1 === undefined && ranges !== undefined && <LinkedTable answer={ranges} />}
      <Where a2={a2} a10={a10} />
      <Lists a2={a2} a10={a10} />
      <Figures a1={a1} row={row} a2={a2} a10={a10} />
      <div class="overview-pair">
        <div class="overview-stacked">
          {l0 !== undefined && <Waterfall answer={l0} size={(row?.batch_size ?? null) as number | null} />}
          {!isRight && <Recorded />}
        </div>
        {a1 !== undefined && row !== undefined && (
          <div class="overview-stacked">
            <NoisePanel a1={a1} row={row} />
            {isRight && <Recorded />}
          </div>
        )}
      </div>
      <AnalysisNotes />
    </>
  );
}

// Device time by type of layer, longest first; empty without a device.
function deviceRows(): Row[] {
  const sums = new Map<string, number>();
  for (const row of answer("A13")?.table.rows ?? []) {
    const name = text(row.layer_type) || text(row.layer_name);
    sums.set(name, (sums.get(name) ?? 0) + (finite(row.gpu_latency_ms) ?? 0));
  }
  return [...sums]
    .filter(([, gpu_latency_ms]) => gpu_latency_ms > 0)
    .map(([layer_type, gpu_latency_ms]) => ({ layer_type, gpu_latency_ms }));
}
function Lists({ a2, a10 }: { a2?: Answer; a10?: Answer }) {
  const a6 = answer("A6"),
    device = deviceRows();
  if (a2 === undefined && a10 === undefined) return <p class="note">{noLayersOrKernels()}</p>;
  return (
    <div class="overview-lists">
      {device.length > 0 ? (
        <TopList
          title="Device time by operator"
          aside="share of the layers' device time"
          rows={device}
          valueKey="gpu_latency_ms"
          whole={device.reduce((sum, row) => sum + (finite(row.gpu_latency_ms) ?? 0), 0)}
          level={4}
          target={targetOf("type", "layer_type")}
          on="layers"
          word="type"
        />
      ) : (
        a6 !== undefined && (
          <TopList
            title="Layer types"
            aside="share of the time in layers"
            rows={a6.table.rows}
            valueKey="latency_ms"
            shareKey="latency_pct"
            whole={sumOf(a6, "latency_ms")}
            level={2}
            target={targetOf("type", "layer_type")}
            on="layers"
            word="type"
          />
        )
      )}
      {a2 !== undefined && (
        <TopList
          title="Layers"
          aside="share of the time in layers"
          rows={a2.table.rows}
          valueKey="latency_ms"
          whole={positive(a2.table.summary.sum_ms) ?? sumOf(a2, "latency_ms")}
          level={2}
          target={targetOf("layer", "layer_name")}
          on="layers"
          word="layer"
          note={(one) => (one.module == null ? "" : `module ${text(one.module)}`)}
        />
      )}
      {a10 !== undefined && (
        <TopList
          title="Kernels"
          aside="share of the kernels' time"
          rows={a10.table.rows}
          valueKey="latency_ms"
          shareKey="kernels_pct"
          whole={positive(a10.table.summary.kernel_latency_ms) ?? sumOf(a10, "latency_ms")}
          level={4}
          target={targetOf("kernel", "kernel_name")}
          on="kernels"
          word="name"
          note={(one) => (number(one.count) === null ? "" : `${count(number(one.count)!)}×`)}
        />
      )}
    </div>
  );
}
const sumOf = (answer_: Answer, key: string) =>
  answer_.table.rows.reduce((sum, row) => sum + (finite(row[key]) ?? 0), 0);

function Figures({ a1, row, a2, a10 }: { a1?: Answer; row?: Row; a2?: Answer; a10?: Answer }) {
  const size = row?.batch_size ?? null,
    suffix = size === null ? "" : `, batch ${size}`,
    a15 = answers("A15")[0]?.table.rows.find((one) => one.batch_size === size);
  return (
    <section class="figures" aria-label="Figures">
      {a1 !== undefined && row !== undefined ? <ModelFigures a1={a1} row={row} suffix={suffix} /> : <NoModel />}
      {a2 !== undefined && (
        <Figure
          value={countOf(a2.table.summary.layers)}
          label="layers"
          notes={[
            `${cell("sum_ms", a2.table.summary.sum_ms ?? null)} in all`,
            `${countOf(a2.table.summary.layers_under_1ms)} under 1 ms`,
          ]}
        />
      )}
      {a10 !== undefined && (
        <Figure
          value={countOf(a10.table.summary.kernels)}
          label={a1 === undefined ? "kernels" : `kernels a ${observationWord.value}`}
          notes={[
            `${cell("kernel_latency_ms", a10.table.summary.kernel_latency_ms ?? null)} in all, ${countOf(a10.table.summary.distinct_names)} names`,
            a15 === undefined || number(a15.gpu_latency_ms) === null
              ? null
              : `device busy ${cell("gpu_latency_ms", a15.gpu_latency_ms)}${hasCopies(a15) ? ", with copies" : ""}`,
          ]}
        />
      )}
    </section>
  );
}
// Kernels cannot keep it busy for longer than their sum.
const hasCopies = (row: Row) => (number(row.gpu_latency_ms) ?? 0) > 1.001 * (number(row.kernel_latency_ms) ?? 0);
const countOf = (value: Row[string] | undefined) => (typeof value === "number" ? count(value) : "–");

function ModelFigures({ a1, row, suffix }: { a1: Answer; row: Row; suffix: string }) {
  const { summary } = a1.table,
    latency = positive(row.latency_ms),
    cold = positive(summary.cold_latency_ms),
    from = text(row.latency_from ?? null);
  const spread =
    number(row.min_ms) === null || number(row.n) === 1
      ? null
      : `${cell("min_ms", row.min_ms)} to ${cell("max_ms", row.max_ms)}`;
  const isSwept = batches().length > 1,
    largest = positive(summary.maximum_throughput_batch);
  return (
    <>
      <Figure
        value={cell("latency_ms", row.latency_ms ?? null)}
        label={`latency${suffix}`}
        title={`${statisticWords(a1.table.statistic)}, of ${text(row.n)} observations`}
        notes={[
          spread,
          `n = ${countOf(row.n)}${number(row.cv_pct) === null ? "" : `, cv ${cell("cv_pct", row.cv_pct)}`}`,
        ]}
        warn={from === "" ? null : `recorded at ${from}: its overhead is included`}
      />
      {number(row.throughput_per_s) !== null && (
        <Figure
          value={cell("throughput_per_s", row.throughput_per_s)}
          label={`throughput${suffix}`}
          notes={[
            isSwept && largest !== null
              ? `most: ${cell("throughput_per_s", summary.maximum_throughput_per_s ?? null)} at batch ${largest}`
              : null,
          ]}
        />
      )}
      {isSwept && (
        <Figure
          value={text(summary.optimal_batch) || "not reached"}
          label="optimal batch size"
          notes={[
            "doubling it gains 5 % or less",
            summary.optimal_batch_is_certain === false ? "not certain: the noise leaves others" : null,
            largest === null ? null : `most throughput at ${largest}`,
          ]}
        />
      )}
      {cold !== null && (
        <Figure
          value={cell("cold_latency_ms", cold)}
          label="first inference (cold)"
          notes={[
            latency === null
              ? null
              : isSwept
                ? "the earliest of all runs, n = 1"
                : `${digits(cold / latency, 3)} × the latency, n = 1`,
            number(summary.cold_count) === null
              ? null
              : `in ${countOf(summary.cold_count)} fresh processes at batch ${text(summary.cold_batch)}: median ` +
                `${cell("cold_median_ms", summary.cold_median_ms)}, loading ${cell("load_median_ms", summary.load_median_ms)}`,
          ]}
        />
      )}
    </>
  );
}
function NoModel() {
  const length = run.value?.observations[0]?.[1];
  return length === undefined ? null : (
    <Figure
      value={time(length)}
      label="recorded time"
      notes={["no prediction or step was marked:", "the whole run counts as one"]}
    />
  );
}

// Layers that only launch their work take less time than it does.
function Launches() {
  const a11 = answer("A11")?.table.summary,
    kernels = finite(a11?.kernels);
  if (kernels === null)
    return (
      <p class="quiet">
        Most of the time is outside of the layers' calls. If these only launch work, a run with kernels shows whose it
        is
        {origin() === "import" ? (
          "."
        ) : (
          <>
            : <code>--levels M,M/L,M/L/K</code>
          </>
        )}
      </p>
    );
  return finite(a11!.kernels_without_layer) === 0 ? (
    <p class="quiet">
      Most of the time is outside of the layers' calls, but each of the {plural(kernels, "kernel")} belongs to a layer.
    </p>
  ) : null;
}

// The parts of a training step, in the order of time.
function Stages({ size }: { size: number | null }) {
  const row = answers("A1")[0]?.table.rows.find((one) => one.batch_size === size),
    whole = positive(row?.latency_ms),
    stages = ["data", "forward", "backward", "optimizer"].flatMap((label) => {
      const value = finite(row?.[`${label}_ms`]);
      return value === null ? [] : [{ label, value }];
    }),
    rest = (whole ?? 0) - stages.reduce((sum, { value }) => sum + value, 0);
  if (whole === null || stages.length < 2 || rest < 0) return null;
  return (
    <Stack
      title="Stages"
      parts={[...stages, { label: "other", value: rest }].map(({ label, value }) => ({
        label,
        value,
        look: label === "other" ? "look-none" : `look-${label}`,
        text: `${cell("latency_ms", value)}, ${percent(value, whole)}`,
      }))}
    />
  );
}

// Of the model's latency: the stages of a step, time in layers and outside; of the device: busy and not.
function Where({ a2, a10 }: { a2?: Answer; a10?: Answer }) {
  const model = positive(a2?.table.summary.model_latency_ms ?? a10?.table.summary.model_latency_ms),
    layers = positive(a2?.table.summary.sum_ms),
    outside = finite(a2?.table.summary.outside_layers_ms);
  const size = (a2 ?? a10)?.table.run_set.batch_size ?? shownBatch();
  const a15 = answers("A15")[0]?.table.rows.find((row) => row.batch_size === size),
    busy = positive(a15?.gpu_latency_ms),
    idle = finite(a15?.non_gpu_latency_ms);
  if (model === null || (layers === null && busy === null)) return null;
  const part = (label: string, value: number, look: string): Part => ({
    label,
    value: Math.max(0, value),
    look,
    text: `${cell("latency_ms", value)}, ${percent(value, model)}`,
  });
  return (
    <Panel
      title="Where the time goes"
      aside={`of a ${observationWord.value} of ${cell("latency_ms", model)}${size === null || size === shownBatch() ? "" : `, batch ${size}`}`}
    >
      {busy !== null && busy > model && idle === null && (
        <p class="quiet">
          The device was busy for {cell("latency_ms", busy)}, longer than the {observationWord.value}: its work goes on
          after that returned.
        </p>
      )}
      <Stages size={size} />
      {busy !== null && idle !== null && (
        <Stack
          title="Device"
          parts={[
            part(hasCopies(a15!) ? "device busy, with copies" : "device busy", busy, "level-4"),
            part("device idle", idle, "look-none"),
          ]}
        />
      )}
      {layers !== null && outside !== null && (
        <Stack
          title="Time in layers"
          parts={[part("in layers", layers, "level-2"), part("outside of layers", outside, "look-none")]}
        />
      )}
      {layers !== null && outside !== null && outside > layers && <Launches />}
      {layers !== null && outside === null && (
        <p class="quiet">
          In layers: {cell("latency_ms", layers)}, more than the {observationWord.value} without recorded layers:
          recording them takes time, or they run concurrently. Time outside of layers is unknown.
        </p>
      )}
    </Panel>
  );
}
