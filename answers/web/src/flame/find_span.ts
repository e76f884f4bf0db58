// SPDX-License-Identifier: Apache-2.0
// The longest span of a context, given by its chain of names; of a series of steps, any of them; of a function without
// spans of its own, the longest that it calls.
import { type CallPaths, type Spans } from "../data";
import { isInside } from "../find";
import { documentData, type Range } from "../state";
import { contextParents } from "./nesting";
import { atOnce } from "./shape";

// Names from a span outwards, as its context has them: the frames of its call path, then the spans in no path.
function chainOf(data: Spans, parents: Int32Array, paths: CallPaths | undefined, span: number, nameOf: NameOf) {
  const chain: number[] = [],
    hasPath = (at: number) => paths !== undefined && data.context[at] > 0;
  let at = span,
    last = -1; // the outermost around the span that has a path
  for (let up = span; up >= 0; up = parents[up]) if (hasPath(up)) last = up;
  for (; at >= 0 && !hasPath(at); at = parents[at]) chain.push(nameOf(at));
  if (at < 0) return chain;
  for (let path = data.context[at]; path > 0; path = paths!.caller[path - 1]) chain.push(paths!.name[path - 1]);
  for (at = parents[last]; at >= 0; at = parents[at]) chain.push(nameOf(at));
  return chain;
}
type NameOf = (span: number) => number;

function matches(chain: number[], from: number, names: number[], isCollapsed: boolean): boolean {
  let at = from,
    matched = 0;
  while (at < chain.length && matched < names.length && chain[at] === names[matched]) {
    const name = names[matched++];
    at++;
    while (isCollapsed && chain[at] === name) at++;
  }
  return matched === names.length;
}

export function findSpan(
  data: Spans,
  names: number[],
  range: Range | null,
  isCollapsed: boolean,
  nameOf: NameOf,
): number {
  const parents = atOnce(contextParents(data)),
    paths = data.context.length > 0 ? documentData.value!.files[data.facts.file].call_paths : undefined;
  let best = -1,
    bestOwn = false;
  for (let i = 0; i < data.count; i++) {
    const isOwn = nameOf(i) === names[0]; // else only a frame of its call path can be the context
    if ((!isOwn && (bestOwn || paths === undefined || data.context[i] === 0)) || !isInside(data, i, range)) continue;
    if (best >= 0 && isOwn === bestOwn && data.duration[i] <= data.duration[best]) continue;
    const chain = chainOf(data, parents, paths, i, nameOf);
    const from = isOwn ? 0 : chain.indexOf(names[0]);
    if (from < 0 || !matches(chain, from, names, isCollapsed)) continue;
    best = i;
    bestOwn = isOwn;
  }
  return best;
}
