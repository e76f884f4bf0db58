// SPDX-License-Identifier: Apache-2.0
// Small pieces that several pages share.
import { computed } from "@preact/signals";
import type { Answer, RunFacts } from "../data";
import { batch, chooseBatch, chooseRun, documentData, experimentRuns, run, runAt, spans } from "../state";

// Of a run that OpenTelemetry's spans became: its service.
const services = computed<Map<string, string>>(
  () =>
    new Map(
      (documentData.value?.notes ?? [])
        .filter(({ key, value }) => key === "service.name" && value !== null)
        .map(({ file, run_id, value }): [string, string] => [`${file} ${run_id}`, value!]),
    ),
);
export const runLabel = (facts: RunFacts) =>
  [
    services.value.get(`${facts.file} ${facts.run_id}`) ?? "",
    facts.batch_size === null ? "" : `batch ${facts.batch_size}`,
    facts.levels,
    `run ${facts.run_id}`,
  ]
    .filter((part) => part !== "")
    .join(", ");
export function RunChooser({ onChoose = chooseRun }: { onChoose?: (id: number) => void }) {
  return (
    <label class="chooser-label">
      Run{" "}
      <select value={runAt.value} onChange={(event) => onChoose(Number(event.currentTarget.value))}>
        {experimentRuns.value.map((facts) => (
          <option key={facts.run} value={facts.run}>
            {runLabel(facts)}
          </option>
        ))}
      </select>
    </label>
  );
}

// Of the experiment shown; others have other runs.
export const answers = (id: string, by: string | null = null): Answer[] => {
  const ids = new Set(experimentRuns.value.map((facts) => facts.run_id));
  return documentData.value!.analyses.filter(
    (answer) =>
      answer.table.analysis === id &&
      answer.by === by &&
      answer.file === (run.value?.file ?? 0) &&
      (ids.size === 0 || answer.table.run_set.run_ids.some((one) => ids.has(one))),
  );
};
// What the terminal calls the column of an analysis.
export const labelOf = (id: string, key: string): string =>
  answer(id)?.table.columns.find((column) => column.key === key)?.label ?? key;
export const batches = (): number[] =>
  [
    ...new Set(experimentRuns.value.map((facts) => facts.batch_size).filter((size): size is number => size !== null)),
  ].sort((a, b) => a - b);
// The tables' batch size: as chosen, else the run's.
export const shownBatch = (): number | null => batch.value ?? run.value?.batch_size ?? batches()[0] ?? null;
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
      <select value={String(shownBatch() ?? "")} onChange={(event) => chooseBatch(Number(event.currentTarget.value))}>
        {sizes.map((size) => (
          <option key={size} value={size}>
            {size}
          </option>
        ))}
      </select>
    </label>
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
