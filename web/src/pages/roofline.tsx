// SPDX-License-Identifier: Apache-2.0
// Intensity against throughput of kernels (A9), layers (A14) and the model over batch sizes (A15), under the system's roofs.
import type { Point } from "../widgets/charts";
import { Roofline, type Roof } from "../widgets/roofline_chart";
import type { Answer } from "../data";
import { digits, scaled } from "../format";
import { answer, answers } from "../widgets/parts";
import { find, Missing, number, text, type Row } from "../widgets/answers";
import { AnswerTable } from "../widgets/table";

function roofPoints(answer_: Answer, nameKey: string, level: number): Point[] {
  return answer_.table.rows.flatMap((row) => {
    const measured = number(row.arithmetic_intensity),
      x = measured ?? number(row.analytic_intensity);
    const y =
      measured !== null ? number(row.arithmetic_throughput_flops_per_s) : number(row.analytic_throughput_flops_per_s);
    if (x === null || y === null || x <= 0 || y <= 0) return [];
    return [
      {
        x,
        y,
        level,
        hollow: measured === null,
        title: `${text(row[nameKey])}: ${digits(x)} flops/byte, ${scaled(y, "flop/s")}${measured === null ? ", analytic" : ""}${row.above_roof === true || row.analytic_above_roof === true ? ", above its roof: suspect counting" : ""}`,
        onOpen: () => find(row[nameKey]),
      },
    ];
  });
}

function roofs(all: (Answer | undefined)[]): Roof[] {
  const known = new Map<string, Roof>();
  for (const one of all)
    for (const row of [...(one?.table.rows ?? []), one?.table.summary ?? {}] as Row[]) {
      const peak = number(row.peak_flops_per_s),
        bandwidth = number(row.memory_bandwidth_bytes_per_s);
      if (peak !== null && bandwidth !== null && peak > 0 && bandwidth > 0)
        known.set(`${peak}/${bandwidth}`, {
          peak,
          bandwidth,
          name: `${text(row.precision) || text(row.analytic_precision) || "peak"} ${scaled(peak, "flop/s")}, ${scaled(bandwidth, "B/s")}`,
        });
    }
  return [...known.values()];
}

export function RooflinePage() {
  const a9 = answer("A9"),
    a14 = answer("A14"),
    a15 = answers("A15")[0];
  const kernels = a9 === undefined ? [] : roofPoints(a9, "kernel_name", 4),
    layers = a14 === undefined ? [] : roofPoints(a14, "layer_name", 2);
  const models = a15 === undefined ? [] : roofPoints(a15, "batch_size", 1);
  const lines = roofs([a9, a14, a15]);
  if (kernels.length + layers.length + models.length === 0)
    return (
      <>
        <Missing what="points for a roofline" how="a run with metrics, or layers whose shapes are known" />
        {a14 !== undefined && <AnswerTable answer={a14} />}
      </>
    );
  return (
    <>
      <p class="quiet">Solid: counted by hardware. Hollow: flops and bytes follow from shapes.</p>
      {kernels.length > 0 && (
        <section class="panel">
          <h3>Kernels</h3>
          <Roofline title="Roofline of kernels" points={kernels} roofs={lines} />
        </section>
      )}
      {layers.length > 0 && (
        <section class="panel">
          <h3>Layers</h3>
          <Roofline title="Roofline of layers" points={layers} roofs={lines} />
        </section>
      )}
      {models.length > 0 && (
        <section class="panel">
          <h3>The model over batch sizes</h3>
          <Roofline title="Roofline of the model over batch sizes" points={models} roofs={lines} height={320} />
        </section>
      )}
      {a9 !== undefined && <AnswerTable answer={a9} onRow={(row) => find(row.kernel_name)} />}
      {a14 !== undefined && <AnswerTable answer={a14} onRow={(row) => find(row.layer_name)} />}
    </>
  );
}
