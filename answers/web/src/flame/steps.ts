// SPDX-License-Identifier: Apache-2.0
// Numbered steps ("ProfilerStep#5", "ProfilerStep#6") as one context: names of the application and model level that
// differ in the number at their end only. Pure.
import { addTo, Children, emptyLike, type Tree } from "./contexts";

const MODEL = 1; // layers with numbers, as conv1 and conv2, are different ones
const NUMBERED = /^(.*[^\d.])(\d+)$/s;

export interface Steps {
  names: string[]; // those of the document, then one for each series of steps
  of: Int32Array; // by name of the document: its series' name; else itself
}
// "step 3…7"; "": numbers that belong to the names, as in resnet50 and resnet101.
function labelOf(stem: string, numbers: number[]): string {
  const [least, most] = numbers.reduce(([low, high], one) => [Math.min(low, one), Math.max(high, one)], [Infinity, 0]);
  const isSeries = numbers.length > 1 && (/[#:_\s-]$/.test(stem) || most - least < numbers.length);
  return isSeries ? `${stem}${least}…${most}` : "";
}
export const stepsApart = (names: string[]): Steps => ({ names, of: Int32Array.from(names, (_, name) => name) });
export function stepsOf(tree: Tree, names: string[]): Steps {
  const series = new Map<string, Map<number, number>>(); // by stem: names and their numbers
  tree.name.forEach((name, node) => {
    const [, stem, number] = (name >= 0 && tree.level[node] <= MODEL && NUMBERED.exec(names[name])) || [];
    if (stem === undefined) return;
    if (!series.has(stem)) series.set(stem, new Map());
    series.get(stem)!.set(name, Number(number));
  });
  const steps = stepsApart(names.slice());
  for (const [stem, members] of series) {
    const label = labelOf(stem, [...members.values()]);
    if (label === "") continue;
    const merged = steps.names.push(label) - 1;
    for (const name of members.keys()) steps.of[name] = merged;
  }
  return steps;
}
export const hasSteps = (steps: Steps) => steps.names.length > steps.of.length;

export const nameIn = (steps: Steps, name: number, level: number) => (level <= MODEL ? steps.of[name] : name);

// Siblings of one series become one context, and so do equal contexts below them.
export function mergeSteps(tree: Tree, steps: Steps): Tree {
  const merged: Tree = emptyLike(tree),
    children = new Children(merged, steps.names.length + 1),
    place = new Int32Array(tree.name.length);
  for (let node = 1; node < tree.name.length; node++) {
    const name = nameIn(steps, tree.name[node], tree.level[node]);
    place[node] = children.of(place[tree.parent[node]], name, tree.level[node], tree.first[node]);
    addTo(merged, place[node], tree, node);
  }
  return merged;
}
