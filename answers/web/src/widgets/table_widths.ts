// SPDX-License-Identifier: Apache-2.0
// Widths of a table's columns, by all its values, so that scrolling does not change them.
import type { Cell } from "../data";
import type { ColumnFormat } from "../format";
import type { TableColumn } from "./table_rows";

const PADDING = 24;
const SORT_SIGN = 14;
const TEXT_MOST = 380; // if the box is too narrow for more
const NARROW_SHARE = 0.42; // of a narrow box, for the text that stays in view
const SHOWN_WIDER = 28; // added by a column's rendering: a dot, a link
const MEASURED = 12; // the longest few: letters are not equally wide

const context = document.createElement("canvas").getContext("2d")!;
function textWidth(text: string, weight: number): number {
  const style = getComputedStyle(document.body);
  const font = `${weight} ${style.fontSize} ${style.fontFamily}`;
  if (context.font !== font) context.font = font;
  return context.measureText(text).width;
}

// The preferred width of each column.
export function widthsWanted<Row>(
  columns: TableColumn<Row>[],
  formats: ColumnFormat[],
  valuesOf: (column: number) => Cell[],
): number[] {
  return columns.map((column, c) => {
    const unit = formats[c].unit === "" ? "" : ` ${formats[c].unit}`;
    const texts = new Set<string>();
    for (const value of valuesOf(c))
      texts.add(typeof value === "string" ? (column.short?.(value) ?? value) : formats[c].show(value));
    const longest = [...texts].sort((a, b) => b.length - a.length).slice(0, MEASURED);
    const widest = longest.reduce((most, text) => Math.max(most, textWidth(text, 400)), 0);
    return Math.ceil(
      Math.max(
        textWidth(column.label + unit, 600) + SORT_SIGN,
        widest + (column.show === undefined ? 1 : SHOWN_WIDER),
      ) + PADDING,
    );
  });
}

// In a box of this width: texts are cut, the first one last, and the rest goes to a filler at the end.
export function widthsIn<Row>(columns: TableColumn<Row>[], wanted: number[], room: number): number[] {
  const cut = wanted.map((width, c) => (columns[c].isText ? Math.min(width, TEXT_MOST) : width));
  let left = room - cut.reduce((sum, width) => sum + width, 0);
  columns.forEach((column, c) => {
    if (!column.isText || left <= 0) return;
    const more = Math.min(left, wanted[c] - cut[c]);
    cut[c] += more;
    left -= more;
  });
  const first = columns.findIndex((column) => column.isText);
  if (first >= 0 && left < 0) cut[first] = Math.min(cut[first], Math.max(130, Math.floor(room * NARROW_SHARE)));
  return cut;
}
