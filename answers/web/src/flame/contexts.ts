// SPDX-License-Identifier: Apache-2.0
// Calling contexts of a run: chains of names from the outermost span down. An execution is in the context that launched
// it. Computed from the spans in slices, so that the page stays responsive, or read from the file if its rectangles are
// merged. The flame graph shows only these.
import {
  countOf,
  kindOf,
  levelOf,
  loadContexts,
  type CallPaths,
  type Contexts,
  type RunFacts,
  type Samples,
  type Spans,
} from "../data";
import { isInside } from "../find";
import { documentData, type Range } from "../state";
import { contextParents } from "./nesting";
import { ownTimes, tracksOf } from "./own_time";

const EXECUTION = 2;
const SLICE = 1 << 15;
const CHAIN_MOST = 4096; // a chain of parents is not followed further

// Values of contexts, by place.
export interface Amounts {
  host: number[]; // own time of spans on hosts, ns
  device: number[]; // of executions
  count: number[];
}
// Columns; place 0 is the root, parents come before children.
export interface Tree extends Amounts {
  name: number[]; // -1: the root
  level: number[];
  parent: number[];
  first: number[]; // earliest start
  hasDevice: boolean;
  left_out: number; // spans that had no room
  other: Amounts | null; // of the run that this one is compared with
  isExchanged: boolean; // the other way round
}
const noAmounts = (): Amounts => ({ host: [0], device: [0], count: [0] });
export const emptyTree = (isCompared = false): Tree => ({
  name: [-1],
  level: [0],
  parent: [-1],
  first: [0],
  hasDevice: false,
  left_out: 0,
  ...noAmounts(),
  other: isCompared ? noAmounts() : null,
  isExchanged: false,
});
export const emptyLike = (tree: Tree): Tree => ({
  ...emptyTree(tree.other !== null),
  hasDevice: tree.hasDevice,
  left_out: tree.left_out,
  isExchanged: tree.isExchanged,
});
export const sidesOf = (tree: Tree): Amounts[] => (tree.other === null ? [tree] : [tree, tree.other]);
export function addNode(tree: Tree, parent: number, name: number, level: number, first: number): number {
  tree.name.push(name);
  tree.level.push(level);
  tree.parent.push(parent);
  tree.first.push(first);
  for (const side of sidesOf(tree)) {
    side.host.push(0);
    side.device.push(0);
    side.count.push(0);
  }
  return tree.name.length - 1;
}
export function addAmounts(to: Amounts, node: number, from: Amounts, source: number, share = 1) {
  to.host[node] += from.host[source] * share;
  to.device[node] += from.device[source] * share;
  to.count[node] += from.count[source] * share;
}
export function addTo(to: Tree, node: number, from: Tree, source: number) {
  addAmounts(to, node, from, source);
  if (to.other !== null && from.other !== null) addAmounts(to.other, node, from.other, source);
  if (from.first[source] < to.first[node]) to.first[node] = from.first[source];
}
// Finds or makes the child of a name.
export class Children {
  private readonly places = new Map<number, number>();
  constructor(
    private readonly tree: Tree,
    private readonly names: number,
  ) {}
  of(parent: number, name: number, level: number, first: number): number {
    const key = parent * this.names + name;
    let node = this.places.get(key);
    if (node === undefined) this.places.set(key, (node = addNode(this.tree, parent, name, level, first)));
    return node;
  }
}

// Finds the contexts of spans, as trace/correlate/contexts.c does: a span with a call path is in the path's frames, which the
// innermost parent in no path calls. 0 is the top.
export class Places {
  private readonly of: Int32Array;
  private readonly caller: Int32Array; // of paths in the span
  private readonly pathNodes = new Map<number, number>();
  private readonly paths: CallPaths | undefined;
  constructor(
    private readonly data: Spans,
    private readonly parents: Int32Array,
    private readonly child: (parent: number, name: number, level: number, first: number) => number,
  ) {
    this.of = new Int32Array(data.count).fill(-1);
    this.caller = new Int32Array(data.count);
    this.paths = data.context.length > 0 ? documentData.value!.files[data.facts.file].call_paths : undefined;
  }
  private ofPath(paths: CallPaths, caller: number, path: number, first: number): number {
    const chain: number[] = [],
      keyOf = (at: number) => caller * (paths.caller.length + 1) + at;
    let at = path;
    for (; at > 0 && !this.pathNodes.has(keyOf(at)); at = paths.caller[at - 1]) chain.push(at);
    let node = at > 0 ? this.pathNodes.get(keyOf(at))! : caller;
    for (const next of chain.reverse()) {
      node = this.child(node, paths.name[next - 1], paths.level[next - 1], first);
      this.pathNodes.set(keyOf(next), node);
    }
    return node;
  }
  place(span: number): number {
    const { data, parents, of, caller, paths } = this,
      chain: number[] = [];
    let at = span;
    while (at >= 0 && of[at] < 0 && chain.length < CHAIN_MOST) {
      chain.push(at);
      at = parents[at];
    }
    const isTop = at < 0 || of[at] < 0;
    let node = isTop ? 0 : of[at],
      callerHere = isTop ? 0 : caller[at];
    for (const next of chain.reverse()) {
      const path = paths === undefined ? 0 : data.context[next],
        isInPath = node !== callerHere; // then a path's context lies between
      if (path > 0) node = this.ofPath(paths!, callerHere, path, data.start[next]);
      else {
        node = this.child(node, data.name[next], levelOf(data, next), data.start[next]);
        if (!isInPath) callerHere = node;
      }
      of[next] = node;
      caller[next] = callerHere;
    }
    return node;
  }
}

// Of one track (all its lanes), or of all; only of spans that count.
export function* contextsOfSpans(
  data: Spans,
  range: Range | null,
  track: number | null,
  counts: (span: number) => boolean = () => true,
): Generator<number, Tree> {
  const parents = yield* contextParents(data),
    own = yield* ownTimes(data, parents, range);
  const tree = emptyTree(),
    children = new Children(tree, documentData.value!.names.length + 1),
    places = new Places(data, parents, (parent, name, level, first) => children.of(parent, name, level, first)),
    tracks = tracksOf(data.facts);
  const isChosen = data.facts.rows.map(([lane]) => track === null || tracks[lane] === track);
  for (let i = 0; i < data.count; i++) {
    if (i % SLICE === 0) yield i / data.count;
    if (!isChosen[data.row[i]]) continue;
    if (!isInside(data, i, range) || !counts(i)) continue;
    const node = places.place(i);
    const isDevice = kindOf(data, i) === EXECUTION;
    (isDevice ? tree.device : tree.host)[node] += own[i];
    if (isDevice) tree.hasDevice = true;
    tree.count[node] += countOf(data, i);
    if (data.start[i] < tree.first[node]) tree.first[node] = data.start[i];
  }
  return tree;
}

// Of a run's samples: each in its call path.
export function contextsOfSamples({ file }: RunFacts, samples: Samples): Tree {
  const tree = emptyTree(),
    paths = documentData.value!.files[file].call_paths!,
    children = new Children(tree, documentData.value!.names.length + 1);
  samples.context.forEach((path, i) => {
    const chain: number[] = [];
    for (let at = path; at > 0; at = paths.caller[at - 1]) chain.push(at - 1);
    const node = chain.reduceRight((around, at) => children.of(around, paths.name[at], paths.level[at], 0), 0);
    tree.count[node] += samples.count[i];
  });
  return tree;
}

// Of the whole run, from the file. A name belongs to a device if all its spans are executions.
export function contextsOfFile(file: Contexts): Tree {
  const tree = emptyTree(),
    names = documentData.value!.names.length + 1;
  const executions = new Set<number>(),
    others = new Set<number>();
  file.totals.name.forEach((name, i) => {
    if (file.totals.kind[i] === EXECUTION) executions.add(name + names * file.totals.level[i]);
    else others.add(name + names * file.totals.level[i]);
  });
  file.name.forEach((name, i) => {
    const node = addNode(tree, file.parent[i] + 1, name, file.level[i], file.first_ns[i]);
    const key = name + names * file.level[i],
      isDevice = executions.has(key) && !others.has(key);
    (isDevice ? tree.device : tree.host)[node] = file.own_ns[i];
    if (isDevice) tree.hasDevice = true;
    tree.count[node] = file.count[i];
  });
  tree.left_out = file.left_out;
  return parentsFirst(tree);
}

// The file may list a context before its parent.
function parentsFirst(tree: Tree): Tree {
  if (tree.parent.every((parent, i) => parent < i)) return tree;
  const depth = tree.parent.map((_, i) => {
    let steps = 0;
    for (let at = i; at > 0 && steps < CHAIN_MOST; at = tree.parent[at]) steps++;
    return steps;
  });
  const order = tree.name.map((_, i) => i).sort((a, b) => depth[a] - depth[b] || a - b),
    place = new Int32Array(order.length);
  order.forEach((from, to) => (place[from] = to));
  const moved = <T>(column: T[]) => order.map((from) => column[from]);
  return {
    ...tree,
    name: moved(tree.name),
    level: moved(tree.level),
    parent: moved(tree.parent).map((parent) => (parent < 0 ? -1 : place[parent])),
    host: moved(tree.host),
    device: moved(tree.device),
    count: moved(tree.count),
    first: moved(tree.first),
  };
}

// Works for some milliseconds at a time.
const SLICE_MS = 24;
export async function inSlices<T>(steps: Generator<number, T>, onPart: (part: number) => void): Promise<T> {
  for (;;) {
    const start = performance.now();
    while (performance.now() - start < SLICE_MS) {
      const step = steps.next();
      if (step.done) return step.value;
      onPart(step.value);
    }
    await new Promise((resolve) => setTimeout(resolve));
  }
}

const KEPT_MOST = 6;
const kept = new Map<string, Promise<Tree>>();
export function loadTree(
  data: Spans,
  range: Range | null,
  track: number | null,
  onPart: (part: number) => void,
): Promise<Tree> {
  const key = `${data.facts.run} ${range?.from} ${range?.to} ${track}`;
  let tree = kept.get(key);
  if (tree !== undefined) return tree;
  const ofSpans = () => inSlices(contextsOfSpans(data, range, track), onPart);
  tree =
    data.facts.has_contexts && range === null && track === null
      ? loadContexts(data.facts).then((file) => (file === null ? ofSpans() : contextsOfFile(file)))
      : ofSpans();
  kept.set(key, tree);
  if (kept.size > KEPT_MOST) kept.delete(kept.keys().next().value!);
  return tree;
}
