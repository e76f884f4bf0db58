// SPDX-License-Identifier: Apache-2.0
// Reliability of a model's figures: spread, drift and outliers of the counted observations. Definitions and thresholds:
// docs/internals/page.md.
import type { Answer, Cell, RunFacts } from "./data";

export const SPREAD_SOME_PCT = 6; // of the median, between the 10th and the 90th percentile
export const SPREAD_NOISY_PCT = 20;
export const OUTLIERS_PCT = 10; // of the observations
export const DRIFT_LEAST = 0.5; // of the spread
const OBSERVATIONS_LEAST = 4;
const THIRDS_LEAST = 6;

export type Verdict = "quiet" | "some noise" | "noisy" | "not known";
export interface Noise {
  n: number;
  median_ns: number | null;
  low_ns: number | null; // 10th percentile
  high_ns: number | null; // 90th
  spread_pct: number | null;
  drift: number | null; // last third's median less the first's, over the spread; above 0: slower
  has_drift: boolean;
  outliers: number; // beyond the quartiles by more than 1.5 times their distance
  verdict: Verdict;
  reasons: string[];
}
// Warm-ups and the others are counted each by themselves.
export function observationNumbers(observations: RunFacts["observations"]): number[] {
  const counts = [0, 0];
  return observations.map(([, , warmup]) => ++counts[warmup === 0 ? 0 : 1]);
}
export const observationLabel = (number: number, isWarmup: boolean) =>
  isWarmup ? `warm-up ${number}` : `observation ${number}`;
// One observation on the clock of all runs of an experiment.
export interface Observation {
  facts: RunFacts;
  place: number; // in facts.observations
  number: number; // as the timeline has it
  start_ns: number; // from the first start of all
  duration_ns: number;
  is_warmup: boolean;
}

export function quantile(sorted: number[], share: number): number {
  const rank = share * (sorted.length - 1),
    low = Math.floor(rank);
  return sorted[low] + (rank - low) * ((sorted[low + 1] ?? sorted[low]) - sorted[low]);
}
const rising = (values: number[]) => [...values].sort((a, b) => a - b);
const median = (values: number[]) => quantile(rising(values), 0.5);

// By chance, n observations drift by about 1.2/√n of their spread: only twice that, and half the spread, counts.
const driftLimit = (n: number) => Math.max(DRIFT_LEAST, 2.4 / Math.sqrt(n));

export function noiseOf(durations: number[]): Noise {
  const n = durations.length,
    sorted = rising(durations),
    middle = n === 0 ? null : quantile(sorted, 0.5);
  const unknown: Noise = {
    n,
    median_ns: middle,
    low_ns: null,
    high_ns: null,
    spread_pct: null,
    drift: null,
    has_drift: false,
    outliers: 0,
    verdict: "not known",
    reasons: [`${n === 1 ? "one observation gives" : `${n} observations give`} no spread`],
  };
  if (n < OBSERVATIONS_LEAST || middle === null || !(middle > 0)) return unknown;
  const low = quantile(sorted, 0.1),
    high = quantile(sorted, 0.9),
    spread = high - low,
    third = Math.floor(n / 3);
  const drift =
    n < THIRDS_LEAST || spread === 0
      ? null
      : (median(durations.slice(n - third)) - median(durations.slice(0, third))) / spread;
  const first = quantile(sorted, 0.25),
    last = quantile(sorted, 0.75),
    reach = 1.5 * (last - first);
  const outliers = durations.filter((value) => value < first - reach || value > last + reach).length;
  const spread_pct = (100 * spread) / middle,
    has_drift = drift !== null && Math.abs(drift) > driftLimit(n) && spread_pct > SPREAD_SOME_PCT / 3;
  return judged({ ...unknown, low_ns: low, high_ns: high, spread_pct, drift, has_drift, outliers });
}

// The spread decides the verdict; with drift or many outliers it is not quiet.
function judged(noise: Noise): Noise {
  const words: Verdict[] = ["quiet", "some noise", "noisy"];
  let at = noise.spread_pct! > SPREAD_NOISY_PCT ? 2 : noise.spread_pct! > SPREAD_SOME_PCT ? 1 : 0;
  const reasons = [];
  const isMany = noise.outliers >= 2 && (100 * noise.outliers) / noise.n > OUTLIERS_PCT;
  if (noise.has_drift)
    reasons.push(
      `it became ${noise.drift! > 0 ? "slower" : "faster"} during the measurement: observations are not comparable`,
    );
  if (isMany) reasons.push(`${noise.outliers} of ${noise.n} observations are outliers`);
  if (noise.has_drift || isMany) at = Math.max(1, at);
  return { ...noise, verdict: words[at], reasons };
}

// The runs of a row of an analysis. A traced program's run has no batch size; a table of one size has it from the
// spans.
export function runsOf(
  runs: RunFacts[],
  answer: Answer,
  batchSize: Cell | undefined,
  levels: Cell | undefined,
): RunFacts[] {
  const isOfOneSize = new Set(answer.table.rows.map((row) => row.batch_size)).size === 1;
  return runs.filter(
    (facts) =>
      facts.file === answer.file &&
      answer.table.run_set.run_ids.includes(facts.run_id) &&
      (facts.batch_size === (batchSize ?? null) || (isOfOneSize && facts.batch_size === null)) &&
      (levels === null || levels === undefined || facts.levels === levels),
  );
}

// Runs do not change while the page is open: each set is computed once.
const known = new Map<string, Observation[]>();
const noises = new Map<string, Noise>();
const keyOf = (runs: RunFacts[]) => runs.map((facts) => facts.run).join();
function once<Value>(map: Map<string, Value>, key: string, make: () => Value): Value {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = make()));
  return value;
}
// In order of time. Starts are beyond 2^53 ns: only their distances are numbers.
function inOrderOfTime(runs: RunFacts[]): Observation[] {
  const firsts = runs.map((facts) => BigInt(facts.first_ns));
  const zero = firsts.reduce((least, first) => (first < least ? first : least), firsts[0] ?? 0n);
  return runs
    .flatMap((facts, i) => {
      const numbers = observationNumbers(facts.observations);
      return facts.observations.map(([start, duration, warmup], place): Observation => ({
        facts,
        place,
        number: numbers[place],
        start_ns: Number(firsts[i] - zero) + start,
        duration_ns: duration,
        is_warmup: warmup !== 0,
      }));
    })
    .sort((a, b) => a.start_ns - b.start_ns);
}
export const observationsOf = (runs: RunFacts[]) => once(known, keyOf(runs), () => inOrderOfTime(runs));
export const noiseOfRuns = (runs: RunFacts[]) =>
  once(noises, keyOf(runs), () => noiseOf(countedDurations(observationsOf(runs))));
export const countedDurations = (observations: Observation[]) =>
  observations.filter((one) => !one.is_warmup).map((one) => one.duration_ns);

// The system's facts about noise, in words; absent keys were not recorded.
const SYSTEM_KEYS: [RegExp, string][] = [
  [/governor/, "frequency governor"],
  [/turbo|boost/, "turbo"],
  [/load/, "load"],
  [/quota/, "CPU quota"],
  [/^cpus_allowed$/, "CPUs allowed"],
  [/^cpus$/, "CPUs"],
  [/hypervisor/, "hypervisor"],
  [/clocksource/, "clock source"],
  [/smt|hyperthread/, "SMT"],
  [/temperature|throttl/, "throttling"],
];
export function noiseFacts(system: Record<string, Cell>): [string, Cell][] {
  return SYSTEM_KEYS.flatMap(([pattern, name]) =>
    Object.entries(system).flatMap(([key, value]): [string, Cell][] =>
      pattern.test(key) && value !== null ? [[name, value]] : [],
    ),
  );
}
