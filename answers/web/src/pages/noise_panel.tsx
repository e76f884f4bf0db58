// SPDX-License-Identifier: Apache-2.0
// The noise verdict, its reasons, and each observation in order of time.
import type { Answer, RunFacts } from "../data";
import { cell, count, digits, plural, time } from "../format";
import {
  noiseFacts,
  noiseOfRuns,
  observationLabel,
  observationsOf,
  runsOf,
  SPREAD_NOISY_PCT,
  SPREAD_SOME_PCT,
  type Noise,
  type Observation,
} from "../noise";
import { documentData, experiment, experimentRuns } from "../state";
import { text, type Row } from "../widgets/answers";
import { Lines } from "../widgets/charts";
import { runLabel } from "../widgets/parts";
import { isInRange, opens, Panel } from "./shown";
import { PageLink } from "./top_list";

const MEANING: Record<Noise["verdict"], string> = {
  quiet: "Differences of a few per cent can be trusted.",
  "some noise": "Trust the medians, not differences of a few per cent.",
  noisy: "Trust factors only; measure again on a quieter machine.",
  "not known": "Too few observations to judge their variation.",
};
const LOOK: Record<Noise["verdict"], string> = {
  quiet: "verdict-quiet",
  "some noise": "verdict-some",
  noisy: "verdict-noisy",
  "not known": "verdict-unknown",
};
export const VerdictBadge = ({ verdict }: { verdict: Noise["verdict"] }) => (
  <span class={`verdict ${LOOK[verdict]}`}>{verdict}</span>
);

export function driftText(noise: Noise): string {
  if (noise.drift === null) return noise.n === 0 ? "–" : "not known";
  const amount = `${digits(Math.abs(noise.drift), 2)} of the spread`;
  return noise.has_drift ? `${noise.drift > 0 ? "slower" : "faster"} by ${amount}` : `negligible (${amount})`;
}

// The note of xsp about its measurement, without its heading.
function recordedVerdict(): string | null {
  const file = experiment.value?.file ?? 0;
  const note = documentData.value!.notes.find((one) => one.file === file && one.key === "noise")?.value;
  return note === undefined || note === null
    ? null
    : note
        .replace(/^Noise:\s*/, "")
        .replace(/\s+/g, " ")
        .trim();
}

export function NoisePanel({ a1, row }: { a1: Answer; row: Row }) {
  const runs = runsOf(experimentRuns.value, a1, row.batch_size, a1.table.run_set.levels);
  const observations = observationsOf(runs),
    noise = noiseOfRuns(runs);
  const verdict = recordedVerdict(),
    system = noiseFacts(experiment.value?.system ?? {});
  return (
    <Panel
      title="Noise"
      aside={`${plural(noise.n, "counted observation")} at ${a1.table.run_set.levels ?? "M"}${row.batch_size === null ? "" : `, batch ${text(row.batch_size)}`}`}
    >
      <p class="noise-lead">
        <VerdictBadge verdict={noise.verdict} /> {MEANING[noise.verdict]}{" "}
        {noise.reasons.length > 0 && <span class="quiet">({noise.reasons.join("; ")})</span>}
      </p>
      <NoiseFigures noise={noise} />
      <Course observations={observations} noise={noise} />
      <p class="quiet small">
        {system.length > 0
          ? `System: ${system.map(([key, value]) => `${key} ${cell("", value)}`).join(", ")}.`
          : "No system facts about noise were recorded (governor, turbo, load)."}{" "}
        {verdict !== null && <>xsp reported while measuring: {verdict}</>}
      </p>
    </Panel>
  );
}

function NoiseFigures({ noise }: { noise: Noise }) {
  if (noise.spread_pct === null) return null;
  return (
    <dl class="facts">
      <div title={`quiet up to ${SPREAD_SOME_PCT} %, noisy beyond ${SPREAD_NOISY_PCT} %`}>
        <dt>spread, p10 to p90, of the median</dt>
        <dd>
          {digits(noise.spread_pct, 3)} % ({time(noise.low_ns!, 4)} to {time(noise.high_ns!, 4)})
        </dd>
      </div>
      <div title="median of the last third less that of the first">
        <dt>drift</dt>
        <dd>{driftText(noise)}</dd>
      </div>
      <div title="beyond the quartiles by more than 1.5 times their distance">
        <dt>outliers</dt>
        <dd>
          {count(noise.outliers)} of {count(noise.n)}
        </dd>
      </div>
    </dl>
  );
}

const nameOf = (one: Observation, runs: RunFacts[]) =>
  `${observationLabel(one.number, one.is_warmup)}${runs.length > 1 ? ` of ${runLabel(one.facts)}` : ""}`;

// Observations in order of time, warm-ups hollow, the spread as a band.
export function Course({ observations, noise }: { observations: Observation[]; noise: Noise }) {
  if (observations.length < 2) return null;
  const runs = [...new Set(observations.map((one) => one.facts))];
  const points = observations.map((one, i) => ({
    x: i + 1,
    y: one.duration_ns / 1e6,
    hollow: one.is_warmup,
    level: 1,
    isDimmed: isInRange(one) === false,
    isFocused: isInRange(one) === true,
    title: `${nameOf(one, runs)}: ${time(one.duration_ns)}`,
    onOpen: opens(one),
  }));
  return (
    <>
      <Lines
        title={`Durations of ${plural(observations.length, "observation")} in order of time; ${noise.spread_pct === null ? "" : `spread ${digits(noise.spread_pct, 3)} % of the median`}`}
        x={{ label: "observation, in order of time" }}
        y={{ label: "", key: "latency_ms", hasNoZero: true }}
        height={220}
        series={[{ name: "observations", level: 1, isDots: true, points }]}
        bands={
          noise.low_ns === null
            ? []
            : [{ from: noise.low_ns / 1e6, to: noise.high_ns! / 1e6, middle: noise.median_ns! / 1e6, level: 1 }]
        }
      />
      <p class="quiet small">
        Filled: counted; hollow: warm-up. Band: 10th to 90th percentile, line: median.{" "}
        <PageLink on="runs">All as a table</PageLink>
      </p>
    </>
  );
}
