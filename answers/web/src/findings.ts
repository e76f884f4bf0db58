// SPDX-License-Identifier: Apache-2.0
// Findings of the analysis "findings" and their places in flame graphs. Its rows may come from users' own rules: any value can be
// missing.
import { batch as together } from "@preact/signals";
import type { Answer, RunFacts } from "./data";
import { nameIn, type Steps } from "./flame/steps";
import type { Shape } from "./flame/shape";
import {
  chooseRun,
  details,
  documentData,
  experimentRuns,
  flameMode,
  page,
  run,
  selection,
  shortKernel,
  type Page,
} from "./state";
import { number, text, type Row } from "./widgets/answers";
import { answer } from "./widgets/parts";

// Of the experiment and batch size shown; undefined: the file cannot have any.
export const findingsAnswer = (): Answer | undefined => answer("findings");
const findingsOf = (facts: RunFacts): Row[] => {
  const shown = findingsAnswer();
  return shown === undefined || shown.file !== facts.file ? [] : shown.table.rows;
};
export const titleOf = (row: Row) => text(row.title) || text(row.context) || text(row.id);
export const isPlaced = (row: Row) => number(row.context_id) !== null || text(row.context) !== "";

// Names from a finding's call path outwards, as its contexts have them; of a finding without one, its name alone, at any line.
function chainsOf(row: Row, facts: RunFacts, steps: Steps, isCollapsed: boolean): number[][] {
  const paths = documentData.value!.files[facts.file].call_paths,
    path = number(row.context_id);
  if (paths !== undefined && path !== null && Number.isInteger(path) && path > 0 && path <= paths.caller.length) {
    const chain: number[] = [];
    for (let at = path; at > 0; at = paths.caller[at - 1]) {
      const name = nameIn(steps, paths.name[at - 1], paths.level[at - 1]);
      if (!isCollapsed || chain[chain.length - 1] !== name) chain.push(name);
    }
    return [chain];
  }
  const wanted = text(row.context);
  if (wanted === "") return [];
  const isIt = (name: string) =>
    name === wanted || shortKernel(name) === wanted || name.replace(/ (\([^()]*:\d+\)|\[[^[\]]*\])$/, "") === wanted;
  return steps.names.flatMap((name, i) => (isIt(name) ? [[i]] : []));
}

// By context: the findings about it. Bottom-up, the findings about its name.
export type Marks = Map<number, Row[]>;
export const NO_MARKS: Marks = new Map();
export function marksOf(shape: Shape, facts: RunFacts, steps: Steps, isCollapsed: boolean, isBottomUp: boolean): Marks {
  const marks: Marks = new Map(),
    chains = findingsOf(facts).map((row) => chainsOf(row, facts, steps, isCollapsed)),
    ends = new Map<number, [row: Row, chain: number[]][]>(); // by the innermost name
  findingsOf(facts).forEach((row, i) => {
    for (const chain of chains[i]) ends.set(chain[0], [...(ends.get(chain[0]) ?? []), [row, chain]]);
  });
  if (ends.size === 0) return marks;
  for (let node = 1; node < shape.name.length; node++) {
    if (isBottomUp && shape.parent[node] !== 0) continue;
    for (const [row, chain] of ends.get(shape.name[node]) ?? []) {
      let at = node,
        same = 1;
      while (!isBottomUp && same < chain.length && shape.name[(at = shape.parent[at])] === chain[same]) same++;
      if (isBottomUp || same === chain.length) marks.set(node, [...(marks.get(node) ?? []), row]);
    }
  }
  return marks;
}

// The run that the finding is about, as far as its spans are here.
function runOf(row: Row): RunFacts | undefined {
  const ids = findingsAnswer()!.table.run_set.run_ids,
    own = number(row.run_id),
    runs = experimentRuns.value.filter((facts) => ids.includes(facts.run_id) && facts.detail !== "none");
  return runs.find((one) => one.run_id === own) ?? runs.find((one) => one === run.value) ?? runs[0];
}
function open(row: Row, at: Page, without: RegExp, key: string) {
  const facts = runOf(row),
    place = findingsAnswer()!.table.rows.indexOf(row);
  together(() => {
    if (facts !== undefined && facts !== run.value) chooseRun(facts.run);
    selection.value = null;
    const kept = Object.entries(details.value).filter(([one]) => !without.test(one));
    details.value = { ...Object.fromEntries(kept), [key]: String(place) };
    page.value = at;
  });
}
// To the flame graph at the finding's heaviest context: the page finds it when its contexts are there (foundNode).
const WANTED = "flame.finding";
export function openFinding(row: Row) {
  if (flameMode.value === "time") flameMode.value = "top-down";
  open(row, "flame", /^flame\.(with|value|track|zoom|name)$/, WANTED);
}
// To the timeline, which marks the finding's spans.
export const IN_TIME = "timeline.finding";
export const openFindingInTime = (row: Row) => open(row, "timeline", /^timeline\.finding$/, IN_TIME);
// The heaviest context of the finding that was opened; null: none was; 0: it is not among the contexts.
export function foundNode(shape: Shape, marks: Marks): number | null {
  const wanted = details.value[WANTED];
  if (wanted === undefined) return null;
  const row = findingsAnswer()?.table.rows[Number(wanted)];
  let best = 0;
  for (const [node, rows] of marks)
    if (row !== undefined && rows.includes(row) && (best === 0 || shape.total[node] > shape.total[best])) best = node;
  return best;
}
export function forgetFinding() {
  const { [WANTED]: _, ...others } = details.value;
  details.value = others;
}
