// SPDX-License-Identifier: Apache-2.0
// What layers allocated, in their order and by type: A4 and A7.
import { Bars } from "../widgets/charts";
import { answer } from "../widgets/parts";
import { Missing, perLayer, typeBars } from "../widgets/answers";
import { AnswerTable, Summary } from "../widgets/table";

export function Memory() {
  const a4 = answer("A4"),
    a7 = answer("A7");
  if (a4 === undefined)
    return <Missing what="allocations of layers" how="ONNX Runtime 1.31 or later, or a trace that records them" />;
  return (
    <>
      <section class="panel">
        <h3>Allocated by layer, in execution order</h3>
        <Bars
          title="Allocated by layer"
          x={{ label: "layer" }}
          y={{ label: "MB (10⁶ bytes)" }}
          points={perLayer(a4, "alloc_bytes", "").map((point) => ({ ...point, y: point.y / 1e6 }))}
        />
        <Summary answer={a4} />
      </section>
      {a7 !== undefined && (
        <section class="panel">
          <h3>By type</h3>
          {typeBars(a7, "alloc_bytes")}
        </section>
      )}
      <AnswerTable answer={a4} />
      {a7 !== undefined && <AnswerTable answer={a7} />}
    </>
  );
}
