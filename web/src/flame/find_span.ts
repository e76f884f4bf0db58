// SPDX-License-Identifier: Apache-2.0
// The longest span of a context, given by its chain of names.
import { type Spans } from "../data";
import { isInside } from "../find";
import type { Range } from "../state";

export function findSpan(data: Spans, names: number[], range: Range | null, isCollapsed: boolean): number {
  let best = -1;
  for (let i = 0; i < data.count; i++) {
    if (data.name[i] !== names[0] || (best >= 0 && data.duration[i] <= data.duration[best])) continue;
    if (!isInside(data, i, range)) continue;
    let at = i,
      matched = 0;
    while (at >= 0 && matched < names.length && data.name[at] === names[matched]) {
      const name = names[matched++];
      at = data.parent[at];
      while (isCollapsed && at >= 0 && data.name[at] === name) at = data.parent[at];
    }
    if (matched === names.length) best = i;
  }
  return best;
}
