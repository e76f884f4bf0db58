// SPDX-License-Identifier: Apache-2.0
// Ranks of a job (A21) and their collectives (A24): a step of each rank as bars of one scale, so that the slow rank and those that
// wait for it stand out.
import { cell, digits } from "../format";
import type { Answer } from "../data";
import { LinkedTable, number, text, type Row } from "../widgets/answers";
import { answers } from "../widgets/parts";
import { Summary } from "../widgets/table";
import { NoData } from "./no_data";
import { Panel, RangeNote } from "./shown";
import "./ranks.css";

const PARTS: [key: string, label: string][] = [
  ["step_ms", "step"],
  ["own_ms", "own"],
  ["compute_ms", "compute"],
  ["communication_ms", "communication"],
  ["exposed_ms", "exposed"],
  ["waiting_ms", "waiting"],
  ["input_ms", "input"],
];
const ALL = "all";

// Each column has its own scale: a rank is compared with the others, not with its other figures.
function Heat({ of }: { of: Answer }) {
  const rows = of.table.rows.filter((row) => row.rank !== ALL),
    columns = PARTS.filter(([key]) => rows.some((row) => number(row[key]) !== null)),
    slowest = text(of.table.summary.slowest_rank),
    most = new Map(columns.map(([key]) => [key, Math.max(1e-9, ...rows.map((row) => number(row[key]) ?? 0))]));
  const shade = (row: Row, key: string) => (number(row[key]) ?? 0) / most.get(key)!;
  return (
    <Panel title="A step of each rank" aside="darker: more than other ranks">
      <div class="rank-scroll" tabIndex={0} role="region" aria-label="A step of each rank, scrollable">
        <table class="rank-heat">
          <thead>
            <tr>
              <th scope="col">rank</th>
              {columns.map(([key, label]) => (
                <th key={key} scope="col">
                  {label}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={text(row.rank)} data-rank={text(row.rank)}>
                <th scope="row">
                  {text(row.rank)}
                  {text(row.rank) === slowest && of.table.summary.verdict === "slower" && (
                    <span class="warn"> slowest</span>
                  )}
                  {text(row.state) !== "" && <span class="bad"> {text(row.state)}</span>}
                </th>
                {columns.map(([key]) => (
                  <td
                    key={key}
                    title={String(row[key] ?? "not measured")}
                    style={{ "--share": `${digits(100 * shade(row, key), 3)}%` }}
                  >
                    {cell(key, row[key] ?? null)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}

export function Ranks() {
  const a21 = answers("A21")[0],
    a24 = answers("A24")[0];
  if (a21 === undefined) return <NoData />;
  return (
    <>
      <RangeNote filtered="" whole="Not filtered: ranks are compared by whole runs." />
      <Summary answer={a21} />
      <Heat of={a21} />
      <LinkedTable answer={a21} />
      {a24 !== undefined && <LinkedTable answer={a24} />}
    </>
  );
}
