// SPDX-License-Identifier: Apache-2.0
// Kernels by name: number of calls against time of a call. Many short calls, candidates for fusion, are at the lower
// right.
import type { Answer } from "../data";
import { isFocused, openKernel } from "../focus";
import { insideOf } from "../filter";
import { cell, count, digits, time } from "../format";
import { observationWord, shortKernel } from "../state";
import { number, text } from "./answers";
import { LogPlot, type PlotPoint } from "./log_plot";

export function KernelScatter({ of }: { of: Answer }) {
  const longest = of.table.rows.reduce((most, row) => Math.max(most, number(row.latency_ms) ?? 0), 0);
  const points = of.table.rows.flatMap((row): PlotPoint[] => {
    const calls = number(row.count),
      total = number(row.latency_ms),
      name = text(row.kernel_name);
    if (calls === null || total === null || calls <= 0 || total <= 0) return [];
    return [
      {
        key: name,
        x: calls,
        y: (total * 1e6) / calls,
        weight: total / longest,
        level: 4,
        name: shortKernel(name),
        lines: [
          `${count(calls)} calls of ${time((total * 1e6) / calls)}`,
          `${cell("latency_ms", total)} in all`,
          ...(number(row.kernels_pct) === null ? [] : [`${cell("x_pct", row.kernels_pct)} of all kernels' time`]),
        ],
        isMarked: isFocused(row),
        isOut: insideOf(row) === null,
        onOpen: () => openKernel(name),
      },
    ];
  });
  if (points.length < 3) return null;
  return (
    <section class="panel">
      <h3>Calls of a kernel against the time of a call</h3>
      <LogPlot
        title="Kernels by calls and time a call"
        x={{ label: `calls a ${observationWord.value}`, format: (value) => digits(value, 3) }}
        y={{ label: "time a call", format: (value) => time(value, 3) }}
        points={points}
        height={300}
      />
    </section>
  );
}
