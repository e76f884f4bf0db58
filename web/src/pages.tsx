// SPDX-License-Identifier: Apache-2.0
// The pages whose figures come from the analyses that `xsp analyze` prints.
import { Bars, Lines, Meter, Roofline, type Point, type Roof } from "./charts";
import { BASES, LEVELS, type Answer, type Cell } from "./data";
import { cell, count, digits, plural, scaled } from "./format";
import { answer, answers, BatchChooser, batches, SelectionNote, shownBatch } from "./parts";
import { SideBySide } from "./side_by_side";
import { chooseRun, documentData, page, search } from "./state";
import { AnswerTable, DataTable, Notes, Summary } from "./table";

const number = (value: Cell | undefined) => (typeof value === "number" ? value : null);
const text = (value: Cell | undefined) => (value === null || value === undefined ? "" : String(value));
type Row = Record<string, Cell>;

function Figure({ value, label, note }: { value: string; label: string; note?: string }) {
  return <div class="figure"><strong>{value}</strong><span>{label}</span>{note !== undefined && <small>{note}</small>}</div>;
}
const noteOf = (key: string) => documentData.value!.notes.find((note) => note.key === key)?.value ?? null;
const find = (name: Cell) => { search.value = text(name); page.value = "timeline"; };

export function Overview() {
  const data = documentData.value!, first = data.experiments[0], a1 = answer("A1"), l0 = answers("L0")[0];
  const best = a1?.table.rows.find((row) => row.batch_size === shownBatch()) ?? a1?.table.rows[0];
  const deepest = [...data.runs].sort((a, b) => b.levels_counted[4] - a.levels_counted[4] || b.spans - a.spans)[0];
  const kernels = answer("A10"), layers = answer("A2"), types = answer("A6"), noise = noteOf("noise");
  return (
    <>
      <div class="tools"><BatchChooser /></div>
      <section class="lead">
        <p>{first?.workload ?? first?.name ?? data.file}{first?.framework !== null && first?.framework !== undefined && <> in {first.framework} {first.framework_version ?? ""}</>}</p>
        <p class="quiet">{[text(first?.system.cpu_model ?? first?.system.cpu ?? ""), text(first?.system.host ?? ""), first === undefined ? "" : new Date(first.created_ms).toISOString().replace("T", " ").slice(0, 16) + " UTC"].filter((part) => part !== "").join(" · ")}</p>
      </section>
      <section class="figures">
        {best !== undefined && number(best.latency_ms) !== null && <Figure value={cell("latency_ms", best.latency_ms)} label={`latency${best.batch_size === null ? "" : `, batch ${best.batch_size}`}`} note={number(best.min_ms) === null ? undefined : `${cell("min_ms", best.min_ms)} to ${cell("max_ms", best.max_ms)}, n = ${best.n}`} />}
        {best !== undefined && number(best.throughput_per_s) !== null && <Figure value={`${digits(best.throughput_per_s as number)} /s`} label="throughput" />}
        {a1 !== undefined && batches().length > 1 && <Figure value={text(a1.table.summary.optimal_batch) || "not reached"} label="optimal batch size" note={`most throughput at ${text(a1.table.summary.maximum_throughput_batch)}`} />}
        {kernels !== undefined && <Figure value={count(number(kernels.table.summary.kernels) ?? 0)} label="kernels a prediction" note={`${cell("kernel_latency_ms", kernels.table.summary.kernel_latency_ms ?? null)} in all`} />}
        {layers !== undefined && <Figure value={count(number(layers.table.summary.layers) ?? 0)} label="layers" />}
      </section>
      {deepest !== undefined && <Attribution run={deepest.run_id} />}
      {l0 !== undefined && <Overhead answer={l0} />}
      {noise !== null && <section class="panel"><h3>The machine's noise</h3><p>{noise}</p></section>}
      <div class="columns">
        {types !== undefined && <section class="panel"><h3>Layer types by latency</h3>{types.table.rows.slice(0, 8).map((row) => <Meter key={text(row.layer_type)} label={text(row.layer_type)} value={number(row.latency_ms) ?? 0} whole={types.table.rows.reduce((sum, other) => sum + (number(other.latency_ms) ?? 0), 0)} level={2} text={`${cell("latency_ms", row.latency_ms)}, ${cell("latency_pct", row.latency_pct)}`} />)}<a href="#page=layers">All layers</a></section>}
        {kernels !== undefined && <section class="panel"><h3>Kernels by latency</h3>{kernels.table.rows.slice(0, 8).map((row) => <Meter key={text(row.kernel_name)} label={text(row.kernel_name)} title={text(row.kernel_name)} value={number(row.latency_ms) ?? 0} whole={number(kernels.table.summary.kernel_latency_ms) ?? 0} level={4} text={`${cell("latency_ms", row.latency_ms)}, ${count(number(row.count) ?? 0)} ×`} />)}<a href="#page=kernels">All kernels</a></section>}
      </div>
    </>
  );
}

function Attribution({ run: id }: { run: number }) {
  const facts = documentData.value!.runs.find((one) => one.run_id === id)!;
  const all = facts.bases_counted.reduce((sum, value) => sum + value, 0), dropped = facts.dropped;
  return (
    <section class="panel">
      <h3>What was recorded <span class="quiet">run {id}, {facts.levels}</span></h3>
      <div class="columns">
        <div>{LEVELS.map((level, i) => facts.levels_counted[i] > 0 && <Meter key={level} label={level} value={facts.levels_counted[i]} whole={Math.max(...facts.levels_counted)} level={i} text={plural(facts.levels_counted[i], "span")} />)}</div>
        <div>{BASES.map((basis, i) => facts.bases_counted[i] > 0 && <Meter key={basis} label={basis === "none" ? "no parent" : basis === "ambiguous" ? "two candidates" : `parent by ${basis}`} value={facts.bases_counted[i]} whole={all} level={basis === "ambiguous" ? 4 : 1} text={`${count(facts.bases_counted[i])}, ${digits((100 * facts.bases_counted[i]) / all, 3)} %`} />)}</div>
      </div>
      <p class={dropped > 0 ? "warn" : "quiet"}>{dropped === 0 ? "Nothing was dropped." : `${plural(dropped, "record")} found no room and were dropped: what follows lacks them.`}{facts.open > 0 && ` ${plural(facts.open, "span")} never finished.`}{facts.spans_of_other_clocks > 0 && ` ${plural(facts.spans_of_other_clocks, "span")} of other clocks are not on the timeline.`}</p>
    </section>
  );
}

function Overhead({ answer: l0 }: { answer: Answer }) {
  const rows = l0.table.rows, most = Math.max(...rows.map((row) => number(row.latency_ms) ?? 0));
  return (
    <section class="panel">
      <h3>What recording cost <span class="quiet">latency at each level set</span></h3>
      {rows.map((row, i) => <Meter key={i} label={`${row.batch_size === null ? "" : `batch ${row.batch_size}, `}${row.levels}`} value={number(row.latency_ms) ?? 0} whole={most} level={text(row.levels).includes("K") ? 4 : text(row.levels).includes("L") ? 2 : 1}
        text={`${cell("latency_ms", row.latency_ms)}${row.overhead_ms === null ? "" : `, ${cell("overhead_ms", row.overhead_ms)} over ${row.over}`}`} />)}
      <Notes notes={l0.table.notes} />
    </section>
  );
}

const perLayer = (answer_: Answer, key: string, unit: string): Point[] => answer_.table.rows.flatMap((row) => {
  const value = number(row[key]);
  return value === null ? [] : [{ x: number(row.layer_index) ?? 0, y: value, title: `${row.layer_index} ${row.layer_name} (${row.layer_type ?? "–"}): ${cell(key, value)}${unit}`, level: 2, onOpen: () => find(row.layer_name) }];
});
const typeBars = (answer_: Answer, key: string) => {
  const rows = answer_.table.rows, all = rows.reduce((sum, row) => sum + (number(row[key]) ?? 0), 0);
  return rows.slice(0, 12).map((row) => <Meter key={text(row.layer_type)} label={text(row.layer_type)} value={number(row[key]) ?? 0} whole={all} level={2} text={`${cell(key, row[key])}, ${digits((100 * (number(row[key]) ?? 0)) / (all || 1), 3)} %`} />);
};

export function Layers() {
  const a2 = answer("A2"), a3 = answer("A3"), a5 = answer("A5"), a6 = answer("A6"), a11 = answer("A11"), a12 = answer("A12"), a13 = answer("A13");
  if (a2 === undefined) return <Missing what="layers" how="xsp profile MODEL --levels M,M/L" />;
  return (
    <>
      <div class="tools"><BatchChooser /></div>
      <SelectionNote />
      <Summary answer={a2} />
      {a3 !== undefined && <section class="panel"><h3>Latency by layer, in execution order</h3><Bars title="Latency by layer" x={{ label: "layer" }} y={{ label: "ms" }} points={perLayer(a3, "latency_ms", "")} /><Summary answer={a3} keys={["beginning_pct", "middle_pct", "end_pct", "stage"]} /></section>}
      <div class="columns">
        {a6 !== undefined && <section class="panel"><h3>By type: latency</h3>{typeBars(a6, "latency_ms")}</section>}
        {a5 !== undefined && <section class="panel"><h3>By type: count</h3>{typeBars(a5, "count")}</section>}
      </div>
      <AnswerTable answer={a2} onRow={(row) => find(row.layer_name)} />
      {a13 !== undefined && <section class="panel"><h3>Device time by layer</h3><Bars title="Device time by layer" x={{ label: "layer" }} y={{ label: "ms" }} points={perLayer(a13, "gpu_latency_ms", "").map((point) => ({ ...point, level: 4 }))} /></section>}
      {a11 !== undefined && <AnswerTable answer={a11} onRow={(row) => find(row.layer_name)} />}
      {a12 !== undefined && <AnswerTable answer={a12} />}
      {a13 !== undefined && <AnswerTable answer={a13} onRow={(row) => find(row.layer_name)} />}
    </>
  );
}

export function Kernels() {
  const a8 = answer("A8"), a10 = answer("A10");
  if (a8 === undefined && a10 === undefined) return <Missing what="kernels" how="xsp import of a trace that has them, or xsp run on a machine with OpenCL or a GPU" />;
  return (
    <>
      <div class="tools"><BatchChooser /></div>
      <SelectionNote />
      {a10 !== undefined && <Summary answer={a10} />}
      {a10 !== undefined && <AnswerTable answer={a10} onRow={(row) => find(row.kernel_name)} />}
      {a8 !== undefined && <AnswerTable answer={a8} onRow={(row) => find(row.kernel_name)} />}
    </>
  );
}

function roofPoints(answer_: Answer, nameKey: string, level: number): Point[] {
  return answer_.table.rows.flatMap((row) => {
    const measured = number(row.arithmetic_intensity), x = measured ?? number(row.analytic_intensity);
    const y = measured !== null ? number(row.arithmetic_throughput_flops_per_s) : number(row.analytic_throughput_flops_per_s);
    if (x === null || y === null || x <= 0 || y <= 0) return [];
    return [{ x, y, level, hollow: measured === null, title: `${text(row[nameKey])}: ${digits(x)} flops/byte, ${scaled(y, "flop/s")}${measured === null ? ", analytic" : ""}${(row.above_roof === true || row.analytic_above_roof === true) ? ", above its roof: suspect counting" : ""}`, onOpen: () => find(row[nameKey]) }];
  });
}
function roofs(all: (Answer | undefined)[]): Roof[] {
  const known = new Map<string, Roof>();
  for (const one of all) for (const row of [...(one?.table.rows ?? []), one?.table.summary ?? {}] as Row[]) {
    const peak = number(row.peak_flops_per_s), bandwidth = number(row.memory_bandwidth_bytes_per_s);
    if (peak !== null && bandwidth !== null && peak > 0 && bandwidth > 0) known.set(`${peak}/${bandwidth}`, { peak, bandwidth, name: `${text(row.precision) || text(row.analytic_precision) || "peak"} ${scaled(peak, "flop/s")}, ${scaled(bandwidth, "B/s")}` });
  }
  return [...known.values()];
}
export function RooflinePage() {
  const a9 = answer("A9"), a14 = answer("A14"), a15 = answers("A15")[0];
  const kernels = a9 === undefined ? [] : roofPoints(a9, "kernel_name", 4), layers = a14 === undefined ? [] : roofPoints(a14, "layer_name", 2);
  const models = a15 === undefined ? [] : roofPoints(a15, "batch_size", 1);
  const lines = roofs([a9, a14, a15]);
  if (kernels.length + layers.length + models.length === 0) return <><div class="tools"><BatchChooser /></div><Missing what="points for a roofline" how="a run with metrics, or layers whose shapes are known" />{a14 !== undefined && <AnswerTable answer={a14} />}</>;
  return (
    <>
      <div class="tools"><BatchChooser /></div>
      <p class="quiet">Solid: counted by hardware. Hollow: flops and bytes follow from shapes.</p>
      {kernels.length > 0 && <section class="panel"><h3>Kernels</h3><Roofline title="Roofline of kernels" points={kernels} roofs={lines} /></section>}
      {layers.length > 0 && <section class="panel"><h3>Layers</h3><Roofline title="Roofline of layers" points={layers} roofs={lines} /></section>}
      {models.length > 0 && <section class="panel"><h3>The model over batch sizes</h3><Roofline title="Roofline of the model over batch sizes" points={models} roofs={lines} height={320} /></section>}
      {a9 !== undefined && <AnswerTable answer={a9} onRow={(row) => find(row.kernel_name)} />}
      {a14 !== undefined && <AnswerTable answer={a14} onRow={(row) => find(row.layer_name)} />}
    </>
  );
}

export function Batch() {
  const a1 = answers("A1")[0], a15 = answers("A15")[0];
  if (a1 === undefined) return <Missing what="predictions" how="xsp profile MODEL --batch 1,2,4,8" />;
  const points = (key: string, level: number): { name: string; level: number; points: Point[] } => ({ name: key === "latency_ms" ? "latency" : "throughput", level, points: a1.table.rows.flatMap((row) => (number(row.batch_size) === null || number(row[key]) === null ? [] : [{ x: row.batch_size as number, y: row[key] as number, title: `batch ${row.batch_size}: ${cell(key, row[key])}` }])) });
  return (
    <>
      <Summary answer={a1} />
      {batches().length > 1 && <div class="columns">
        <section class="panel"><h3>Throughput</h3><Lines title="Throughput over batch size" x={{ label: "batch size" }} y={{ label: "a second" }} series={[points("throughput_per_s", 1)]} /></section>
        <section class="panel"><h3>Latency</h3><Lines title="Latency over batch size" x={{ label: "batch size" }} y={{ label: "ms" }} series={[points("latency_ms", 2)]} /></section>
      </div>}
      <AnswerTable answer={a1} />
      {a15 !== undefined && <AnswerTable answer={a15} />}
    </>
  );
}

export function Memory() {
  const a4 = answer("A4"), a7 = answer("A7");
  if (a4 === undefined) return <Missing what="allocations of layers" how="ONNX Runtime 1.31 or later, or a trace that records them" />;
  return (
    <>
      <div class="tools"><BatchChooser /></div>
      <section class="panel"><h3>Allocated by layer, in execution order</h3><Bars title="Allocated by layer" x={{ label: "layer" }} y={{ label: "MB (10⁶ bytes)" }} points={perLayer(a4, "alloc_bytes", "").map((point) => ({ ...point, y: point.y / 1e6 }))} /><Summary answer={a4} /></section>
      {a7 !== undefined && <section class="panel"><h3>By type</h3>{typeBars(a7, "alloc_bytes")}</section>}
      <AnswerTable answer={a4} />
      {a7 !== undefined && <AnswerTable answer={a7} />}
    </>
  );
}

export function Runs() {
  const data = documentData.value!, l0 = answers("L0")[0], byLayer = answer("L0", "layer");
  return (
    <>
      {l0 !== undefined && <AnswerTable answer={l0} caption="L0  leveled overhead" />}
      <SideBySide />
      {byLayer !== undefined && <AnswerTable answer={byLayer} caption="L0  overhead by layer" />}
      <DataTable id="runs" caption="Runs" rows={data.runs} onRow={(facts) => { chooseRun(facts.run_id); page.value = "timeline"; }} columns={[
        { key: "run_id", label: "run", value: (facts) => facts.run_id },
        { key: "levels", label: "levels", isText: true, value: (facts) => facts.levels },
        { key: "batch_size", label: "batch", value: (facts) => facts.batch_size },
        { key: "observations", label: "observations", value: (facts) => facts.observations.filter(([, , warmup]) => warmup === 0).length },
        ...LEVELS.map((level, i) => ({ key: level, label: level, title: `spans at ${level} level`, value: (facts: (typeof data.runs)[number]) => facts.levels_counted[i] })),
        { key: "dropped", label: "dropped", value: (facts) => facts.dropped },
        { key: "open", label: "open", value: (facts) => facts.open },
        ...BASES.map((basis, i) => ({ key: `basis_${basis}`, label: basis === "none" ? "no parent" : basis, title: "parents by this basis", value: (facts: (typeof data.runs)[number]) => facts.bases_counted[i] })),
        { key: "own_pct", label: "own", title: "xsp's own measured share", value: (facts) => facts.own_pct },
      ]} />
      {data.experiments.map((experiment) => (
        <section class="panel" key={experiment.experiment_id}>
          <h3>Provenance: {experiment.name ?? `experiment ${experiment.experiment_id}`}</h3>
          <dl class="facts wide">
            {([["command", experiment.command], ["workload", experiment.workload], ["framework", [experiment.framework, experiment.framework_version].filter((part) => part !== null).join(" ")], ["created", new Date(experiment.created_ms).toISOString()], ["xsp", experiment.xsp_version], ...Object.entries(experiment.system)] as [string, Cell][])
              .filter(([, value]) => value !== null && value !== "").map(([key, value]) => <div key={key}><dt>{key.replaceAll("_", " ")}</dt><dd class="wrap">{cell(key, value)}</dd></div>)}
          </dl>
        </section>))}
      {data.notes.length > 0 && <section class="panel"><h3>Notes</h3><dl class="facts wide">{data.notes.map((note, i) => <div key={i}><dt>{note.run_id === 0 ? "" : `run ${note.run_id}: `}{note.key.replaceAll("_", " ")}</dt><dd class="wrap">{note.value}</dd></div>)}</dl></section>}
    </>
  );
}

export function Missing({ what, how }: { what: string; how: string }) {
  return <p class="note">This file has no {what}. To get them: {how}.</p>;
}
