// SPDX-License-Identifier: Apache-2.0
// What a span opens to, by name: a compiled region's kernels, a model's layers. The name with the most time comes first; each leads
// to its longest span there.
import { useState } from "preact/hooks";
import { busyOf, countOf, type Spans } from "../data";
import { count, plural, time } from "../format";
import { select } from "../windows";

const SOME = 6;

interface Group {
  name: number;
  count: number;
  total: number;
  longest: number; // place
}
export function groupsOf(data: Spans, inside: Uint32Array): Group[] {
  const groups = new Map<number, Group>();
  for (const i of inside) {
    const name = data.name[i],
      known = groups.get(name) ?? { name, count: 0, total: 0, longest: i };
    known.count += countOf(data, i);
    known.total += busyOf(data, i);
    if (data.duration[i] > data.duration[known.longest]) known.longest = i;
    groups.set(name, known);
  }
  return [...groups.values()].sort((a, b) => b.total - a.total);
}

export function Within({ data, names, inside }: { data: Spans; names: string[]; inside: Uint32Array }) {
  const [areAll, setAll] = useState(false),
    groups = groupsOf(data, inside),
    shown = areAll ? groups : groups.slice(0, SOME),
    left = groups.length - shown.length;
  return (
    <>
      {shown.map((group, n) => (
        <span key={group.name}>
          {n > 0 && ", "}
          <button type="button" class="link" title="Its longest span here" onClick={() => select(data, group.longest)}>
            {names[group.name]}
          </button>{" "}
          <span class="quiet">
            {group.count > 1 && `${count(group.count)}× `}
            {time(group.total)}
          </span>
        </span>
      ))}
      {left > 0 && (
        <>
          {" "}
          <button type="button" class="link" onClick={() => setAll(true)}>
            and {plural(left, "more name")}
          </button>
        </>
      )}
    </>
  );
}
