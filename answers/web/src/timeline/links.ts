// SPDX-License-Identifier: Apache-2.0
// The inverse of the columns parent, launch, forward and collective: children, executions, backward operators and parts on other
// ranks of each span, as ranges of one array. Built at first use.
import type { Spans } from "../data";

export interface Inverse {
  of: (i: number) => Uint32Array; // places, in their order
}

function invert(column: Int32Array): Inverse {
  const first = new Uint32Array(column.length + 1);
  let held = 0;
  for (const to of column)
    if (to >= 0) {
      first[to + 1]++;
      held++;
    }
  for (let i = 0; i < column.length; i++) first[i + 1] += first[i];
  const places = new Uint32Array(held),
    next = first.slice(0, column.length);
  for (let i = 0; i < column.length; i++) if (column[i] >= 0) places[next[column[i]]++] = i;
  return { of: (i) => places.subarray(first[i], first[i + 1]) };
}

const once = (column: (data: Spans) => Int32Array) => {
  const known = new WeakMap<Spans, Inverse>();
  return (data: Spans): Inverse => {
    let inverse = known.get(data);
    if (inverse === undefined) {
      inverse = invert(column(data));
      if (column(data).length === data.count) known.set(data, inverse); // else it is still being unpacked
    }
    return inverse;
  };
};
export const executions = once((data) => data.launch);
export const backwards = once((data) => data.forward);
const parts = once((data) => data.collective);
// The same collective on all ranks, this one too, from the lowest; empty: it is not found on others.
export function sameCollective(data: Spans, i: number): number[] {
  const lowest = data.collective[i] ?? -1,
    first = lowest >= 0 ? lowest : i,
    rest = data.collective.length === 0 ? [] : parts(data).of(first);
  return rest.length === 0 ? [] : [first, ...rest];
}
export const forwardOf = (data: Spans, i: number): number => data.forward[i] ?? -1;
export const children = once((data) => data.parent);
