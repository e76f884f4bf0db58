// SPDX-License-Identifier: Apache-2.0
// A table that sorts, filters, copies and holds any number of rows: only those in view are in the document.
import { useMemo, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import type { Answer, Cell } from "../data";
import { cell, count, label, plural } from "../format";
import { sorts } from "../state";
import "./table.css";

export interface TableColumn<Row> {
  key: string;
  label: string;
  isText?: boolean;
  title?: string;
  value: (row: Row) => Cell;
  show?: (row: Row) => ComponentChildren; // else by format.cell
}
const ROW_HEIGHT = 26;
const ROWS_PLAIN = 60; // up to here all rows are in the document

function compare(a: Cell, b: Cell): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  return typeof a === "number" && typeof b === "number"
    ? a - b
    : String(a) < String(b)
      ? -1
      : String(a) > String(b)
        ? 1
        : 0;
}

async function copy(text: string) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // from a file, some browsers have no clipboard
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

export function DataTable<Row>({
  id,
  caption,
  columns,
  rows,
  onRow,
  isMarked,
  height = 440,
}: {
  id: string;
  caption: string;
  columns: TableColumn<Row>[];
  rows: Row[];
  onRow?: (row: Row) => void;
  isMarked?: (row: Row) => boolean; // what is looked at on all pages
  height?: number;
}) {
  const [filter, setFilter] = useState(""),
    [hidden, setHidden] = useState<Set<string>>(new Set()),
    [scroll, setScroll] = useState(0);
  const [copied, setCopied] = useState(false),
    box = useRef<HTMLDivElement>(null);
  const sort = sorts.value[id] ?? "";
  const shown = columns.filter((column) => !hidden.has(column.key));
  const ordered = useMemo(() => {
    const wanted = filter.trim().toLowerCase();
    const kept =
      wanted === ""
        ? rows.slice()
        : rows.filter((row) =>
            columns.some((column) =>
              String(column.value(row) ?? "")
                .toLowerCase()
                .includes(wanted),
            ),
          );
    const by = columns.find((column) => column.key === sort.replace(/^-/, ""));
    if (by !== undefined) {
      const sign = sort.startsWith("-") ? -1 : 1;
      kept.sort((a, b) => {
        const x = by.value(a),
          y = by.value(b);
        return x === null || y === null ? compare(x, y) : sign * compare(x, y);
      });
    }
    return kept;
  }, [rows, filter, sort, columns]);
  const isPlain = ordered.length <= ROWS_PLAIN;
  const first = isPlain ? 0 : Math.max(0, Math.floor(scroll / ROW_HEIGHT) - 8);
  const last = isPlain ? ordered.length : Math.min(ordered.length, first + Math.ceil(height / ROW_HEIGHT) + 16);
  const setSort = (column: TableColumn<Row>) => {
    const falling = `-${column.key}`,
      next =
        sort === (column.isText ? column.key : falling)
          ? column.isText
            ? falling
            : column.key
          : column.isText
            ? column.key
            : falling;
    sorts.value = { ...sorts.value, [id]: next };
  };
  const text = () =>
    [
      shown.map((column) => column.key).join("\t"),
      ...ordered.map((row) => shown.map((column) => String(column.value(row) ?? "")).join("\t")),
    ].join("\n");
  return (
    <section class="data-table" aria-label={caption} data-table={id}>
      <div class="table-tools">
        <h3>{caption}</h3>
        <span class="quiet">
          {ordered.length === rows.length
            ? plural(rows.length, "row")
            : `${count(ordered.length)} of ${plural(rows.length, "row")}`}
        </span>
        <input
          type="search"
          placeholder="Filter"
          aria-label={`Filter ${caption}`}
          value={filter}
          onInput={(event) => {
            setFilter(event.currentTarget.value);
            setScroll(0);
            box.current?.scrollTo(0, 0);
          }}
        />
        <details class="chooser">
          <summary>Columns</summary>
          <div>
            {columns.map((column) => (
              <label key={column.key}>
                <input
                  type="checkbox"
                  checked={!hidden.has(column.key)}
                  onChange={() => {
                    const next = new Set(hidden);
                    if (!next.delete(column.key)) next.add(column.key);
                    setHidden(next);
                  }}
                />{" "}
                {column.label}
              </label>
            ))}
          </div>
        </details>
        <button
          type="button"
          onClick={() =>
            copy(text()).then(() => {
              setCopied(true);
              setTimeout(() => setCopied(false), 1200);
            })
          }
        >
          {copied ? "Copied" : "Copy"}
        </button>
      </div>
      <div
        class="table-box"
        ref={box}
        tabIndex={0}
        role="region"
        aria-label={`${caption}, scrollable`}
        style={isPlain ? undefined : { height: `${height}px` }}
        onScroll={(event) => !isPlain && setScroll(event.currentTarget.scrollTop)}
      >
        <table aria-rowcount={ordered.length + 1}>
          <thead>
            <tr aria-rowindex={1}>
              {shown.map((column) => (
                <th
                  key={column.key}
                  scope="col"
                  data-key={column.key}
                  class={column.isText ? "text" : ""}
                  title={column.title}
                  aria-sort={sort === column.key ? "ascending" : sort === `-${column.key}` ? "descending" : "none"}
                >
                  <button type="button" onClick={() => setSort(column)}>
                    {column.label}
                    <span aria-hidden="true">{sort === column.key ? " ▲" : sort === `-${column.key}` ? " ▼" : ""}</span>
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {first > 0 && (
              <tr aria-hidden="true">
                <td colSpan={shown.length} class="spacer" style={{ height: `${first * ROW_HEIGHT}px` }} />
              </tr>
            )}
            {ordered.slice(first, last).map((row, i) => (
              <tr
                key={first + i}
                aria-rowindex={first + i + 2}
                class={`${onRow === undefined ? "" : "can-open"}${isMarked?.(row) ? " is-marked" : ""}`}
                aria-current={isMarked?.(row) ? "true" : undefined}
                onClick={() => onRow?.(row)}
              >
                {shown.map((column) => {
                  const value = column.value(row);
                  return (
                    <td
                      key={column.key}
                      class={column.isText ? "text" : ""}
                      title={value === null ? "not measured" : String(value)}
                    >
                      {column.show?.(row) ?? cell(column.key, value)}
                    </td>
                  );
                })}
              </tr>
            ))}
            {last < ordered.length && (
              <tr aria-hidden="true">
                <td
                  colSpan={shown.length}
                  class="spacer"
                  style={{ height: `${(ordered.length - last) * ROW_HEIGHT}px` }}
                />
              </tr>
            )}
          </tbody>
        </table>
        {ordered.length === 0 && <p class="quiet pad">Nothing here.</p>}
      </div>
    </section>
  );
}

// An analysis as `xsp analyze` has it: columns that were measured nowhere are left out, its notes stand below.
export function AnswerTable({
  answer,
  caption,
  onRow,
  columns,
  height,
}: {
  answer: Answer;
  caption?: string;
  columns?: string[];
  onRow?: (row: Record<string, Cell>) => void;
  height?: number;
}) {
  const table = answer.table;
  const shown = useMemo(
    () =>
      (columns ?? table.columns.map((column) => column.key))
        .filter((key) => table.rows.some((row) => row[key] !== null && row[key] !== undefined))
        .map((key): TableColumn<Record<string, Cell>> => ({
          key,
          label: label(key),
          title: key,
          isText: table.rows.some((row) => typeof row[key] === "string"),
          value: (row) => row[key] ?? null,
        })),
    [table, columns],
  );
  return (
    <>
      <DataTable
        id={table.analysis}
        caption={caption ?? `${table.analysis}  ${table.title ?? ""}`}
        columns={shown}
        rows={table.rows}
        onRow={onRow}
        height={height}
      />
      {answer.rows_left_out > 0 && (
        <p class="note">
          {plural(answer.rows_left_out, "row")} more: <code>xsp analyze {table.analysis} FILE</code>
        </p>
      )}
      <Notes notes={table.notes} />
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
  const entries = Object.entries(answer.table.summary).filter(
    ([key, value]) => value !== null && (keys === undefined || keys.includes(key)),
  );
  return (
    <dl class="facts">
      {entries.map(([key, value]) => (
        <div key={key}>
          <dt>{label(key)}</dt>
          <dd title={String(value)}>{cell(key, value)}</dd>
        </div>
      ))}
    </dl>
  );
}
