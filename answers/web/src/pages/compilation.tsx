// SPDX-License-Identifier: Apache-2.0
// Compilation (A25): what torch.compile, jax.jit and tf.function compiled, sessions of ONNX Runtime, and how much of the time goes to compiling again.
import { cell, digits, plural } from "../format";
import { LinkedTable, number, text } from "../widgets/answers";
import { Meter } from "../widgets/charts";
import { answer } from "../widgets/parts";
import { Summary } from "../widgets/table";
import { NoData } from "./no_data";
import { Panel, RangeNote } from "./shown";

export function Compilation() {
  const a25 = answer("A25");
  if (a25 === undefined) return <NoData />;
  const { rows, summary } = a25.table,
    total = number(summary.compile_total_ms) ?? 0,
    share = number(summary.of_program_pct),
    again = number(summary.recompile_count) ?? 0,
    byKind = new Map<string, number>();
  for (const row of rows) byKind.set(text(row.kind), (byKind.get(text(row.kind)) ?? 0) + (number(row.total_ms) ?? 0));
  return (
    <>
      <RangeNote filtered="" whole="Not filtered: compilations are those of whole runs." />
      <p class={again > 0 ? "note warn" : "note"}>
        {again > 0 ? `${plural(again, "time")} something was compiled again.` : "Nothing was compiled again."}
        {share === null ? "" : ` Compiling takes ${digits(share, 3)} % of the program's time.`}
      </p>
      <Panel title="Compilation by kind" aside={cell("compile_total_ms", total)}>
        {[...byKind].map(([kind, ms]) => (
          <Meter
            key={kind}
            label={kind}
            value={ms}
            whole={total}
            level={0}
            text={`${cell("total_ms", ms)}, ${digits((100 * ms) / total, 3)} %`}
          />
        ))}
      </Panel>
      <Summary answer={a25} />
      <LinkedTable answer={a25} />
    </>
  );
}
