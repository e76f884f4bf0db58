// SPDX-License-Identifier: Apache-2.0
// Analyses of kernels: A10 by name, A8 by call, and a prediction's time on the device (A15).
import { LinkedTable, number, PickedNote, text } from "../widgets/answers";
import { KernelLink } from "../focus";
import { cell, count, plural } from "../format";
import type { Answer } from "../data";
import { WithFocus } from "../widgets/focus_panel";
import { KernelScatter } from "../widgets/kernel_scatter";
import { answer } from "../widgets/parts";
import { Summary } from "../widgets/table";
import { Tabs, type Tab } from "../widgets/tabs";
import { BatchNote } from "./shown";
import { NoData } from "./no_data";
import "./layers.css";

const LISTED = 10;
// The names with the most time and their shares, as bars.
function Longest({ of }: { of: Answer }) {
  const rows = of.table.rows.slice(0, LISTED),
    rest = of.table.rows.slice(LISTED);
  const share = (row: (typeof rows)[number]) => number(row.kernels_pct) ?? number(row.latency_pct) ?? 0;
  const most = Math.max(...rows.map(share), 1e-12),
    left = rest.reduce((sum, row) => sum + share(row), 0);
  return (
    <section class="panel">
      <h3>Kernels with the most time, and their share of all kernels' time</h3>
      <div class="type-scroll" tabIndex={0} role="region" aria-label="Kernels with the most time">
        <table class="type-rows kernel-rows">
          <tbody>
            {rows.map((row) => (
              <tr key={text(row.kernel_name)}>
                <td class="type-name" title={text(row.kernel_name)}>
                  <KernelLink name={text(row.kernel_name)} />
                </td>
                <td class="type-bar">
                  <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
                    <rect class="meter-back" width="100" height="10" />
                    <rect class="level-fill-4" width={(100 * share(row)) / most} height="10" />
                  </svg>
                </td>
                <td title={text(row.latency_ms)}>{cell("latency_ms", row.latency_ms)}</td>
                <td class="type-share" title={String(share(row))}>
                  {cell("x_pct", share(row))}
                </td>
                <td class="type-share">{count(number(row.count) ?? 0)}×</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rest.length > 0 && (
        <p class="quiet">
          {plural(rest.length, "more name")} with {cell("x_pct", left)} of the time: in the table.
        </p>
      )}
    </section>
  );
}

export function Kernels() {
  const a8 = answer("A8"),
    a10 = answer("A10"),
    a15 = answer("A15");
  if (a8 === undefined && a10 === undefined) return <NoData />;
  const tabs: Tab[] = [
    ...(a10 === undefined
      ? []
      : [{ id: "A10", name: "By name", show: () => <LinkedTable answer={a10} height={520} /> }]),
    ...(a8 === undefined
      ? []
      : [{ id: "A8", name: "Each call", show: () => <LinkedTable answer={a8} height={520} /> }]),
    ...(a15 === undefined
      ? []
      : [{ id: "A15", name: "By model", show: () => <LinkedTable answer={a15} height={520} /> }]),
  ];
  const hasMetrics = [a8, a10].some((one) => one?.table.rows.some((row) => number(row.flops) !== null));
  return (
    <WithFocus>
      <BatchNote of={[["A10", "kernels"]]} />
      <PickedNote answer={a10 ?? a8} what={a10 === undefined ? "call" : "kernel name"} />
      {a10 !== undefined && <Summary answer={a10} />}
      {a10 !== undefined && <Longest of={a10} />}
      {a10 !== undefined && <KernelScatter of={a10} />}
      {!hasMetrics && (
        <p class="note">
          No metrics were recorded: flops, bytes, intensity and bounds of kernels are unknown. Traces that carry them
          have them; on the machine itself, a run at M/L/K+metrics.
        </p>
      )}
      <Tabs id="kernels" label="Tables of kernels" tabs={tabs} />
    </WithFocus>
  );
}
