// SPDX-License-Identifier: Apache-2.0
// Above the timeline: the findings, one to choose; of the chosen one its ranges, one after the other.
import { useEffect } from "preact/hooks";
import type { Spans } from "../data";
import { findingsAnswer, titleOf } from "../findings";
import { plural, time } from "../format";
import { isAtOpening, view } from "../state";
import { number, text } from "../widgets/answers";
import { SourceLink } from "../widgets/source_link";
import { chooseFinding, chosenFinding, findSpans, found, rangeFrom, type Found } from "./found";
import { clamp, widened, wholeOf } from "./geometry";

const LONG = 90; // letters of a title in the menu

function step(of: Found, by: 1 | -1) {
  const shown = isAtOpening() ? null : view.value,
    middle = shown === null ? -1 : (shown.from + shown.to) / 2,
    edge = by === 1 ? middle : (of.from.filter((from, i) => from <= middle && of.to[i] >= middle).pop() ?? middle),
    next = rangeFrom(of, edge, by);
  if (next < 0) return;
  const { from, to } = { from: of.from[next], to: of.to[next] };
  view.value = clamp(widened({ from, to: Math.max(to, from + 1) }, 0.5), wholeOf(of.data));
}

export function FindingBar({ data, isReady }: { data: Spans; isReady: boolean }) {
  const rows = findingsAnswer()?.table.rows ?? [],
    row = chosenFinding.value;
  useEffect(() => {
    found.value = row === undefined || !isReady ? null : findSpans(data, row);
  }, [data, row, isReady]);
  useEffect(() => () => void (found.value = null), []);
  if (rows.length === 0) return null;
  const of = found.value,
    file = text(row?.file),
    line = number(row?.line),
    together = of === null ? 0 : of.to.reduce((sum, to, i) => sum + to - of.from[i], 0);
  return (
    <div class="finding-bar tools" role="region" aria-label="Finding on the timeline">
      <label>
        Finding{" "}
        <select
          value={row === undefined ? "" : String(rows.indexOf(row))}
          onChange={({ currentTarget: { value } }) => chooseFinding(value === "" ? null : rows[Number(value)])}
        >
          <option value="">none marked</option>
          {rows.map((one, i) => {
            const title = `${text(one.id)} ${titleOf(one)}`;
            return (
              <option key={i} value={i}>
                {title.length > LONG ? `${title.slice(0, LONG)}…` : title}
              </option>
            );
          })}
        </select>
      </label>
      {file !== "" && line !== null && <SourceLink source={{ file, line }} />}
      {of !== null && of.from.length > 0 && (
        <>
          <button type="button" aria-label="Previous place of the finding" onClick={() => step(of, -1)}>
            ‹
          </button>
          <button type="button" aria-label="Next place of the finding" onClick={() => step(of, 1)}>
            ›
          </button>
          <span class="quiet" role="status" data-ranges={of.from.length}>
            {plural(of.from.length, "place")}, {time(together)}
          </span>
        </>
      )}
      {of !== null && of.from.length === 0 && (
        <span class="quiet">
          {data.merged === null
            ? "no span on this timeline belongs to it"
            : "merged spans have no call path: a part of the run shows its places"}
        </span>
      )}
    </div>
  );
}
