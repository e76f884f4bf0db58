// SPDX-License-Identifier: Apache-2.0
// What layers allocated (A4, A7) and what their kernels moved (A12), in execution order and by type.
import { useMemo } from "preact/hooks";
import type { Answer } from "../data";
import { inPicked, picked } from "../filter";
import { isFocused, openLayer } from "../focus";
import { bytes, cell, plural } from "../format";
import { focus } from "../state";
import { Bars, type Point, type Stages } from "../widgets/charts";
import { WithFocus } from "../widgets/focus_panel";
import { answer } from "../widgets/parts";
import { LinkedTable, text } from "../widgets/answers";
import { NoData } from "./no_data";
import { BatchNote, finite, Panel, RangeNote } from "./shown";
import { TopList, targetOf } from "./top_list";

const STAGE_WORDS: Record<string, string> = { B: "beginning", M: "middle", E: "end" };
const TRAFFIC: [key: string, title: string][] = [
  ["dram_bytes", "DRAM traffic of kernels"],
  ["dram_read_bytes", "DRAM reads of kernels"],
  ["dram_write_bytes", "DRAM writes of kernels"],
];

export function stagesOf({ table: { summary } }: Answer, prefix = ""): Stages {
  const of = (name: string) => finite(summary[`${prefix}${prefix === "" ? "" : "_"}${name}`]);
  return {
    shares: [of("beginning_pct"), of("middle_pct"), of("end_pct")],
    largest: text(summary[`${prefix}${prefix === "" ? "" : "_"}stage`]) || null,
  };
}
const stageText = (stages: Stages) =>
  stages.largest === null ? "" : `most of it in the ${STAGE_WORDS[stages.largest] ?? stages.largest}`;
// For screen readers; the chart shows it above the bars.
const sharesText = ({ shares }: Stages) =>
  shares.some((share) => share === null)
    ? ""
    : Object.values(STAGE_WORDS)
        .map((word, third) => `${word} ${shares[third]!.toFixed(1)} %`)
        .join(", ");

export function Memory() {
  const a4 = answer("A4"),
    a7 = answer("A7"),
    a12 = answer("A12");
  const traffic = TRAFFIC.filter(([key]) => a12?.table.rows.some((row) => finite(row[key]) !== null));
  if (a4 === undefined && traffic.length === 0) return <NoData />;
  return (
    <WithFocus>
      <BatchNote
        of={[
          ["A4", "allocations"],
          ["A12", "traffic of kernels"],
        ]}
      />
      <RangeNote filtered="Bars outside are faded, tables show the layers in it;" whole="shares are of whole runs." />
      <div class="memory-pair">
        {a4 !== undefined && <Allocated answer={a4} what="Allocated by layer" valueKey="alloc_bytes" prefix="" />}
        {a7 !== undefined && (
          <TopList
            title="Allocated by type"
            aside="share of what all layers allocated"
            rows={a7.table.rows}
            valueKey="alloc_bytes"
            shareKey="alloc_pct"
            whole={a7.table.rows.reduce((sum, row) => sum + Math.max(0, finite(row.alloc_bytes) ?? 0), 0)}
            level={2}
            target={targetOf("type", "layer_type")}
            on="layers"
            word="type"
          />
        )}
      </div>
      {a12 !== undefined &&
        traffic.map(([key, title]) => <Allocated key={key} answer={a12} what={title} valueKey={key} prefix={key} />)}
      {a4 !== undefined && <LinkedTable answer={a4} />}
      {a7 !== undefined && <LinkedTable answer={a7} />}
      {a12 !== undefined && <LinkedTable answer={a12} />}
    </WithFocus>
  );
}

function Allocated({
  answer: one,
  what,
  valueKey,
  prefix,
}: {
  answer: Answer;
  what: string;
  valueKey: string;
  prefix: string;
}) {
  const stages = stagesOf(one, prefix),
    looked = focus.value,
    inside = picked.value;
  const rows = one.table.rows; // all of them: thirds are by position among all layers
  const points = useMemo(
    () =>
      rows.map((row, i): Point => ({
        x: finite(row.layer_index) ?? i,
        y: finite(row[valueKey]) ?? NaN,
        level: prefix === "" ? 2 : 4,
        title: "",
        isFocused: looked !== null && isFocused(row),
        isDimmed: inside !== null && !inPicked(row),
      })),
    [rows, valueKey, looked, inside],
  );
  const known = rows.filter((row) => finite(row[valueKey]) !== null),
    all = known.reduce((sum, row) => sum + finite(row[valueKey])!, 0),
    missing = rows.length - known.length;
  return (
    <Panel
      title={`${what}, in execution order`}
      aside={[`${bytes(all)} ${missing > 0 ? "where known" : "in all"}`, stageText(stages)]
        .filter((part) => part !== "")
        .join(", ")}
    >
      <Bars
        title={`${what}, in execution order; ${[stageText(stages), sharesText(stages)].filter((part) => part !== "").join(": ")}`}
        x={{ label: "layer" }}
        y={{ label: "", key: valueKey }}
        points={points}
        titleOf={(i) =>
          `${text(rows[i].layer_index)} ${text(rows[i].layer_name)}: ${cell(valueKey, rows[i][valueKey])}`.trim()
        }
        onOpen={(i) => openLayer(text(rows[i].layer_name), finite(rows[i].layer_index))}
        stages={stages}
      />
      {missing > 0 && (
        <p class="quiet small">
          No value for {plural(missing, "layer")}: no bar there
          {stages.shares.every((share) => share === null) && ", and no shares of beginning, middle and end"}.
        </p>
      )}
    </Panel>
  );
}
