// SPDX-License-Identifier: Apache-2.0
// What the flame graph shows, as chosen by the user: order, track, value, the run compared with. In the URL.
import type { RunFacts, Samples, Spans } from "../data";
import { details, documentData, flameMode, setDetail } from "../state";
import { runLabel } from "../widgets/parts";
import { tracksOf } from "./own_time";
import type { Tree } from "./contexts";
import { isSampled, type Sampled, type Value } from "./shape";

export const MODES = [
  ["top-down", "Top-down", "from the outermost context down, in order of first start"],
  ["bottom-up", "Bottom-up", "each name with its self time, and its callers below"],
  ["left-heavy", "Left-heavy", "as top-down, the heaviest first"],
  ["time", "Time order", "spans by time"],
] as const;
const VALUE_NAMES: [Value, string][] = [
  ["both", "Host and device time"],
  ["host", "Host time"],
  ["device", "Device time"],
  ["count", "Number of spans"],
];
export const areStepsApart = () => details.value["flame.steps"] === "apart";
export const isRecursionCollapsed = () => details.value["flame.recursion"] === "collapsed";
export const chosenTrack = (data: Spans): number | null => {
  const track = Number(details.value["flame.track"] ?? NaN);
  return tracksOf(data.facts)[track] === track ? track : null;
};
const SAMPLED_NAMES: [Sampled, string][] = [
  ["samples", "Samples of instructions"],
  ["cpu", "CPU time of samples"],
  ["wait", "Waits of samples"],
];
export const samplesOf = (facts: RunFacts, value: Sampled): Samples =>
  value === "cpu" ? facts.cpu_samples : value === "wait" ? facts.wait_samples : facts.samples;
const hasSamples = (facts: RunFacts, value: Sampled) =>
  samplesOf(facts, value).context.length > 0 && comparedRun(facts) === undefined;
// The kind of samples that is shown; null: spans are.
export const shownSamples = (facts: RunFacts): Sampled | null => {
  const value = details.value["flame.value"] as Value;
  return isSampled(value) && flameMode.value !== "time" && hasSamples(facts, value) ? value : null;
};
export const areSamplesShown = (facts: RunFacts) => shownSamples(facts) !== null;
export const chosenValue = (tree: Tree, facts: RunFacts): Value => {
  const sampled = shownSamples(facts);
  if (sampled !== null) return sampled;
  const value = details.value["flame.value"] as Value;
  return VALUE_NAMES.some(([id]) => id === value) && (tree.hasDevice || value === "count") ? value : "both";
};

// Runs that the one shown can be compared with: of any file and experiment of the page.
const comparable = (shown: RunFacts) =>
  documentData.value!.runs.filter((facts) => facts.run !== shown.run && facts.detail !== "none");
export const comparedRun = (shown: RunFacts): RunFacts | undefined =>
  flameMode.value === "time" || !details.value["flame.with"]
    ? undefined
    : comparable(shown).find((facts) => facts.run === Number(details.value["flame.with"]));
export const isWidthOther = () => details.value["flame.width"] === "other";
export function longLabel(facts: RunFacts): string {
  const { files, experiments } = documentData.value!,
    several = experiments.filter((one) => one.file === facts.file).length > 1,
    name = experiments.find((one) => one.file === facts.file && one.experiment_id === facts.experiment_id)?.name;
  return [files.length > 1 ? files[facts.file].name : "", several ? name : "", runLabel(facts)]
    .filter((part) => part)
    .join(": ");
}
function CompareWith({ shown }: { shown: RunFacts }) {
  const runs = comparable(shown),
    other = comparedRun(shown);
  if (runs.length === 0) return null;
  return (
    <>
      <label>
        Compare with{" "}
        <select value={other?.run ?? ""} onChange={(event) => setDetail("flame.with", event.currentTarget.value)}>
          <option value="">no other run</option>
          {runs.map((facts) => (
            <option key={facts.run} value={facts.run}>
              {longLabel(facts)}
            </option>
          ))}
        </select>
      </label>
      {other !== undefined && (
        <label>
          Width{" "}
          <select
            value={isWidthOther() ? "other" : ""}
            onChange={(event) => setDetail("flame.width", event.currentTarget.value)}
          >
            <option value="">of the run shown</option>
            <option value="other">of the other run</option>
          </select>
        </label>
      )}
    </>
  );
}

export function Tools({ data, tree, hasSeries }: { data: Spans; tree: Tree | null; hasSeries: boolean }) {
  const tracks = tracksOf(data.facts)
    .map((track, lane) => [track, lane])
    .filter(([track, lane]) => track === lane);
  const isTime = flameMode.value === "time";
  const values = VALUE_NAMES.filter(([id]) => tree?.hasDevice || id === "both" || id === "count");
  values.push(...SAMPLED_NAMES.filter(([id]) => hasSamples(data.facts, id)));
  return (
    <div class="tools flame-tools">
      <div class="segments" role="group" aria-label="Order">
        {MODES.map(([mode, text, what]) => (
          <button
            key={mode}
            type="button"
            title={what}
            aria-pressed={flameMode.value === mode}
            onClick={() => (flameMode.value = mode)}
          >
            {text}
          </button>
        ))}
      </div>
      {tracks.length > 1 && comparedRun(data.facts) === undefined && !areSamplesShown(data.facts) && (
        <label>
          Track{" "}
          <select
            value={String(chosenTrack(data) ?? "")}
            onChange={(event) => setDetail("flame.track", event.currentTarget.value)}
          >
            <option value="">all {tracks.length}</option>
            {tracks.map(([track]) => (
              <option key={track} value={track}>
                {`${data.facts.lanes[track].process} ${data.facts.lanes[track].name}`.trim()}
              </option>
            ))}
          </select>
        </label>
      )}
      {!isTime && (
        <label>
          Value{" "}
          <select
            value={tree === null ? "both" : chosenValue(tree, data.facts)}
            onChange={(event) =>
              setDetail("flame.value", event.currentTarget.value === "both" ? "" : event.currentTarget.value)
            }
          >
            {values.map(([id, name]) => (
              <option key={id} value={id}>
                {id === "both" && !tree?.hasDevice ? "Time" : name}
              </option>
            ))}
          </select>
        </label>
      )}
      {!isTime && <CompareWith shown={data.facts} />}
      {!isTime && (
        <label>
          <input
            type="checkbox"
            checked={isRecursionCollapsed()}
            onChange={(event) => setDetail("flame.recursion", event.currentTarget.checked ? "collapsed" : "")}
          />{" "}
          Collapse recursion
        </label>
      )}
      {!isTime && hasSeries && (
        <label>
          <input
            type="checkbox"
            checked={!areStepsApart()}
            onChange={(event) => setDetail("flame.steps", event.currentTarget.checked ? "" : "apart")}
          />{" "}
          Merge numbered steps
        </label>
      )}
    </div>
  );
}
