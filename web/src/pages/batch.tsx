// SPDX-License-Identifier: Apache-2.0
// Latency and throughput over batch sizes: A1, and A15 where kernels were seen.
import { Lines, type Point } from "../widgets/charts";
import { cell } from "../format";
import { answers, batches } from "../widgets/parts";
import { Missing, number } from "../widgets/answers";
import { AnswerTable, Summary } from "../widgets/table";

export function Batch() {
  const a1 = answers("A1")[0],
    a15 = answers("A15")[0];
  if (a1 === undefined) return <Missing what="predictions" how="xsp profile MODEL --batch 1,2,4,8" />;
  const points = (key: string, level: number): { name: string; level: number; points: Point[] } => ({
    name: key === "latency_ms" ? "latency" : "throughput",
    level,
    points: a1.table.rows.flatMap((row) =>
      number(row.batch_size) === null || number(row[key]) === null
        ? []
        : [
            {
              x: row.batch_size as number,
              y: row[key] as number,
              title: `batch ${row.batch_size}: ${cell(key, row[key])}`,
            },
          ],
    ),
  });
  return (
    <>
      <Summary answer={a1} />
      {batches().length > 1 && (
        <div class="columns">
          <section class="panel">
            <h3>Throughput</h3>
            <Lines
              title="Throughput over batch size"
              x={{ label: "batch size" }}
              y={{ label: "a second" }}
              series={[points("throughput_per_s", 1)]}
            />
          </section>
          <section class="panel">
            <h3>Latency</h3>
            <Lines
              title="Latency over batch size"
              x={{ label: "batch size" }}
              y={{ label: "ms" }}
              series={[points("latency_ms", 2)]}
            />
          </section>
        </div>
      )}
      <AnswerTable answer={a1} />
      {a15 !== undefined && <AnswerTable answer={a15} />}
    </>
  );
}
