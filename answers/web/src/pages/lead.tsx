// SPDX-License-Identifier: Apache-2.0
// The model, the cause of its time, its framework, machine and date. The page Runs has the command.
import type { Cell, Experiment } from "../data";
import { bytes } from "../format";
import { documentData, experiment, experimentRuns, run } from "../state";
import { text } from "../widgets/answers";

const known = (...parts: (Cell | undefined)[]) => parts.map((part) => text(part ?? null)).filter((part) => part !== "");

function machine(system: Record<string, Cell>): string {
  const cpus = text(system.cpus ?? null),
    allowed = text(system.cpus_allowed ?? null);
  return [
    ...known(system.cpu_model ?? system.cpu),
    cpus === "" ? "" : `${allowed === "" || allowed === cpus ? cpus : `${allowed} of ${cpus}`} CPUs`,
    typeof system.memory_bytes === "number" ? bytes(system.memory_bytes) : "",
  ]
    .filter((part) => part !== "")
    .join(", ");
}
function device(system: Record<string, Cell>): string {
  const amount = text(system.gpu_count ?? null);
  return [
    ...known(system.gpu).map((gpu) => (amount !== "" && amount !== "1" ? `${amount} × ${gpu}` : gpu)),
    typeof system.gpu_memory_bytes === "number" ? bytes(system.gpu_memory_bytes) : "",
    ...known(system.gpu_driver).map((driver) => `driver ${driver}`),
  ]
    .filter((part) => part !== "")
    .join(", ");
}
export const when = (one: Experiment) => {
  const date = new Date(one.created_ms);
  return Number.isNaN(date.getTime()) ? "" : `${date.toISOString().replace("T", " ").slice(0, 16)} UTC`;
};

export function Lead() {
  const one = experiment.value,
    file = documentData.value!.files[run.value?.file ?? 0]?.name ?? "";
  if (one === undefined) return <h2 class="lead-title">{file}</h2>;
  const framework = known(one.framework, one.framework_version).join(" "),
    runs = experimentRuns.value,
    // An imported file has the time of import, not of recording.
    isOwn = one.command !== null;
  const rows: [string, string][] = [
    ["framework", framework],
    ["machine", machine(one.system)],
    ["device", device(one.system)],
    ["host", known(one.system.host, one.system.os).join(", ")],
    [isOwn ? "recorded" : "imported", when(one)],
    ["runs", `${runs.length}: ${[...new Set(runs.map((facts) => facts.levels))].join(", ")}`],
    ["xsp", text(one.xsp_version)],
  ];
  return (
    <section class="lead" aria-label="What ran where">
      <h2 class="lead-title" title={text(one.workload ?? one.name) || file}>
        {text(one.name ?? one.workload) || file}
      </h2>
      {one.cause != null && <p class="lead-cause">{one.cause[0].toUpperCase() + one.cause.slice(1)}.</p>}
      <dl class="lead-facts">
        {rows
          .filter(([, value]) => value !== "")
          .map(([key, value]) => (
            <div key={key}>
              <dt>{key}</dt>
              <dd>{value}</dd>
            </div>
          ))}
      </dl>
    </section>
  );
}
