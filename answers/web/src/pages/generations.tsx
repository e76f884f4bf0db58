// SPDX-License-Identifier: Apache-2.0
// Generations of text (A20): per request the time to the first token and the time of a token.
import { useMemo } from "preact/hooks";
import { cell, plural } from "../format";
import type { Answer } from "../data";
import { LinkedTable, number, text } from "../widgets/answers";
import { Bars, type Point } from "../widgets/charts";
import { answer } from "../widgets/parts";
import { Summary } from "../widgets/table";
import { NoData } from "./no_data";
import { Panel, RangeNote } from "./shown";

function ByRequest({ of, what, valueKey }: { of: Answer; what: string; valueKey: string }) {
  const { rows } = of.table,
    points = useMemo(
      () =>
        rows.map((row, i): Point => ({
          x: number(row.request) ?? i,
          y: number(row[valueKey]) ?? NaN,
          level: 1,
          title: "",
        })),
      [rows, valueKey],
    );
  return (
    <Panel title={what} aside={plural(rows.length, "request")}>
      <Bars
        title={`${what} by request`}
        x={{ label: "request" }}
        y={{ label: "", key: valueKey }}
        points={points}
        titleOf={(i) =>
          `request ${text(rows[i].request)}: ${cell(valueKey, rows[i][valueKey])}, ${text(rows[i].prompt_tokens)} + ${text(rows[i].new_tokens)} tokens`
        }
      />
    </Panel>
  );
}

export function Generations() {
  const a20 = answer("A20");
  if (a20 === undefined) return <NoData />;
  const uncached = a20.table.rows.filter((row) => row.is_cached === false).length;
  return (
    <>
      <RangeNote filtered="" whole="Not filtered: requests are those of whole runs." />
      {uncached > 0 && (
        <p class="note warn">
          {plural(uncached, "request")} decoded without a cache: each token's call has all positions before it.
        </p>
      )}
      <Summary answer={a20} />
      <div class="columns">
        <ByRequest of={a20} what="Time to the first token" valueKey="first_token_ms" />
        <ByRequest of={a20} what="Time of a token" valueKey="per_token_ms" />
      </div>
      <LinkedTable answer={a20} />
    </>
  );
}
