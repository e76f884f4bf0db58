// SPDX-License-Identifier: Apache-2.0
// A table that sorts, filters, copies and holds any number of rows: only those in view are in the document. Order,
// filter and hidden columns are in the URL. Arrows, Home and End go through the rows, Enter opens one.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { columnFormats, plural, type ColumnFormat } from "../format";
import { isPrinting } from "../frame/theme";
import { details, sorts } from "../state";
import { allText, filterOf, inOrder, nextSort, type TableColumn } from "./table_rows";
import { TableTools } from "./table_tools";
import { widthsIn, widthsWanted } from "./table_widths";
import { ROW_HEIGHT, useVirtualRows } from "./virtual_rows";
import "./table.css";

const SAMPLE = 2000; // values of a column that decide its decimals and width; all in short tables
const PRINTED_MOST = 300;

interface Properties<Row> {
  id: string;
  caption: string;
  columns: TableColumn<Row>[];
  rows: Row[];
  onRow?: (row: Row) => void;
  isMarked?: (row: Row) => boolean; // the selection of all pages
  sort?: string; // the first order: "key" or "-key"
  height?: number;
  foot?: ComponentChildren; // below the rows: where they come from
}
interface Shown<Row> {
  column: TableColumn<Row>;
  format: ColumnFormat;
  most: number; // of the column with a bar
  isSticky: boolean;
  width: number;
}

function useOrdered<Row>({ columns, rows, id }: Properties<Row>, sort: string): Row[] {
  const filter = details.value[`table.${id}.filter`] ?? "";
  const texts = useMemo(() => ({ all: null as string[] | null }), [rows, columns]); // made when a filter first needs them
  const kept = useMemo(() => {
    const test = filterOf(filter, columns);
    if (test === null) return rows;
    texts.all ??= rows.map((row) => allText(row, columns));
    return rows.filter((row, i) => test(row, texts.all![i]));
  }, [rows, columns, filter]);
  return useMemo(() => inOrder(kept, sort, columns), [kept, sort, columns]);
}

// Columns as shown: units and widths by all rows, filtered or not.
function useShown<Row>({ id, columns, rows }: Properties<Row>, room: number): Shown<Row>[] {
  const hidden = details.value[`table.${id}.hide`] ?? "";
  const measured = useMemo(() => {
    const step = Math.max(1, Math.floor(rows.length / SAMPLE)),
      sample = step === 1 ? rows : rows.filter((_, i) => i % step === 0);
    const values = columns.map((column) => sample.map(column.value));
    const formats = columnFormats(columns, values);
    const main = columns.find((column) => column.hasBar);
    const most = rows.reduce((most, row) => Math.max(most, Number(main?.value(row) ?? 0)), 0);
    return { formats, wanted: widthsWanted(columns, formats, (c) => values[c]), main, most };
  }, [columns, rows]);
  return useMemo(() => {
    const without = new Set(hidden.split(","));
    const kept = columns.map((_, c) => c).filter((c) => !without.has(columns[c].key));
    const seen = kept.map((c) => columns[c]);
    const widths = widthsIn(
      seen,
      kept.map((c) => measured.wanted[c]),
      room,
    );
    const first = seen.findIndex((column) => column.isText);
    return kept.map((c, i) => ({
      column: columns[c],
      format: measured.formats[c],
      most: columns[c] === measured.main ? measured.most : 0,
      isSticky: i === first,
      width: widths[i],
    }));
  }, [measured, hidden, room]);
}

function Head<Row>({ id, sort, shown }: { id: string; sort: string; shown: Shown<Row>[] }) {
  return (
    <tr aria-rowindex={1}>
      {shown.map(({ column, format, isSticky }) => (
        <th
          key={column.key}
          scope="col"
          data-key={column.key}
          class={`${column.isText ? "text" : ""}${isSticky ? " is-sticky" : ""}`}
          title={column.title}
          aria-sort={sort === column.key ? "ascending" : sort === `-${column.key}` ? "descending" : "none"}
        >
          <button
            type="button"
            onClick={() => (sorts.value = { ...sorts.value, [id]: nextSort(sort, column.key, column.isText === true) })}
          >
            {column.label}
            {format.unit !== "" && <span class="unit"> {format.unit}</span>}
            <span class="sort-sign" aria-hidden="true">
              {sort === column.key ? "▲" : sort === `-${column.key}` ? "▼" : ""}
            </span>
          </button>
        </th>
      ))}
      <td class="filler" />
    </tr>
  );
}

function Cells<Row>({ row, shown }: { row: Row; shown: Shown<Row>[] }) {
  return (
    <>
      {shown.map(({ column, format, most, isSticky }) => {
        const value = column.value(row),
          share = most > 0 && typeof value === "number" ? Math.max(0, value / most) : 0;
        return (
          <td
            key={column.key}
            class={`${column.isText ? "text" : ""}${isSticky ? " is-sticky" : ""}${most > 0 ? " has-bar" : ""}`}
            title={value === null ? "not measured" : String(value)}
            style={most > 0 ? { backgroundSize: `${100 * share}% 18px` } : undefined}
          >
            {column.show?.(row) ?? format.show(value)}
          </td>
        );
      })}
      <td class="filler" />
    </>
  );
}

const Spacer = ({ rows, columns }: { rows: number; columns: number }) =>
  rows <= 0 ? null : (
    <tr aria-hidden="true" class="spacer">
      <td colSpan={columns} style={{ height: `${rows * ROW_HEIGHT}px` }} />
    </tr>
  );

function useRoom(box: { current: HTMLElement | null }): number {
  const [room, setRoom] = useState(0);
  useLayoutEffect(() => {
    const watch = new ResizeObserver(() => setRoom(box.current!.clientWidth));
    watch.observe(box.current!);
    setRoom(box.current!.clientWidth);
    return () => watch.disconnect();
  }, []);
  return room;
}

function BodyRow<Row>({
  at,
  row,
  shown,
  isMarked,
  onOpen,
  onPick,
}: {
  at: number;
  row: Row;
  shown: Shown<Row>[];
  isMarked: boolean;
  onOpen?: (row: Row) => void;
  onPick: (at: number) => void;
}) {
  return (
    <tr
      data-row={at}
      tabIndex={-1}
      aria-rowindex={at + 2}
      class={`${onOpen === undefined ? "" : "can-open"}${isMarked ? " is-marked" : ""}`}
      aria-current={isMarked ? "true" : undefined}
      onClick={() => {
        onPick(at);
        onOpen?.(row);
      }}
    >
      <Cells row={row} shown={shown} />
    </tr>
  );
}

// Arrows, Home and End, and by a box at a time; Enter opens the row, or follows its first link.
function useRowKeys<Row>(
  box: { current: HTMLElement | null },
  rows: Row[],
  toRow: (index: number) => void,
  onRow?: (row: Row) => void,
) {
  const [active, setActive] = useState(-1),
    wantsFocus = useRef(false);
  useLayoutEffect(() => {
    if (!wantsFocus.current) return;
    const row = box.current!.querySelector<HTMLElement>(`tr[data-row="${active}"]`);
    if (row === null) return; // it comes when the box has scrolled
    wantsFocus.current = false;
    row.focus({ preventScroll: true });
  });
  const onKeyDown = (event: KeyboardEvent) => {
    const target = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey || /^(BUTTON|INPUT|A)$/.test(target.tagName)) return;
    if (event.key === "Enter" && active >= 0 && target.tagName === "TR") {
      if (onRow !== undefined) onRow(rows[active]);
      else target.querySelector<HTMLElement>("a, button")?.click();
      return;
    }
    const page = Math.max(1, Math.floor(box.current!.clientHeight / ROW_HEIGHT) - 2);
    const steps: Record<string, number> = {
      ArrowDown: active + 1,
      ArrowUp: active - 1,
      PageDown: active + page,
      PageUp: active - page,
      Home: 0,
      End: rows.length - 1,
    };
    if (steps[event.key] === undefined || rows.length === 0) return;
    event.preventDefault();
    event.stopPropagation(); // the timeline has arrows of its own
    const next = Math.min(rows.length - 1, Math.max(0, steps[event.key]));
    wantsFocus.current = true;
    setActive(next);
    toRow(next);
  };
  return { onKeyDown, setActive };
}

export function DataTable<Row>(properties: Properties<Row>) {
  const { id, caption, rows, onRow, isMarked, height = 440, foot } = properties;
  const box = useRef<HTMLDivElement>(null),
    room = useRoom(box);
  const sort = sorts.value[id] ?? properties.sort ?? "",
    shown = useShown(properties, room),
    ordered = useOrdered(properties, sort);
  const printed = isPrinting.value ? ordered.slice(0, PRINTED_MOST) : ordered;
  const { first, last, toRow } = useVirtualRows(printed.length, box, isPrinting.value);
  const marked = isMarked === undefined ? -1 : ordered.findIndex(isMarked);
  useEffect(() => {
    if (marked >= 0) toRow(marked);
  }, [marked, rows]);
  const keys = useRowKeys(box, printed, toRow, onRow);
  const columnCount = shown.length + 1;
  return (
    <section class="data-table" aria-label={caption} data-table={id}>
      <TableTools
        id={id}
        caption={caption}
        columns={properties.columns}
        rows={properties.rows}
        shown={shown.map(({ column }) => column)}
        ordered={ordered}
      />
      <div
        class="table-box"
        ref={box}
        tabIndex={0}
        role="region"
        aria-label={`${caption}, scrollable`}
        style={{ maxHeight: isPrinting.value ? "none" : `${height}px` }}
        onKeyDown={keys.onKeyDown}
        onScroll={(event) => event.currentTarget.classList.toggle("is-shifted", event.currentTarget.scrollLeft > 0)}
      >
        <table
          aria-rowcount={ordered.length + 1}
          style={{ minWidth: `${shown.reduce((sum, { width }) => sum + width, 0)}px` }}
        >
          <colgroup>
            {shown.map(({ column, width }) => (
              <col key={column.key} style={{ width: `${width}px` }} />
            ))}
            <col />
          </colgroup>
          <thead>
            <Head id={id} sort={sort} shown={shown} />
          </thead>
          <tbody>
            <Spacer rows={first} columns={columnCount} />
            {printed.slice(first, last).map((row, i) => (
              <BodyRow
                key={first + i}
                at={first + i}
                row={row}
                shown={shown}
                isMarked={isMarked?.(row) === true}
                onOpen={onRow}
                onPick={keys.setActive}
              />
            ))}
            <Spacer rows={printed.length - last} columns={columnCount} />
          </tbody>
        </table>
        {ordered.length === 0 && (
          <p class="quiet pad">{rows.length === 0 ? "No rows." : "No row passes the filter."}</p>
        )}
      </div>
      {printed.length < ordered.length && (
        <p class="table-foot">{plural(ordered.length - printed.length, "further row")} are not printed.</p>
      )}
      {foot !== undefined && <div class="table-foot">{foot}</div>}
    </section>
  );
}
