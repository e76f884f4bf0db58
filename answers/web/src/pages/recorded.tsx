// SPDX-License-Identifier: Apache-2.0
// What the run shown has: spans by level, parents by basis, drops, spans without a parent and the reasons.
import { BASES, LEVELS, type RunFacts } from "../data";
import { cell, count, digits, plural } from "../format";
import { experimentRuns, run } from "../state";
import { number } from "../widgets/answers";
import { answer, answers, runLabel } from "../widgets/parts";
import { Notes } from "../widgets/table";
import { finite, Panel, percent, Stack } from "./shown";

const BASIS_NAMES: Record<string, string> = {
  none: "no parent",
  explicit: "parent named by the source",
  correlation: "parent of its launch",
  containment: "parent around it in time",
  ambiguous: "two candidates, none taken",
};
const BASIS_LOOKS: Record<string, string> = {
  none: "look-none",
  explicit: "look-explicit",
  correlation: "look-correlation",
  containment: "look-containment",
  ambiguous: "look-ambiguous",
};

export function Recorded() {
  const facts = run.value;
  if (facts === undefined) return null;
  const spans = facts.levels_counted.reduce((sum, value) => sum + value, 0),
    bases = facts.bases_counted.reduce((sum, value) => sum + value, 0);
  return (
    <Panel title="What was recorded" aside={`${runLabel(facts)}, ${plural(spans, "span")}`}>
      <div class="columns">
        <Stack
          title="Spans by level"
          parts={LEVELS.map((level, i) => ({
            label: level,
            value: facts.levels_counted[i],
            look: `level-${i}`,
            text: `${count(facts.levels_counted[i])}, ${percent(facts.levels_counted[i], spans)}`,
          })).filter((part) => part.value > 0)}
        />
        <Stack
          title="Parents by basis"
          parts={BASES.map((basis, i) => ({
            label: BASIS_NAMES[basis],
            title: basis,
            value: facts.bases_counted[i],
            look: BASIS_LOOKS[basis],
            text: `${count(facts.bases_counted[i])}, ${percent(facts.bases_counted[i], bases)}`,
          })).filter((part) => part.value > 0)}
        />
      </div>
      <Sayings facts={facts} />
    </Panel>
  );
}

// The figures of the analyses, in words.
function Sayings({ facts }: { facts: RunFacts }) {
  const a11 = answer("A11")?.table.summary,
    kernelsApart = finite(a11?.kernels_without_layer),
    kernels = finite(a11?.kernels);
  // Stages are next to the predictions, at a level above those of the run.
  const stages = facts.levels.startsWith("A") ? 0 : facts.levels_counted[0];
  const top = facts.levels_counted.slice(stages > 0 ? 1 : 0).find((amount) => amount > 0) ?? 0,
    apart = Math.max(0, facts.bases_counted[0] - stages - top),
    dropped = experimentRuns.value.reduce((sum, one) => sum + one.dropped, 0);
  const others = experimentRuns.value.length > 1 ? " in any run" : "";
  return (
    <ul class="sayings">
      <li class={dropped > 0 ? "warn" : "good"}>
        {dropped === 0
          ? `Nothing was dropped${others}.`
          : `${plural(dropped, "record")} were dropped${others}: the figures below lack them.`}
      </li>
      {facts.open > 0 && <li class="warn">{plural(facts.open, "span")} never finished.</li>}
      {facts.misused > 0 && <li class="warn">{plural(facts.misused, "call")} of the span interface were invalid.</li>}
      {apart > 0 && (
        <li>
          {plural(apart, "span")} below the topmost level {apart === 1 ? "has" : "have"} no parent: nothing recorded
          encloses {apart === 1 ? "it" : "them"}, or the launch was not recorded.
        </li>
      )}
      {facts.bases_counted[4] > 0 && (
        <li>{plural(facts.bases_counted[4], "span")} have two possible parents that cross: none was chosen.</li>
      )}
      {kernelsApart !== null && kernels !== null && kernels > 0 && (
        <li>
          {kernelsApart === 0
            ? `Each of the ${plural(kernels, "kernel")} of an observation is in a layer.`
            : `${count(kernelsApart)} of the ${plural(kernels, "kernel")} of an observation, ${cell("latency_ms", a11?.kernels_without_layer_ms ?? null)}, are in no layer: their launches are outside, or were not recorded.`}
        </li>
      )}
      {facts.spans_of_other_clocks > 0 && (
        <li>{plural(facts.spans_of_other_clocks, "span")} of other clocks are not on the timeline.</li>
      )}
      {number(facts.own_pct) !== null && (
        <li>xsp itself took {digits(facts.own_pct!, 2)} % of the time of this run.</li>
      )}
    </ul>
  );
}

// Notes of the analyses of this page.
export function AnalysisNotes() {
  const all = ["A1", "A2", "A8", "A13", "A15"].flatMap((id) => {
    const one = id === "A1" || id === "A15" ? answers(id)[0] : answer(id);
    return (one?.table.notes ?? []).filter((note) => !/^optimal batch/.test(note));
  });
  if (all.length === 0) return null;
  return (
    <Panel title="Notes" aside="of the analyses of these figures">
      <Notes notes={[...new Set(all)]} />
    </Panel>
  );
}
