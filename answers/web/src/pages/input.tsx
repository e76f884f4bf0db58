// SPDX-License-Identifier: Apache-2.0
// The input pipeline (A19): what makes batches, how busy its workers are, and whether steps wait for it.
import { cell, digits, plural } from "../format";
import { observationWord } from "../state";
import { LinkedTable, number, text } from "../widgets/answers";
import { Meter } from "../widgets/charts";
import { answer } from "../widgets/parts";
import { Summary } from "../widgets/table";
import { NoData } from "./no_data";
import { BatchNote, Panel, RangeNote } from "./shown";

// A step as two parts: waiting for its batch, and the rest.
function Waits({ waited, latency }: { waited: number; latency: number }) {
  const parts: [label: string, value: number, level: number][] = [
    ["waits for its batch", waited, 0],
    ["the rest", Math.max(0, latency - waited), 1],
  ];
  return (
    <Panel title={`Where a ${observationWord.value}'s time goes`} aside={cell("latency_ms", latency)}>
      {parts.map(([label, value, level]) => (
        <Meter
          key={label}
          label={label}
          value={value}
          whole={latency}
          level={level}
          text={`${cell("waited_ms", value)}, ${digits((100 * value) / latency, 3)} %`}
        />
      ))}
    </Panel>
  );
}

export function Input() {
  const a19 = answer("A19"),
    latency = number(answer("A1")?.table.rows[0]?.latency_ms);
  if (a19 === undefined) return <NoData />;
  const { summary } = a19.table,
    waited = number(summary.waited_ms),
    busy = number(summary.worker_busy_pct),
    workers = number(summary.workers) ?? 0;
  return (
    <>
      <RangeNote filtered="" whole="Not filtered: batches are those of whole runs." />
      <BatchNote of={[["A19", "batches"]]} />
      <p class="note">
        {text(summary.bound) === "input"
          ? `The ${observationWord.value}s are bound by their input: they wait for batches.`
          : `The ${observationWord.value}s hardly wait for their input.`}{" "}
        {workers === 0
          ? "Batches are made in the process that uses them."
          : `${plural(workers, "worker")} made them${busy === null ? "" : `, busy ${digits(busy, 3)} % of the time`}.`}
      </p>
      {waited !== null && latency !== null && latency > 0 && <Waits waited={waited} latency={latency} />}
      <Summary answer={a19} />
      <LinkedTable answer={a19} />
    </>
  );
}
