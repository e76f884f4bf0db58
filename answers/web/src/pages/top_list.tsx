// SPDX-License-Identifier: Apache-2.0
// The entries with the most time, as links to the pages that have all; the rest is summed.
import type { ComponentChildren } from "preact";
import { FocusLink } from "../focus";
import { inPicked, picked } from "../filter";
import { cell, count, plural } from "../format";
import { fragment, page, type Focus, type Page } from "../state";
import { text, type Row } from "../widgets/answers";
import { finite, Panel, percent } from "./shown";

const SHOWN = 8;

export function TopList({
  title,
  aside,
  rows,
  valueKey,
  whole,
  shareKey,
  level,
  target,
  on,
  word,
  note,
}: {
  title: string;
  aside: string;
  rows: Row[];
  valueKey: string;
  whole: number; // base of the shares
  shareKey?: string; // the analysis' own share, in per cent
  level: number;
  target: (row: Row) => Focus | null;
  on: Page;
  word: string;
  note?: (row: Row) => string;
}) {
  const inside = rows.filter(inPicked);
  const sorted = [...inside].sort((a, b) => (finite(b[valueKey]) ?? -1) - (finite(a[valueKey]) ?? -1)),
    shown = sorted.slice(0, SHOWN),
    most = finite(shown[0]?.[valueKey]) ?? 0,
    rest = sorted.slice(SHOWN),
    restSum = rest.reduce((sum, row) => sum + (finite(row[valueKey]) ?? 0), 0),
    // the analysis' own shares if all have one: their base differs from the sum of the rows
    restShares = shareKey === undefined ? [null] : rest.map((row) => finite(row[shareKey])),
    restPct = restShares.includes(null) ? null : restShares.reduce<number>((sum, share) => sum + share!, 0);
  const shareOf = (row: Row, value: number | null) => {
    const own = shareKey === undefined ? null : finite(row[shareKey]);
    return own !== null ? cell(shareKey!, own) : value === null ? "–" : percent(value, whole);
  };
  return (
    <Panel title={title} aside={picked.value === null ? aside : `${aside}; those in the selected range`}>
      {shown.length === 0 && <p class="quiet">None is in the selected range.</p>}
      <ol class="top-list">
        {shown.map((row, i) => {
          const value = finite(row[valueKey]),
            to = target(row);
          return (
            <Item
              key={i}
              name={
                to === null ? (
                  <span class="quiet">no name</span>
                ) : (
                  <FocusLink target={to} on={on} class="top-name focus-link" />
                )
              }
              title={to?.name ?? ""}
              share={value === null || most <= 0 ? 0 : value / most}
              level={level}
              figures={[cell(valueKey, value), shareOf(row, value), note?.(row) ?? ""]}
            />
          );
        })}
      </ol>
      <p class="small quiet top-rest">
        {rest.length > 0 && (
          <span>
            {plural(rest.length, word)} more: {cell(valueKey, restSum)},{" "}
            {restPct === null ? percent(restSum, whole) : cell("x_pct", restPct)}.{" "}
          </span>
        )}
        <PageLink on={on}>
          All {count(rows.length)} on page {on[0].toUpperCase() + on.slice(1)}
        </PageLink>
      </p>
    </Panel>
  );
}

function Item({
  name,
  title,
  share,
  level,
  figures,
}: {
  name: ComponentChildren;
  title: string;
  share: number;
  level: number;
  figures: string[];
}) {
  return (
    <li>
      <span class="top-cell" title={title}>
        <span
          class={`top-bar level-${level}`}
          style={{ width: `${100 * Math.max(0, Math.min(1, share))}%` }}
          aria-hidden="true"
        />
        {name}
      </span>
      {figures.map((figure, i) => (
        <span key={i} class="top-figure">
          {figure}
        </span>
      ))}
    </li>
  );
}

export function PageLink({ on, children }: { on: Page; children: ComponentChildren }) {
  return (
    <a
      href={fragment().replace(/page=[a-z]+/, `page=${on}`)}
      onClick={(event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
        event.preventDefault();
        page.value = on;
      }}
    >
      {children}
    </a>
  );
}
export const targetOf =
  (kind: Focus["kind"], key: string) =>
  (row: Row): Focus | null => {
    const name = text(row[key]);
    return name === ""
      ? null
      : { kind, name, index: kind === "layer" && typeof row.layer_index === "number" ? row.layer_index : null };
  };
