// SPDX-License-Identifier: Apache-2.0
// The overhead of recording: the model's latency alone, and the addition of each further level, as a waterfall.
// Additions that L0 does not find to be overhead are hatched; each has L0's verdict and interval.
import type { Answer } from "../data";
import { cell, count, digits } from "../format";
import { noiseOfRuns, runsOf } from "../noise";
import { experimentRuns, observationWord } from "../state";
import { text, type Row } from "../widgets/answers";
import { answers } from "../widgets/parts";
import { Notes } from "../widgets/table";
import { origin } from "./reasons";
import { finite, Panel, percent, positive } from "./shown";

const LETTERS: Record<string, [name: string, level: number]> = {
  A: ["application", 0],
  M: ["model", 1],
  L: ["layers", 2],
  Lib: ["libraries", 3],
  K: ["kernels", 4],
};
const lettersOf = (levels: string) => levels.split(/[/+]/);
// The levels that a set adds to another, in words.
export function added(levels: string, over: string | null): string {
  const before = over === null ? [] : lettersOf(over);
  const more = lettersOf(levels).filter((letter) => !before.includes(letter));
  return more.map((letter) => LETTERS[letter]?.[0] ?? letter).join(", ");
}
export const levelOfSet = (levels: string) =>
  lettersOf(levels).reduce((most, letter) => Math.max(most, LETTERS[letter]?.[1] ?? 0), 0);

export function Waterfall({ answer, size }: { answer: Answer; size: number | null }) {
  const here = answer.table.rows.filter((row) => row.batch_size === size),
    rows = here.length > 0 ? here : answer.table.rows.slice(0, 1);
  const most = Math.max(...rows.map((row) => positive(row.latency_ms) ?? 0));
  if (!(most > 0)) return null;
  const notes = answer.table.notes.filter(
    (note) => size === null || !/batch size \d+/.test(note) || new RegExp(`batch size ${size}\\b`).test(note),
  );
  return (
    <Panel
      title="What recording cost"
      aside={`latency of a ${observationWord.value} at each level set${size === null ? "" : `, batch ${size}`}`}
    >
      <div class="falls" role="list">
        {rows.map((row) => (
          <Fall key={text(row.levels)} row={row} rows={rows} most={most} />
        ))}
      </div>
      {rows.length === 1 && (
        <p class="quiet">
          Only {text(rows[0].levels)} was recorded, so the cost of recording is unknown.
          {origin() !== "import" && (
            <>
              {" "}
              To measure it: <code>{origin() === "run" ? "--leveled" : "--levels M,M/L"}</code>
            </>
          )}
        </p>
      )}
      <Notes notes={notes} />
    </Panel>
  );
}

function Fall({ row, rows, most }: { row: Row; rows: Row[]; most: number }) {
  const levels = text(row.levels),
    over = row.over === null || row.over === undefined ? null : text(row.over);
  const before = rows.find((other) => other.levels === over),
    latency = finite(row.latency_ms),
    base = over === null ? null : finite(before?.latency_ms);
  const overhead = finite(row.overhead_ms);
  const from = base === null ? 0 : Math.min(base, most),
    to = base === null ? (latency ?? 0) : base + (overhead ?? 0);
  const look = `level-${levelOfSet(levels)}${over !== null && !isOverhead(row) ? " is-noise" : ""}`;
  return (
    <div class="fall" role="listitem">
      <span class="fall-name">
        <strong>{levels}</strong>{" "}
        <span class="quiet">{over === null ? added(levels, null) : `+ ${added(levels, over)}`}</span>
      </span>
      <span class="fall-track" aria-hidden="true">
        <span class="fall-ghost" style={{ width: `${(100 * from) / most}%` }} />
        <span
          class={`fall-bar ${look}`}
          style={{ left: `${(100 * Math.min(from, to)) / most}%`, width: `${(100 * Math.abs(to - from)) / most}%` }}
        />
      </span>
      <span class="fall-figures">
        <strong>{cell("latency_ms", row.latency_ms ?? null)}</strong>
        <span class="fall-n">n = {typeof row.n === "number" ? count(row.n) : "–"}</span>
        {over !== null && <OverheadText row={row} overhead={overhead} base={base} />}
      </span>
    </div>
  );
}

function OverheadText({ row, overhead, base }: { row: Row; overhead: number | null; base: number | null }) {
  const perKernel = finite(row.overhead_per_kernel_ns);
  return (
    <>
      <span>
        {overhead === null
          ? "overhead not known"
          : `${signed(overhead)}, ${minus(base === null ? cell("overhead_pct", row.overhead_pct) : percent(overhead, base))} over ${text(row.over)}`}
        {perKernel !== null && `, ${minus(cell("overhead_per_kernel_ns", perKernel))} a kernel`}
      </span>
      <VerdictMark row={row} />
    </>
  );
}

// ---- L0's figures in words ------------------------------------------------------------------------------------------
const minus = (figure: string) => figure.replaceAll("-", "−");
export const signed = (overhead_ms: number) =>
  `${overhead_ms < 0 ? "" : "+"}${minus(cell("overhead_ms", overhead_ms))}`;
// L0 lets drift below its threshold pass; the page shows no overhead next to a drift that its noise panel reports. Pairs of
// runs cancel drift.
const DRIFTED = "not decided, it drifted";
export function verdictOf(row: Row | undefined): string {
  const verdict = text(row?.verdict),
    l0 = answers("L0")[0];
  if (verdict !== "overhead" || l0 === undefined || row!.interval_from === "paired runs") return verdict;
  const hasDrift = [row!.levels, row!.over].some(
    (levels) => noiseOfRuns(runsOf(experimentRuns.value, l0, row!.batch_size, levels)).has_drift,
  );
  return hasDrift ? DRIFTED : verdict;
}
export const isOverhead = (row: Row | undefined) => verdictOf(row) === "overhead";
const LOOKS: Record<string, [look: string, title: string]> = {
  overhead: ["mark-overhead", "the interval is above 0"],
  "none found": ["mark-none", "the interval contains or is below 0, and ends below the threshold"],
  [DRIFTED]: ["mark-open", "the interval is above 0, but observations became faster or slower meanwhile"],
  "not decided": [
    "mark-open",
    "no interval, or one that contains both 0 and the threshold, or a machine that drifted: see the notes",
  ],
};
export function verdictWords(row: Row): string {
  const [low, high] = [finite(row.overhead_low_ms), finite(row.overhead_high_ms)];
  const interval = low === null || high === null ? "no interval" : `${digits(low, 3)} to ${digits(high, 3)} ms`;
  return `${verdictOf(row)} (${minus(interval)})`;
}
export function VerdictMark({ row }: { row: Row | undefined }) {
  const [look, title] = LOOKS[verdictOf(row)] ?? [];
  if (row === undefined || look === undefined) return null;
  return (
    <span
      class={look}
      title={`95 % interval${row.interval_from === null ? "" : ` from ${row.interval_from}`}: ${title}`}
    >
      {verdictWords(row)}
    </span>
  );
}
