// SPDX-License-Identifier: Apache-2.0
// The longest span of a context, given by its chain of names; of a series of steps, any of them.
import { type Spans } from "../data";
import { isInside } from "../find";
import type { Range } from "../state";
import { contextParents } from "./nesting";
import { atOnce } from "./shape";

export function findSpan(
  data: Spans,
  names: number[],
  range: Range | null,
  isCollapsed: boolean,
  nameOf: (span: number) => number,
): number {
  const parents = atOnce(contextParents(data));
  let best = -1;
  for (let i = 0; i < data.count; i++) {
    if (nameOf(i) !== names[0] || (best >= 0 && data.duration[i] <= data.duration[best])) continue;
    if (!isInside(data, i, range)) continue;
    let at = i,
      matched = 0;
    while (at >= 0 && matched < names.length && nameOf(at) === names[matched]) {
      const name = names[matched++];
      at = parents[at];
      while (isCollapsed && at >= 0 && nameOf(at) === name) at = parents[at];
    }
    if (matched === names.length) best = i;
  }
  return best;
}
