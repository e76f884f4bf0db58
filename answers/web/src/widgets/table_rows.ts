// SPDX-License-Identifier: Apache-2.0
// Filter, order and text forms of a table's rows. A filter is a line of terms that must all match: "conv" anywhere in
// the row, "type:conv" in a column, "latency_ms>2" for numbers, "-pool" for rows without it.
import type { ComponentChildren } from "preact";
import type { Cell } from "../data";

export interface TableColumn<Row> {
  key: string;
  label: string;
  unit?: string; // else by the key
  isText?: boolean;
  title?: string;
  hasBar?: boolean; // under the value, in proportion to the largest
  value: (row: Row) => Cell;
  short?: (text: string) => string; // of its texts, as shown
  show?: (row: Row) => ComponentChildren; // else as the column's values are shown
}

type Test<Row> = (row: Row, all: string) => boolean;
const plain = (text: string) => text.toLowerCase().replace(/[^a-z0-9#]/g, "");
function columnNamed<Row>(name: string, columns: TableColumn<Row>[]): TableColumn<Row> | undefined {
  const wanted = plain(name);
  const isIt = (column: TableColumn<Row>) => [column.key, column.label].map(plain).includes(wanted);
  return wanted === "" ? undefined : columns.find(isIt);
}

const COMPARE: Record<string, (a: number, b: number) => boolean> = {
  "<": (a, b) => a < b,
  ">": (a, b) => a > b,
  "<=": (a, b) => a <= b,
  ">=": (a, b) => a >= b,
  "=": (a, b) => a === b,
};
function testOf<Row>(term: string, columns: TableColumn<Row>[]): Test<Row> {
  const [, name, sign, number] = /^([^<>=:]+)(<=|>=|<|>|=)(-?[\d.]+(?:e-?\d+)?)$/i.exec(term) ?? [];
  const compared = name === undefined ? undefined : columnNamed(name, columns);
  if (compared !== undefined) {
    const holds = COMPARE[sign],
      limit = Number(number);
    return (row) => {
      const value = compared.value(row);
      return typeof value === "number" && holds(value, limit);
    };
  }
  const colon = term.indexOf(":"),
    within = colon > 0 ? columnNamed(term.slice(0, colon), columns) : undefined;
  if (within !== undefined) {
    const part = term.slice(colon + 1);
    return (row) =>
      String(within.value(row) ?? "")
        .toLowerCase()
        .includes(part);
  }
  return (_, all) => all.includes(term);
}

// "two words" in quotes are one term.
export function filterOf<Row>(line: string, columns: TableColumn<Row>[]): Test<Row> | null {
  const terms = [...line.toLowerCase().matchAll(/(-?)((?:"[^"]*"?|[^\s"]+)+)/g)]
    .map(([, minus, term]) => ({ isWithout: minus === "-", term: term.replaceAll('"', "") }))
    .filter(({ term }) => term !== "")
    .map(({ isWithout, term }) => ({ isWithout, test: testOf(term, columns) }));
  if (terms.length === 0) return null;
  return (row, all) => terms.every(({ isWithout, test }) => test(row, all) !== isWithout);
}
export function allText<Row>(row: Row, columns: TableColumn<Row>[]): string {
  let text = "";
  for (const column of columns) text += `${column.value(row) ?? ""}\n`;
  return text.toLowerCase();
}

// Numbers before texts; unmeasured values last, in both directions.
export function compare(a: Cell, b: Cell, sign: number): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  if (typeof a === "string" || typeof b === "string") {
    const x = String(a),
      y = String(b);
    return x < y ? -sign : x > y ? sign : 0;
  }
  return sign * (Number(a) - Number(b));
}
export function inOrder<Row>(rows: Row[], sort: string, columns: TableColumn<Row>[]): Row[] {
  const by = columns.find((column) => column.key === sort.replace(/^-/, ""));
  if (by === undefined) return rows;
  const sign = sort.startsWith("-") ? -1 : 1,
    values = rows.map((row) => by.value(row));
  return values
    .map((_, i) => i)
    .sort((a, b) => compare(values[a], values[b], sign) || a - b)
    .map((i) => rows[i]);
}
// The first click sorts numbers descending and texts ascending, the second reverses.
export function nextSort(sort: string, key: string, isText: boolean): string {
  const [first, second] = isText ? [key, `-${key}`] : [`-${key}`, key];
  return sort === first ? second : first;
}

const lines = <Row>(rows: Row[], columns: TableColumn<Row>[], of: (text: string) => string, join: string) =>
  [
    columns.map((column) => of(column.key)).join(join),
    ...rows.map((row) => columns.map((column) => of(String(column.value(row) ?? ""))).join(join)),
  ].join("\n");
// Spreadsheets evaluate cells that begin so as formulas, which may run programs, even "-1+2"; a first quote begins a
// quoted cell.
const isNumeric = (text: string) => text !== "" && Number.isFinite(Number(text));
const asText = (text: string) => (/^[=+@-]/.test(text) && !isNumeric(text) ? `'${text}` : text);
const asTsvCell = (text: string) => {
  const line = asText(text.replace(/[\t\r\n]+/g, " "));
  return line.startsWith('"') ? `"${line.replaceAll('"', '""')}"` : line;
};
const asCsvCell = (cell: string) => {
  const text = asText(cell);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};
export const asTsv = <Row>(rows: Row[], columns: TableColumn<Row>[]) => lines(rows, columns, asTsvCell, "\t");
export const asCsv = <Row>(rows: Row[], columns: TableColumn<Row>[]) => `${lines(rows, columns, asCsvCell, ",")}\n`;
// Characters with a meaning in Markdown: kernel names are full of <…>. Underscores inside words have none.
const MARKDOWN_SIGNS = /[\\`*<[\]|~&]|\b_|_\b/g;
export function asMarkdown<Row>(rows: Row[], columns: TableColumn<Row>[]): string {
  const line = (cells: string[]) =>
    `| ${cells.map((text) => text.replace(/[\r\n]+/g, " ").replace(MARKDOWN_SIGNS, "\\$&")).join(" | ")} |`;
  return [
    line(columns.map((column) => column.key)),
    `|${columns.map((column) => (column.isText ? " --- |" : " ---: |")).join("")}`,
    ...rows.map((row) => line(columns.map((column) => String(column.value(row) ?? "")))),
  ].join("\n");
}
