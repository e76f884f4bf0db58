// SPDX-License-Identifier: Apache-2.0
// The overhead of recording: the model's latency alone, and the addition of each further level, as a waterfall.
// Additions within the noise are hatched and marked.
import type { Answer } from "../data";
import { cell, count } from "../format";
import { noiseWords, overheadNoise, type OverheadNoise } from "../noise";
import { experimentRuns } from "../state";
import { text, type Row } from "../widgets/answers";
import { Notes } from "../widgets/table";
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
      aside={`latency of a prediction at each level set${size === null ? "" : `, batch ${size}`}`}
    >
      <div class="falls" role="list">
        {rows.map((row) => (
          <Fall key={text(row.levels)} row={row} rows={rows} most={most} answer={answer} />
        ))}
      </div>
      {rows.length === 1 && (
        <p class="quiet">
          Only {text(rows[0].levels)} was recorded, so the cost of recording is unknown. To measure it:{" "}
          <code>--levels M,M/L</code>
        </p>
      )}
      <Notes notes={notes} />
    </Panel>
  );
}

function Fall({ row, rows, most, answer }: { row: Row; rows: Row[]; most: number; answer: Answer }) {
  const levels = text(row.levels),
    over = row.over === null || row.over === undefined ? null : text(row.over);
  const before = rows.find((other) => other.levels === over),
    latency = finite(row.latency_ms),
    base = over === null ? null : finite(before?.latency_ms);
  const overhead = finite(row.overhead_ms),
    noise = overheadNoise(experimentRuns.value, answer, row);
  const from = base === null ? 0 : Math.min(base, most),
    to = base === null ? (latency ?? 0) : base + (overhead ?? 0);
  const look = `level-${levelOfSet(levels)}${noise?.is_within ? " is-noise" : ""}`;
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
          style={{ left: `${(100 * from) / most}%`, width: `${(100 * Math.max(0, to - from)) / most}%` }}
        />
      </span>
      <span class="fall-figures">
        <strong>{cell("latency_ms", row.latency_ms ?? null)}</strong>
        <span class="fall-n">n = {typeof row.n === "number" ? count(row.n) : "–"}</span>
        {over !== null && <OverheadText row={row} overhead={overhead} base={base} noise={noise} />}
      </span>
    </div>
  );
}

function OverheadText({
  row,
  overhead,
  base,
  noise,
}: {
  row: Row;
  overhead: number | null;
  base: number | null;
  noise: OverheadNoise | null;
}) {
  const perKernel = finite(row.overhead_per_kernel_ns);
  return (
    <>
      <span>
        {overhead === null
          ? "no overhead: the difference is negative"
          : `+ ${cell("overhead_ms", overhead)}, ${base === null ? cell("overhead_pct", row.overhead_pct) : percent(overhead, base)} over ${text(row.over)}`}
        {perKernel !== null && `, ${cell("overhead_per_kernel_ns", perKernel)} a kernel`}
      </span>
      <NoiseMark noise={noise} />
    </>
  );
}
export function NoiseMark({ noise }: { noise: OverheadNoise | null }) {
  if (noise === null) return null;
  const [look, title] =
    noise.is_within === null
      ? ["mark-unknown", "fewer than 4 observations of one of the two sets"]
      : noise.is_within
        ? ["mark-within", "two equal sets can differ by this much by chance"]
        : noise.difference_ms! < 0
          ? ["mark-within", "the set with more levels was faster by more than chance: they are not comparable"]
          : ["mark-above", "two equal sets rarely differ by this much by chance"];
  return (
    <span class={look} title={title}>
      {noiseWords(noise)}
    </span>
  );
}
