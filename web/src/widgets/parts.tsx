// SPDX-License-Identifier: Apache-2.0
// Small pieces that several pages share.
import type { Answer, RunFacts } from "../data";
import { batch, chooseRun, documentData, runAt, selection, spans } from "../state";
import { time } from "../format";

export const runLabel = (facts: RunFacts) => {
  const many = documentData.value!.experiments.length > 1;
  const experiment = many
    ? (documentData.value!.experiments.find((one) => one.experiment_id === facts.experiment_id)?.name ?? "")
    : "";
  return [experiment, facts.batch_size === null ? "" : `batch ${facts.batch_size}`, facts.levels, `run ${facts.run_id}`]
    .filter((part) => part !== "")
    .join(", ");
};
export function RunChooser({ onChoose = chooseRun }: { onChoose?: (id: number) => void }) {
  const runs = documentData.value!.runs;
  return (
    <label class="chooser-label">
      Run{" "}
      <select value={runAt.value} onChange={(event) => onChoose(Number(event.currentTarget.value))}>
        {runs.map((facts) => (
          <option key={facts.run} value={facts.run}>
            {runLabel(facts)}
          </option>
        ))}
      </select>
    </label>
  );
}

export const answers = (id: string, by: string | null = null): Answer[] =>
  documentData.value!.analyses.filter((answer) => answer.table.analysis === id && answer.by === by);
export const batches = (): number[] =>
  [
    ...new Set(
      documentData.value!.runs.map((facts) => facts.batch_size).filter((size): size is number => size !== null),
    ),
  ].sort((a, b) => a - b);
// The batch size that the tables show: as chosen, else the optimal one, else that of most throughput.
export function shownBatch(): number | null {
  if (batch.value !== null) return batch.value;
  const summary = answers("A1")[0]?.table.summary;
  const size = summary?.optimal_batch ?? summary?.maximum_throughput_batch ?? null;
  return typeof size === "number" ? size : (batches()[0] ?? null);
}
export function answer(id: string, by: string | null = null): Answer | undefined {
  const all = answers(id, by),
    size = shownBatch();
  return all.find((one) => one.table.run_set.batch_size === size) ?? all[0];
}
export function BatchChooser() {
  const sizes = batches();
  if (sizes.length < 2) return null;
  return (
    <label class="chooser-label">
      Batch size{" "}
      <select
        value={String(shownBatch() ?? "")}
        onChange={(event) => (batch.value = Number(event.currentTarget.value))}
      >
        {sizes.map((size) => (
          <option key={size} value={size}>
            {size}
          </option>
        ))}
      </select>
    </label>
  );
}
export function SelectionNote() {
  const range = selection.value;
  if (range === null) return null;
  return (
    <p class="note">
      {time(range.to - range.from)} of the timeline are selected: what comes from spans counts these only; tables of
      analyses cover whole runs.{" "}
      <button type="button" onClick={() => (selection.value = null)}>
        Clear
      </button>
    </p>
  );
}
export function Unpacked({
  children,
}: {
  children: (data: NonNullable<typeof spans.value>) => preact.ComponentChildren;
}) {
  const data = spans.value;
  return data === null ? <p class="quiet pad">No spans of this run are in this report.</p> : <>{children(data)}</>;
}
