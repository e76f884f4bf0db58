// SPDX-License-Identifier: Apache-2.0
// From a source line to its contexts and spans: the heaviest context whose frame is at the line; the longest span that was called
// there.
import { batch as together } from "@preact/signals";
import type { RunFacts, Spans } from "../data";
import { sourceOf, type Source } from "../source";
import { details, documentData, flameMode, page, selection, setDetail } from "../state";
import type { Shape } from "./shape";
import type { Value } from "./shape";

const isAt = (name: number, { file, line }: Source) => {
  const source = sourceOf(name);
  return source !== undefined && source.line === line && source.file === file;
};

// The flame page looks for the context when its contexts are there (foundLine).
const WANTED = "flame.line";
export function openLineInFlame({ file, line }: Source, value: Value) {
  together(() => {
    if (flameMode.value !== "left-heavy") flameMode.value = "top-down";
    selection.value = null;
    const kept = Object.entries(details.value).filter(([key]) => !/^flame\.(with|track|zoom|name|value)$/.test(key));
    details.value = { ...Object.fromEntries(kept), [WANTED]: `${file}:${line}`, "flame.value": value };
    page.value = "flame";
  });
}
// The outermost of its contexts with the most time; null: no line was opened; 0: it is in no context.
export function foundLine(shape: Shape): number | null {
  const [, file, line] = /^(.*):(\d+)$/s.exec(details.value[WANTED] ?? "") ?? [];
  if (file === undefined) return null;
  let best = 0;
  for (let node = 1; node < shape.name.length; node++)
    if (isAt(shape.name[node], { file, line: Number(line) }) && (best === 0 || shape.total[node] > shape.total[best]))
      best = node;
  return best;
}
export const forgetLine = () => setDetail(WANTED, "");

// By number of a call path: whether a frame of it is at the line.
function pathsThrough(facts: RunFacts, source: Source): Uint8Array {
  const paths = documentData.value!.files[facts.file].call_paths,
    through = new Uint8Array((paths?.caller.length ?? 0) + 1);
  paths?.caller.forEach((caller, i) => (through[i + 1] = Number(through[caller] === 1 || isAt(paths.name[i], source))));
  return through;
}
// Place of the longest span that the line called; -1: none is known.
export function longestSpanOf(data: Spans, source: Source): number {
  if (data.context.length === 0) return -1;
  const through = pathsThrough(data.facts, source);
  let best = -1;
  for (let i = 0; i < data.count; i++)
    if (through[data.context[i]] === 1 && (best < 0 || data.duration[i] > data.duration[best])) best = i;
  return best;
}
