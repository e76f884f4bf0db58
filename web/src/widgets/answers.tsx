// SPDX-License-Identifier: Apache-2.0
// What pages make of an analysis' rows.
import { Meter, type Point } from "./charts";
import type { Answer, Cell } from "../data";
import { cell, digits } from "../format";
import { page, search } from "../state";

export const number = (value: Cell | undefined) => (typeof value === "number" ? value : null);
export const text = (value: Cell | undefined) => (value === null || value === undefined ? "" : String(value));
export type Row = Record<string, Cell>;

export const find = (name: Cell) => {
  search.value = text(name);
  page.value = "timeline";
};

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
            onOpen: () => find(row.layer_name),
          },
        ];
  });
export const typeBars = (answer_: Answer, key: string) => {
  const rows = answer_.table.rows,
    all = rows.reduce((sum, row) => sum + (number(row[key]) ?? 0), 0);
  return rows
    .slice(0, 12)
    .map((row) => (
      <Meter
        key={text(row.layer_type)}
        label={text(row.layer_type)}
        value={number(row[key]) ?? 0}
        whole={all}
        level={2}
        text={`${cell(key, row[key])}, ${digits((100 * (number(row[key]) ?? 0)) / (all || 1), 3)} %`}
      />
    ));
};

export function Missing({ what, how }: { what: string; how: string }) {
  return (
    <p class="note">
      This file has no {what}. To get them: {how}.
    </p>
  );
}
