// SPDX-License-Identifier: Apache-2.0
// Analyses' rows on pages: tables with links, filtered by the selected range; bars; the line about missing data.
import { useMemo } from "preact/hooks";
import { hasCode, openCode } from "../code";
import type { Answer, Cell, Column } from "../data";
import { openLayer, isFocused, KernelLink, LayerLink, TypeLink } from "../focus";
import { insideOf, picked } from "../filter";
import { cell, count, plural, time } from "../format";
import { shortPath } from "../source";
import { run, selection, shortKernel, shortOperator, spans } from "../state";
import type { Point } from "./charts";
import { runLabel } from "./parts";
import { AnswerFoot, DataTable, sortOf, tableId, type TableColumn } from "./table";

export const number = (value: Cell | undefined) => (typeof value === "number" ? value : null);
export const text = (value: Cell | undefined) => (value === null || value === undefined ? "" : String(value));
export type Row = Record<string, Cell>;

export const perLayer = (answer_: Answer, key: string, unit: string): Point[] =>
  answer_.table.rows.flatMap((row) => {
    const value = number(row[key]);
    return value === null
      ? []
      : [
          {
            x: number(row.layer_index) ?? 0,
            y: value,
            title: `${row.layer_index} ${row.layer_name} (${row.layer_type ?? "–"}): ${cell(key, value)}${unit}`,
            level: 2,
            onOpen: () => openLayer(text(row.layer_name), number(row.layer_index)),
          },
        ];
  });
const BOUND: Record<string, string> = { memory: "memory-bound", compute: "compute-bound" };
const SHOW: Record<string, (row: Row) => preact.ComponentChildren> = {
  layer_name: (row) =>
    row.layer_name !== null && <LayerLink name={text(row.layer_name)} index={number(row.layer_index)} />,
  kernel_name: (row) => row.kernel_name !== null && <KernelLink name={text(row.kernel_name)} />,
  layer_type: (row) => row.layer_type !== null && <TypeLink name={text(row.layer_type)} />,
  bound: (row) => BOUND[text(row.bound)],
  file: (row) => (row.file === null ? null : shortPath(text(row.file))),
  line: (row) =>
    typeof row.file === "string" && number(row.line) !== null && hasCode(row.file) ? (
      <button
        type="button"
        class="link"
        title={`${row.file}:${row.line}: in the source`}
        onClick={() => openCode({ file: text(row.file), line: Number(row.line) })}
      >
        {text(row.line)}
      </button>
    ) : (
      text(row.line)
    ),
  analytic_bound: (row) => BOUND[text(row.analytic_bound)],
};
const inSelection: TableColumn<Row> = {
  key: "in_selection_ns",
  label: "in selection",
  title: "time and number of its spans in the selected range",
  value: (row) => insideOf(row)?.time_ns ?? null,
  show: (row) => {
    const inside = insideOf(row);
    return inside && `${time(inside.time_ns)} · ${count(inside.count)}×`;
  },
};

// Spread and origin of a figure come last.
const inOrder = (columns: Column[]) => [
  ...columns.filter((column) => !column.detail),
  ...columns.filter((column) => column.detail),
];

// Names that are shown shorter; their titles are whole.
const SHORT: Record<string, (name: string) => string> = {
  kernel_name: shortKernel,
  layer_name: shortOperator,
  layer_type: shortOperator,
  file: shortPath,
};

// An analysis as in `xsp analyze`: columns without values are left out, notes are below. A selected range keeps the
// rows in it; their figures are still those of all observations.
export function LinkedTable({
  answer,
  caption,
  without = [],
  height,
  foot,
}: {
  answer: Answer;
  caption?: string;
  foot?: preact.ComponentChildren; // null: none
  without?: string[];
  height?: number;
}) {
  const table = answer.table,
    inside = picked.value;
  const isAbout = table.rows.length > 0 && inside !== null && insideOf(table.rows[0]) !== undefined;
  const columns = useMemo(() => {
    const barred = answer.main ?? table.columns.find(({ unit }) => unit !== "")?.key; // in its own order: the first measure
    const all = inOrder(table.columns)
      .filter(({ key }) => !without.includes(key))
      .filter(({ key }) => table.rows.some((row) => row[key] !== null && row[key] !== undefined))
      .map(({ key, label, unit }): TableColumn<Row> => ({
        key,
        label,
        unit,
        title: key,
        isText: table.rows.some((row) => typeof row[key] === "string"),
        hasBar: key === barred,
        value: (row) => row[key] ?? null,
        short: SHORT[key],
        show: SHOW[key],
      }));
    return isAbout ? [...all, inSelection] : all;
  }, [table, isAbout, inside, without.join()]);
  const rows = useMemo(
    () => (isAbout ? table.rows.filter((row) => insideOf(row) !== null) : table.rows),
    [table, isAbout, inside],
  );
  return (
    <div class="answer" id={`table-${table.analysis}`}>
      <DataTable
        id={tableId(answer)}
        caption={caption ?? `${table.analysis}  ${table.title ?? ""}`}
        columns={columns}
        rows={rows}
        isMarked={isFocused}
        sort={sortOf(answer)}
        height={height}
        foot={foot === undefined ? <AnswerFoot answer={answer} /> : foot}
      />
    </div>
  );
}

// The number of rows in the selected range, and a link to clear it.
export function PickedNote({ answer, what }: { answer: Answer | undefined; what: string }) {
  const range = selection.value,
    inside = picked.value,
    facts = run.value;
  if (range === null || facts === undefined) return null;
  const rows = answer?.table.rows ?? [],
    left = rows.filter((row) => insideOf(row) !== null).length;
  return (
    <p class="note picked-note" role="status">
      {rows.length > 0 && inside !== null && insideOf(rows[0]) === undefined ? (
        `${time(range.to - range.from)} are selected in ${runLabel(facts)}, which has no ${what}s: nothing is filtered. `
      ) : inside === null ? (
        spans.value === null ? (
          "A range is selected, but the spans of its run are not in this report: nothing is filtered. "
        ) : (
          "A range is selected. "
        )
      ) : (
        <>
          {count(left)} of {plural(rows.length, what)} {left === 1 ? "is" : "are"} in the {time(range.to - range.from)}{" "}
          selected in {runLabel(facts)}; figures are those of all observations.{" "}
        </>
      )}
      <button type="button" onClick={() => (selection.value = null)}>
        Clear selection
      </button>
    </p>
  );
}
