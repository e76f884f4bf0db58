// SPDX-License-Identifier: Apache-2.0
// The tooltip of a span. Never under the pointer itself, never beyond the window's edge.
import { useLayoutEffect, useRef } from "preact/hooks";
import { busyOf, countOf, KINDS, kindOf, levelOf, LEVELS, type Spans } from "../data";
import { count, digits, time } from "../format";
import { hover } from "./stage";

const AWAY = 16; // pixels from the pointer

export function Tip({ data, names }: { data: Spans; names: string[] }) {
  const box = useRef<HTMLDivElement>(null),
    at = hover.value;
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null || at === null) return;
    const { width, height } = element.getBoundingClientRect();
    const left = at.x + AWAY + width <= innerWidth - 8 ? at.x + AWAY : Math.max(8, at.x - AWAY - width);
    const top = at.y + AWAY + height <= innerHeight - 8 ? at.y + AWAY : Math.max(8, at.y - AWAY - height);
    element.style.left = `${left}px`;
    element.style.top = `${top}px`;
  });
  if (at === null || at.span >= data.count) return null;
  const { span } = at,
    together = countOf(data, span),
    parent = data.parent[span],
    level = levelOf(data, span),
    lane = data.facts.lanes[data.facts.rows[data.row[span]][0]];
  return (
    <div class="tip" ref={box}>
      <strong>
        {together > 1 ? `${count(together)} spans: ` : ""}
        {names[data.name[span]]}
      </strong>
      <span>
        <i class={`dot level-${level}`} />
        {LEVELS[level]}
        {kindOf(data, span) === 0 ? "" : ` ${KINDS[kindOf(data, span)]}`},{" "}
        {together > 1
          ? `${time(data.duration[span])}, ${digits((100 * busyOf(data, span)) / Math.max(1, data.duration[span]), 3)} % busy`
          : time(data.duration[span])}
      </span>
      {parent >= 0 && <span class="quiet">in {names[data.name[parent]]}</span>}
      {lane.overlap > 0 && <span class="quiet">on a separate lane: it overlaps other spans of {lane.name}</span>}
    </div>
  );
}
