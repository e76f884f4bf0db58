// SPDX-License-Identifier: Apache-2.0
// Contexts of two runs as one tree, for the differential flame graph. A context is in both runs if the names from the
// outermost one to it are equal; folders and numbers of lines do not count, since another version of a program has
// others. Values are means over a run's observations that are no warm-ups.
import type { Difference } from "../colors";
import { loadContexts, loadRun, type RunFacts, type Spans } from "../data";
import { documentData } from "../state";
import { addAmounts, Children, contextsOfFile, contextsOfSpans, emptyTree, inSlices, type Tree } from "./contexts";
import type { Shape } from "./shape";

export interface Side {
  facts: RunFacts;
  tree: Tree;
  observations: number; // that its values are divided by
  isWhole: boolean; // warm-ups and what is outside of observations count too: the page has totals only
}

function countedOf(facts: RunFacts): [from: number, to: number][] {
  const isCounted = facts.observations.some(([, , warmup]) => warmup === 0);
  return facts.observations
    .filter(([, , warmup]) => !isCounted || warmup === 0)
    .map(([start, duration]): [number, number] => [start, start + duration])
    .sort((a, b) => a[0] - b[0]);
}
// Whether a span, or an execution's launch, starts in an observation.
function isCountedIn(data: Spans): (span: number) => boolean {
  if (data.facts.observed === null) return () => true;
  const ends: number[] = [],
    intervals = countedOf(data.facts);
  intervals.forEach(([, to], i) => ends.push(Math.max(to, ends[i - 1] ?? to)));
  return (span) => {
    const at = data.start[data.launch[span] >= 0 ? data.launch[span] : span];
    let low = 0,
      high = intervals.length; // the first that starts later
    while (low < high) {
      const middle = (low + high) >> 1;
      if (intervals[middle][0] <= at) low = middle + 1;
      else high = middle;
    }
    return low > 0 && at < ends[low - 1];
  };
}

const kept = new Map<number, Promise<Side>>();
async function makeSide(facts: RunFacts, onPart: (part: number) => void): Promise<Side> {
  const file = await loadContexts(facts);
  if (file !== null)
    return { facts, tree: contextsOfFile(file), observations: Math.max(1, facts.observations.length), isWhole: true };
  const data = await loadRun(facts),
    tree = await inSlices(contextsOfSpans(data, null, null, isCountedIn(data)), onPart);
  return { facts, tree, observations: Math.max(1, countedOf(facts).length), isWhole: false };
}
export function loadSide(facts: RunFacts, onPart: (part: number) => void): Promise<Side> {
  let side = kept.get(facts.run);
  if (side === undefined) kept.set(facts.run, (side = makeSide(facts, onPart)));
  return side;
}

// "main (/a/train.py:3)" is main (train.py) in both, "/a/net.py(9): forward" net.py: forward, "add [/a/libx.so]" add [libx.so].
const FOLDER = "(?:[^()\\[\\]]*\\/)?";
const PLACES: [RegExp, string][] = [
  [new RegExp(` \\(${FOLDER}([^/()]+?)(?::\\d+)?\\)$`), " ($1)"],
  [new RegExp(`^${FOLDER}([^/()\\s]+\\.\\w+)\\(\\d+\\): `), "$1: "],
  [new RegExp(` \\[${FOLDER}([^/\\[\\]]+)\\]$`), " [$1]"],
];
const withoutPlace = (name: string) => PLACES.reduce((text, [from, to]) => text.replace(from, to), name);

export function joined(shown: Side, other: Side): Tree {
  const { names } = documentData.value!,
    tree = emptyTree(true),
    children = new Children(tree, names.length + 1),
    known = new Map<string, number>(), // the first of equal names, which is one of the run shown if it has it
    same = new Map<number, number>();
  const nameOf = (name: number) => {
    let found = same.get(name);
    if (found !== undefined) return found;
    const plain = withoutPlace(names[name]);
    found = known.get(plain) ?? name;
    known.set(plain, found);
    same.set(name, found);
    return found;
  };
  for (const [{ tree: from, observations }, amounts] of [[shown, tree] as const, [other, tree.other!] as const]) {
    const place = new Int32Array(from.name.length);
    for (let node = 1; node < from.name.length; node++) {
      const around = from.parent[node];
      const first = tree.first[place[around]] + from.first[node] - from.first[around];
      place[node] = children.of(place[around], nameOf(from.name[node]), from.level[node], first);
      addAmounts(amounts, place[node], from, node, 1 / observations);
    }
    tree.hasDevice ||= from.hasDevice;
    tree.left_out += from.left_out;
  }
  return tree;
}
// The same with the runs exchanged: widths are the other run's.
export const exchanged = (tree: Tree): Tree => {
  const { host, device, count } = tree;
  return { ...tree, ...tree.other!, other: { host, device, count }, isExchanged: true };
};

export interface Pair {
  shown: number;
  other: number;
}
export function pairOf(shape: Shape, node: number, what: "own" | "total"): Pair {
  const value = shape[what][node],
    other = shape.otherSums![what][node];
  return shape.isExchanged ? { shown: other, other: value } : { shown: value, other };
}

// The factors at which the colour changes, in both directions.
export const FACTORS = [1.05, 1.25, 2];
export function colorOf({ shown, other }: Pair): Difference {
  const factor = shown > other ? shown / other : other / shown; // 0/0 is not a number: no step
  const steps = FACTORS.filter((least) => factor >= least).length;
  return (shown > other ? steps : -steps || 0) as Difference;
}
export const changeOf = ({ shown, other }: Pair): number | null => (other > 0 ? (100 * (shown - other)) / other : null);
// One of them has nothing.
export const onlyOf = ({ shown, other }: Pair): "" | "shown" | "other" =>
  shown > 0 === other > 0 ? "" : shown > 0 ? "shown" : "other";
