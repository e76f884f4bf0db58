// SPDX-License-Identifier: Apache-2.0
// What ran where, how long it took, what recording cost and how much of it has a place: the page one reads first.
import { Meter } from "../widgets/charts";
import { BASES, LEVELS, type Answer } from "../data";
import { cell, count, digits, plural } from "../format";
import { answer, answers, batches, shownBatch } from "../widgets/parts";
import { number, text } from "../widgets/answers";
import { documentData } from "../state";
import { Notes } from "../widgets/table";

function Figure({ value, label, note }: { value: string; label: string; note?: string }) {
  return (
    <div class="figure">
      <strong>{value}</strong>
      <span>{label}</span>
      {note !== undefined && <small>{note}</small>}
    </div>
  );
}

const noteOf = (key: string) => documentData.value!.notes.find((note) => note.key === key)?.value ?? null;

export function Overview() {
  const data = documentData.value!,
    first = data.experiments[0],
    a1 = answer("A1"),
    l0 = answers("L0")[0];
  const best = a1?.table.rows.find((row) => row.batch_size === shownBatch()) ?? a1?.table.rows[0];
  const deepest = [...data.runs].sort((a, b) => b.levels_counted[4] - a.levels_counted[4] || b.spans - a.spans)[0];
  const kernels = answer("A10"),
    layers = answer("A2"),
    types = answer("A6"),
    noise = noteOf("noise");
  return (
    <>
      <section class="lead">
        <p>
          {first?.workload ?? first?.name ?? data.files[0].name}
          {first?.framework !== null && first?.framework !== undefined && (
            <>
              {" "}
              in {first.framework} {first.framework_version ?? ""}
            </>
          )}
        </p>
        <p class="quiet">
          {[
            text(first?.system.cpu_model ?? first?.system.cpu ?? ""),
            text(first?.system.host ?? ""),
            first === undefined ? "" : new Date(first.created_ms).toISOString().replace("T", " ").slice(0, 16) + " UTC",
          ]
            .filter((part) => part !== "")
            .join(" · ")}
        </p>
      </section>
      <section class="figures">
        {best !== undefined && number(best.latency_ms) !== null && (
          <Figure
            value={cell("latency_ms", best.latency_ms)}
            label={`latency${best.batch_size === null ? "" : `, batch ${best.batch_size}`}`}
            note={
              number(best.min_ms) === null
                ? undefined
                : `${cell("min_ms", best.min_ms)} to ${cell("max_ms", best.max_ms)}, n = ${best.n}`
            }
          />
        )}
        {best !== undefined && number(best.throughput_per_s) !== null && (
          <Figure value={`${digits(best.throughput_per_s as number)} /s`} label="throughput" />
        )}
        {a1 !== undefined && batches().length > 1 && (
          <Figure
            value={text(a1.table.summary.optimal_batch) || "not reached"}
            label="optimal batch size"
            note={`most throughput at ${text(a1.table.summary.maximum_throughput_batch)}`}
          />
        )}
        {kernels !== undefined && (
          <Figure
            value={count(number(kernels.table.summary.kernels) ?? 0)}
            label="kernels a prediction"
            note={`${cell("kernel_latency_ms", kernels.table.summary.kernel_latency_ms ?? null)} in all`}
          />
        )}
        {layers !== undefined && <Figure value={count(number(layers.table.summary.layers) ?? 0)} label="layers" />}
      </section>
      {deepest !== undefined && <Attribution run={deepest.run} />}
      {l0 !== undefined && <Overhead answer={l0} />}
      {noise !== null && (
        <section class="panel">
          <h3>The machine's noise</h3>
          <p>{noise}</p>
        </section>
      )}
      <div class="columns">
        {types !== undefined && (
          <section class="panel">
            <h3>Layer types by latency</h3>
            {types.table.rows.slice(0, 8).map((row) => (
              <Meter
                key={text(row.layer_type)}
                label={text(row.layer_type)}
                value={number(row.latency_ms) ?? 0}
                whole={types.table.rows.reduce((sum, other) => sum + (number(other.latency_ms) ?? 0), 0)}
                level={2}
                text={`${cell("latency_ms", row.latency_ms)}, ${cell("latency_pct", row.latency_pct)}`}
              />
            ))}
            <a href="#page=layers">All layers</a>
          </section>
        )}
        {kernels !== undefined && (
          <section class="panel">
            <h3>Kernels by latency</h3>
            {kernels.table.rows.slice(0, 8).map((row) => (
              <Meter
                key={text(row.kernel_name)}
                label={text(row.kernel_name)}
                title={text(row.kernel_name)}
                value={number(row.latency_ms) ?? 0}
                whole={number(kernels.table.summary.kernel_latency_ms) ?? 0}
                level={4}
                text={`${cell("latency_ms", row.latency_ms)}, ${count(number(row.count) ?? 0)} ×`}
              />
            ))}
            <a href="#page=kernels">All kernels</a>
          </section>
        )}
      </div>
    </>
  );
}

function Attribution({ run: id }: { run: number }) {
  const facts = documentData.value!.runs[id];
  const all = facts.bases_counted.reduce((sum, value) => sum + value, 0),
    dropped = facts.dropped;
  return (
    <section class="panel">
      <h3>
        What was recorded{" "}
        <span class="quiet">
          run {id}, {facts.levels}
        </span>
      </h3>
      <div class="columns">
        <div>
          {LEVELS.map(
            (level, i) =>
              facts.levels_counted[i] > 0 && (
                <Meter
                  key={level}
                  label={level}
                  value={facts.levels_counted[i]}
                  whole={Math.max(...facts.levels_counted)}
                  level={i}
                  text={plural(facts.levels_counted[i], "span")}
                />
              ),
          )}
        </div>
        <div>
          {BASES.map(
            (basis, i) =>
              facts.bases_counted[i] > 0 && (
                <Meter
                  key={basis}
                  label={
                    basis === "none" ? "no parent" : basis === "ambiguous" ? "two candidates" : `parent by ${basis}`
                  }
                  value={facts.bases_counted[i]}
                  whole={all}
                  level={basis === "ambiguous" ? 4 : 1}
                  text={`${count(facts.bases_counted[i])}, ${digits((100 * facts.bases_counted[i]) / all, 3)} %`}
                />
              ),
          )}
        </div>
      </div>
      <p class={dropped > 0 ? "warn" : "quiet"}>
        {dropped === 0
          ? "Nothing was dropped."
          : `${plural(dropped, "record")} found no room and were dropped: what follows lacks them.`}
        {facts.open > 0 && ` ${plural(facts.open, "span")} never finished.`}
        {facts.spans_of_other_clocks > 0 &&
          ` ${plural(facts.spans_of_other_clocks, "span")} of other clocks are not on the timeline.`}
      </p>
    </section>
  );
}

function Overhead({ answer: l0 }: { answer: Answer }) {
  const rows = l0.table.rows,
    most = Math.max(...rows.map((row) => number(row.latency_ms) ?? 0));
  return (
    <section class="panel">
      <h3>
        What recording cost <span class="quiet">latency at each level set</span>
      </h3>
      {rows.map((row, i) => (
        <Meter
          key={i}
          label={`${row.batch_size === null ? "" : `batch ${row.batch_size}, `}${row.levels}`}
          value={number(row.latency_ms) ?? 0}
          whole={most}
          level={text(row.levels).includes("K") ? 4 : text(row.levels).includes("L") ? 2 : 1}
          text={`${cell("latency_ms", row.latency_ms)}${row.overhead_ms === null ? "" : `, ${cell("overhead_ms", row.overhead_ms)} over ${row.over}`}`}
        />
      ))}
      <Notes notes={l0.table.notes} />
    </section>
  );
}
