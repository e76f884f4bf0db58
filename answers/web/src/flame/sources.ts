// SPDX-License-Identifier: Apache-2.0
// The source line of a context: its own frame's, else that of the nearest caller with one. Pure but for the document's lines.
import type { Spans } from "../data";
import { sourceOf, type Source } from "../source";
import { documentData } from "../state";
import { childrenOf, type Shape } from "./shape";

// Callers of a context are around it; bottom-up they are below it, and the one with the most time counts.
export function sourceOfNode(shape: Shape, node: number, isBottomUp: boolean): Source | undefined {
  for (let at: number | undefined = node; at !== undefined && at > 0;) {
    const source = sourceOf(shape.name[at]);
    if (source !== undefined) return source;
    at = isBottomUp ? childrenOf(shape, at)[0] : shape.parent[at];
  }
  return undefined;
}

// Of a span: the line that called it.
export function sourceOfSpan(data: Spans, span: number): Source | undefined {
  const paths = documentData.value!.files[data.facts.file].call_paths;
  let path = data.context[span] ?? 0;
  while (path > 0 && sourceOf(paths!.name[path - 1]) === undefined) path = paths!.caller[path - 1];
  return path > 0 ? sourceOf(paths!.name[path - 1]) : undefined;
}
