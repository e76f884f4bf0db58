// SPDX-License-Identifier: Apache-2.0
// Ranks of a job (A21), their collectives (A24) and steps (A27): a step of each rank as bars of one scale, and a map of ranks over
// steps, so that the slow rank and those that wait for it stand out.
import { cell, digits } from "../format";
import type { Answer } from "../data";
import { LinkedTable, number, text, type Row } from "../widgets/answers";
import { answers } from "../widgets/parts";
import { Summary } from "../widgets/table";
import { NoData } from "./no_data";
import { Panel, RangeNote } from "./shown";
import "./ranks.css";

const ALL = "all";

// Each column has its own scale: a rank is compared with the others, not with its other figures.
function Heat({ of }: { of: Answer }) {
  const rows = of.table.rows.filter((row) => row.rank !== ALL),
    columns = of.table.columns.filter(
      ({ key, unit }) => unit === "ms" && rows.some((row) => number(row[key]) !== null),
    ),
    slowest = text(of.table.summary.slowest_rank),
    most = new Map(columns.map(({ key }) => [key, Math.max(1e-9, ...rows.map((row) => number(row[key]) ?? 0))]));
  const shade = (row: Row, key: string) => (number(row[key]) ?? 0) / most.get(key)!;
  return (
    <Panel title="A step of each rank" aside="darker: more than other ranks">
      <div class="rank-scroll" tabIndex={0} role="region" aria-label="A step of each rank, scrollable">
        <table class="rank-heat">
          <thead>
            <tr>
              <th scope="col">rank</th>
              {columns.map(({ key, label }) => (
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
                {columns.map(({ key }) => (
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

// Ranks over steps: which one all others waited for in a step is light in its column.
function Steps({ of }: { of: Answer }) {
  const rows = of.table.rows,
    stepOf = (row: Row) => `${text(row.job)} ${text(row.step)}`,
    ranks = [...new Set(rows.map((row) => number(row.rank) ?? 0))].sort((a, b) => a - b),
    steps = [...new Map(rows.map((row) => [stepOf(row), row])).values()]
      .sort((a, b) => (number(a.job) ?? 0) - (number(b.job) ?? 0) || (number(a.step) ?? 0) - (number(b.step) ?? 0))
      .map(stepOf),
    most = Math.max(1e-9, ...rows.map((row) => number(row.stalled_ms) ?? 0)),
    cells = new Map(rows.map((row) => [`${number(row.rank)} ${stepOf(row)}`, row]));
  return (
    <Panel title="Standing still for other ranks, step by step" aside={`darkest: ${cell("stalled_ms", most)}`}>
      <div class="rank-scroll" tabIndex={0} role="region" aria-label="Ranks over steps, scrollable">
        <div
          class="rank-steps"
          role="img"
          aria-label="Map of ranks over steps; the table of steps has its figures"
          style={{ "--steps": steps.length }}
        >
          {ranks.map((rank) => [
            <b key={rank}>{rank}</b>,
            ...steps.map((step) => {
              const row = cells.get(`${rank} ${step}`),
                stalled = number(row?.stalled_ms);
              return (
                <span
                  key={`${rank} ${step}`}
                  title={
                    row &&
                    `rank ${rank}, step${step}: ${cell("stalled_ms", stalled)} of ${cell("step_ms", row.step_ms)}`
                  }
                  style={{ "--share": `${digits((100 * (stalled ?? 0)) / most, 3)}%` }}
                />
              );
            }),
          ])}
        </div>
      </div>
    </Panel>
  );
}

export function Ranks() {
  const a21 = answers("A21")[0],
    a24 = answers("A24")[0],
    a27 = answers("A27")[0];
  if (a21 === undefined) return <NoData />;
  return (
    <>
      <RangeNote filtered="" whole="Not filtered: ranks are compared by whole runs." />
      <Summary answer={a21} />
      <Heat of={a21} />
      {a27?.table.rows.some((row) => number(row.stalled_ms) !== null) && <Steps of={a27} />}
      <LinkedTable answer={a21} />
      {a24 !== undefined && <LinkedTable answer={a24} />}
      {a27 !== undefined && <LinkedTable answer={a27} />}
    </>
  );
}
