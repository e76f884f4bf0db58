// SPDX-License-Identifier: Apache-2.0
// Analyses as tables and facts: the same figures as `xsp analyze` prints, and the command that prints them.
import type { Answer } from "../data";
import { cell, plural } from "../format";
import { isLive } from "../live";
import { documentData, sorts } from "../state";
import { Command, quoted } from "./copy";

export { DataTable } from "./data_table";
export type { TableColumn } from "./table_rows";

// Also of the URL and the table's element: a page may have an analysis twice.
export const tableId = (answer: Answer) => answer.table.analysis + (answer.by === null ? "" : `.${answer.by}`);

// The rows' order: as chosen, else the largest first.
export const sortOf = (answer: Answer) => (answer.main === null ? "" : `-${answer.main}`);
const DEFAULT_STATISTIC = "trimmed:0.2";
// `xsp analyze` sorts numbers descending and texts ascending only.
export function commandOf(answer: Answer): string {
  const { analysis, run_set, statistic, rows } = answer.table,
    sort = sorts.value[tableId(answer)] ?? sortOf(answer),
    key = sort.replace(/^-/, "");
  const isText = rows.some((row) => typeof row[key] === "string");
  return [
    `xsp analyze ${analysis} ${quoted(documentData.value!.files[answer.file].name)}`,
    run_set.batch_size === null ? "" : `--batch ${run_set.batch_size}`,
    answer.by === null ? "" : `--by ${answer.by}`,
    statistic === DEFAULT_STATISTIC ? "" : `--stat ${statistic}`,
    key !== "" && isText === !sort.startsWith("-") ? `--sort ${key}` : "",
  ]
    .filter((part) => part !== "")
    .join(" ");
}

// Below an analysis' rows: the number of missing rows, notes, and the command that prints the table: of a file, which the
// newest spans are not.
export function AnswerFoot({ answer }: { answer: Answer }) {
  return (
    <>
      {answer.rows_left_out > 0 && (
        <p class="warn">
          {plural(answer.rows_left_out, "further row")} are not in this report
          {isLive() ? "." : "; the command prints them."}
        </p>
      )}
      <Notes notes={answer.table.notes} />
      {!isLive() && <Command text={commandOf(answer)} />}
    </>
  );
}

export const Notes = ({ notes }: { notes: string[] }) =>
  notes.length === 0 ? null : (
    <ul class="notes">
      {notes.map((note) => (
        <li key={note}>{note}</li>
      ))}
    </ul>
  );
export function Summary({ answer, keys }: { answer: Answer; keys?: string[] }) {
  const { summary, summary_columns } = answer.table;
  const entries = summary_columns.filter(
    ({ key }) => summary[key] !== null && (keys === undefined || keys.includes(key)),
  );
  return (
    <dl class="facts">
      {entries.map(({ key, label }) => (
        <div key={key}>
          <dt>{label}</dt>
          <dd title={String(summary[key])}>{cell(key, summary[key])}</dd>
        </div>
      ))}
    </dl>
  );
}
