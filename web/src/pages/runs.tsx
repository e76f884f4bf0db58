// SPDX-License-Identifier: Apache-2.0
// How the figures came about: overhead by level set, one prediction at each of them, the runs and where they ran.
import { BASES, LEVELS, type Cell } from "../data";
import { cell } from "../format";
import { answer, answers } from "../widgets/parts";
import { SideBySide } from "./side_by_side";
import { chooseRun, documentData, page } from "../state";
import { AnswerTable, DataTable } from "../widgets/table";

export function Runs() {
  const data = documentData.value!,
    l0 = answers("L0")[0],
    byLayer = answer("L0", "layer");
  return (
    <>
      {l0 !== undefined && <AnswerTable answer={l0} caption="L0  leveled overhead" />}
      <SideBySide />
      {byLayer !== undefined && <AnswerTable answer={byLayer} caption="L0  overhead by layer" />}
      <DataTable
        id="runs"
        caption="Runs"
        rows={data.runs}
        onRow={(facts) => {
          chooseRun(facts.run);
          page.value = "timeline";
        }}
        columns={[
          { key: "run_id", label: "run", value: (facts) => facts.run_id },
          { key: "levels", label: "levels", isText: true, value: (facts) => facts.levels },
          { key: "batch_size", label: "batch", value: (facts) => facts.batch_size },
          {
            key: "observations",
            label: "observations",
            value: (facts) => facts.observations.filter(([, , warmup]) => warmup === 0).length,
          },
          ...LEVELS.map((level, i) => ({
            key: level,
            label: level,
            title: `spans at ${level} level`,
            value: (facts: (typeof data.runs)[number]) => facts.levels_counted[i],
          })),
          { key: "dropped", label: "dropped", value: (facts) => facts.dropped },
          { key: "open", label: "open", value: (facts) => facts.open },
          ...BASES.map((basis, i) => ({
            key: `basis_${basis}`,
            label: basis === "none" ? "no parent" : basis,
            title: "parents by this basis",
            value: (facts: (typeof data.runs)[number]) => facts.bases_counted[i],
          })),
          { key: "own_pct", label: "own", title: "xsp's own measured share", value: (facts) => facts.own_pct },
        ]}
      />
      {data.experiments.map((experiment) => (
        <section class="panel" key={experiment.experiment_id}>
          <h3>Provenance: {experiment.name ?? `experiment ${experiment.experiment_id}`}</h3>
          <dl class="facts wide">
            {(
              [
                ["command", experiment.command],
                ["workload", experiment.workload],
                [
                  "framework",
                  [experiment.framework, experiment.framework_version].filter((part) => part !== null).join(" "),
                ],
                ["created", new Date(experiment.created_ms).toISOString()],
                ["xsp", experiment.xsp_version],
                ...Object.entries(experiment.system),
              ] as [string, Cell][]
            )
              .filter(([, value]) => value !== null && value !== "")
              .map(([key, value]) => (
                <div key={key}>
                  <dt>{key.replaceAll("_", " ")}</dt>
                  <dd class="wrap">{cell(key, value)}</dd>
                </div>
              ))}
          </dl>
        </section>
      ))}
      {data.notes.length > 0 && (
        <section class="panel">
          <h3>Notes</h3>
          <dl class="facts wide">
            {data.notes.map((note, i) => (
              <div key={i}>
                <dt>
                  {note.run_id === 0 ? "" : `run ${note.run_id}: `}
                  {note.key.replaceAll("_", " ")}
                </dt>
                <dd class="wrap">{note.value}</dd>
              </div>
            ))}
          </dl>
        </section>
      )}
    </>
  );
}
