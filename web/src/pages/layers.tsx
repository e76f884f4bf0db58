// SPDX-License-Identifier: Apache-2.0
// Analyses of layers: A2 to A7 and, where kernels were seen, A11 to A13.
import { Bars } from "../widgets/charts";
import { answer, SelectionNote } from "../widgets/parts";
import { find, Missing, perLayer, typeBars } from "../widgets/answers";
import { AnswerTable, Summary } from "../widgets/table";

export function Layers() {
  const a2 = answer("A2"),
    a3 = answer("A3"),
    a5 = answer("A5"),
    a6 = answer("A6"),
    a11 = answer("A11"),
    a12 = answer("A12"),
    a13 = answer("A13");
  if (a2 === undefined) return <Missing what="layers" how="xsp profile MODEL --levels M,M/L" />;
  return (
    <>
      <SelectionNote />
      <Summary answer={a2} />
      {a3 !== undefined && (
        <section class="panel">
          <h3>Latency by layer, in execution order</h3>
          <Bars
            title="Latency by layer"
            x={{ label: "layer" }}
            y={{ label: "ms" }}
            points={perLayer(a3, "latency_ms", "")}
          />
          <Summary answer={a3} keys={["beginning_pct", "middle_pct", "end_pct", "stage"]} />
        </section>
      )}
      <div class="columns">
        {a6 !== undefined && (
          <section class="panel">
            <h3>By type: latency</h3>
            {typeBars(a6, "latency_ms")}
          </section>
        )}
        {a5 !== undefined && (
          <section class="panel">
            <h3>By type: count</h3>
            {typeBars(a5, "count")}
          </section>
        )}
      </div>
      <AnswerTable answer={a2} onRow={(row) => find(row.layer_name)} />
      {a13 !== undefined && (
        <section class="panel">
          <h3>Device time by layer</h3>
          <Bars
            title="Device time by layer"
            x={{ label: "layer" }}
            y={{ label: "ms" }}
            points={perLayer(a13, "gpu_latency_ms", "").map((point) => ({ ...point, level: 4 }))}
          />
        </section>
      )}
      {a11 !== undefined && <AnswerTable answer={a11} onRow={(row) => find(row.layer_name)} />}
      {a12 !== undefined && <AnswerTable answer={a12} />}
      {a13 !== undefined && <AnswerTable answer={a13} onRow={(row) => find(row.layer_name)} />}
    </>
  );
}
