// SPDX-License-Identifier: Apache-2.0
// The tree to draw: selected values (host, device, both, counts), top-down or inverted, with or without collapsed
// recursion; callers and callees of one name. Pure.
import { addTo, Children, emptyLike, sidesOf, type Amounts, type Tree } from "./contexts";

// Of trees of samples, whose counts they are: of instructions; CPU time and waits of threads.
export type Sampled = "samples" | "cpu" | "wait";
export type Value = "both" | "host" | "device" | "count" | Sampled;
export const isSampled = (value: Value): value is Sampled => value === "samples" || value === "cpu" || value === "wait";
export const unitOf = (value: Value) => (value === "samples" ? "samples" : value === "count" ? "spans" : "ns");
export type Order = "top-down" | "bottom-up" | "left-heavy";

interface Sums {
  own: Float64Array; // by the value chosen
  total: Float64Array; // with descendants
}
export interface Shape extends Tree, Sums {
  otherSums: Sums | null; // of the run compared with
  child: Uint32Array; // children of all, one after the other, in the order drawn
  firstChild: Uint32Array; // where a node's begin; those of the next node begin where they end
}
export const childrenOf = (shape: Shape, node: number) =>
  shape.child.subarray(shape.firstChild[node], shape.firstChild[node + 1]);
export const valueOf = (of: Amounts, node: number, value: Value) =>
  value === "both" ? of.host[node] + of.device[node] : of[isSampled(value) ? "count" : value][node];
const ownOf = (of: Amounts, value: Value) => Float64Array.from(of.count, (_, node) => valueOf(of, node, value));
function totalsOf({ parent }: Tree, own: Float64Array): Float64Array {
  const total = own.slice();
  for (let node = total.length - 1; node > 0; node--) total[parent[node]] += total[node];
  return total;
}

const SLICE = 1 << 14; // nodes between two looks at the clock

// Children by first start, or by value in heaviest-first order.
function* withChildren(tree: Tree, sums: Sums[], order: Order): Generator<number, Shape> {
  const size = tree.name.length,
    { total } = sums[0],
    firstChild = new Uint32Array(size + 1),
    child = new Uint32Array(Math.max(0, size - 1));
  for (let node = 1; node < size; node++) firstChild[tree.parent[node] + 1]++;
  for (let node = 0; node < size; node++) firstChild[node + 1] += firstChild[node];
  const next = firstChild.slice();
  for (let node = 1; node < size; node++) child[next[tree.parent[node]]++] = node;
  const before =
    order === "top-down"
      ? (a: number, b: number) => tree.first[a] - tree.first[b]
      : (a: number, b: number) => total[b] - total[a];
  for (let node = 0, sorted = 0; node < size; node++) {
    const some = firstChild[node + 1] - firstChild[node];
    if (some > 1) child.subarray(firstChild[node], firstChild[node + 1]).sort(before);
    sorted += some + 1;
    if (sorted >= SLICE) {
      sorted = 0;
      yield 0.6 + (0.4 * node) / size;
    }
  }
  return { ...tree, ...sums[0], otherSums: sums[1] ?? null, child, firstChild };
}
function* finished(tree: Tree, value: Value, order: Order): Generator<number, Shape> {
  const sums: Sums[] = [];
  for (const side of sidesOf(tree)) {
    const own = ownOf(side, value);
    sums.push({ own, total: totalsOf(tree, own) });
    yield 0.2;
  }
  return yield* withChildren(tree, sums, order);
}

// A name directly in itself is one context.
function* collapsed(tree: Tree, names: number): Generator<number, Tree> {
  const result = emptyLike(tree),
    children = new Children(result, names),
    place = new Int32Array(tree.name.length);
  for (let node = 1; node < tree.name.length; node++) {
    const around = place[tree.parent[node]];
    if (node % SLICE === 0) yield (0.2 * node) / tree.name.length;
    place[node] =
      result.name[around] === tree.name[node]
        ? around
        : children.of(around, tree.name[node], tree.level[node], tree.first[node]);
    addTo(result, place[node], tree, node);
  }
  return result;
}

// Each name with its callers below. The first name of a chain has the value; callers below inherit it, so that a
// child's share is this caller's part.
function* inverted(tree: Tree, names: number, value: Value): Generator<number, Shape> {
  const result = emptyLike(tree),
    children = new Children(result, names),
    sides = sidesOf(tree),
    amounts = sides.map(() => [0]);
  for (let node = 1; node < tree.name.length; node++) {
    if (node % SLICE === 0) yield (0.6 * node) / tree.name.length;
    const own = sides.map((side) => valueOf(side, node, value));
    if (own.every((amount) => amount <= 0)) continue;
    addEach(amounts, 0, own);
    for (let at = node, to = 0, depth = 0; at > 0; at = tree.parent[at], depth++) {
      to = children.of(to, tree.name[at], tree.level[at], tree.first[at]);
      if (depth === 0) addTo(result, to, tree, node);
      addEach(amounts, to, own);
    }
  }
  return yield* carried(result, amounts, value);
}
function addEach(amounts: number[][], node: number, more: number[]) {
  for (let side = 0; side < more.length; side++) amounts[side][node] = (amounts[side][node] ?? 0) + more[side];
}
// Totals of an inverted tree are not sums of descendants.
function* carried(tree: Tree, amounts: number[][], value: Value): Generator<number, Shape> {
  const sums = sidesOf(tree).map((side, i) => ({ own: ownOf(side, value), total: Float64Array.from(amounts[i]) }));
  return yield* withChildren(tree, sums, "bottom-up");
}

export function* shapeOf(
  tree: Tree,
  order: Order,
  value: Value,
  isCollapsed: boolean,
  names: number,
): Generator<number, Shape> {
  const source = isCollapsed ? yield* collapsed(tree, names) : tree;
  return order === "bottom-up" ? yield* inverted(source, names, value) : yield* finished(source, value, order);
}
export function atOnce<T>(steps: Generator<unknown, T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

// ---- one name: callers and callees
export interface Sandwich {
  total: number; // of the name, recursion counted once
  own: number;
  count: number;
  callers: Shape; // the root is the name; callers below
  callees: Shape; // the root is the name; callees below
}
export function sandwichOf(tree: Tree, name: number, value: Value, names: number): Sandwich {
  const sides = sidesOf(tree),
    base = sides.map((side) => totalsOf(tree, ownOf(side, value))),
    callees = emptyLike(tree),
    callers = emptyLike(tree),
    below = new Children(callees, names),
    above = new Children(callers, names),
    amounts = sides.map(() => [0]),
    place = new Int32Array(tree.name.length).fill(-1); // in callees; -1: not below the name
  let own = 0,
    count = 0;
  for (let node = 1; node < tree.name.length; node++) {
    const around = place[tree.parent[node]];
    if (tree.name[node] === name) {
      own += valueOf(tree, node, value);
      count += tree.count[node];
    }
    if (around < 0 && tree.name[node] !== name) continue;
    // A recursive call of the name, at any depth, continues in the same place.
    place[node] = tree.name[node] === name ? 0 : below.of(around, tree.name[node], tree.level[node], tree.first[node]);
    addTo(callees, place[node], tree, node);
    if (around >= 0) continue;
    const totals = base.map((total) => total[node]);
    addEach(amounts, 0, totals);
    for (let at = tree.parent[node], to = 0; at > 0; at = tree.parent[at]) {
      to = above.of(to, tree.name[at], tree.level[at], tree.first[at]);
      addEach(amounts, to, totals);
      callers.count[to] += tree.count[node];
    }
  }
  const asRoot = (one: Tree) => {
    one.name[0] = name;
    one.level[0] = tree.level[tree.name.indexOf(name)] ?? 0;
  };
  asRoot(callees);
  asRoot(callers);
  return {
    total: amounts[0][0],
    own,
    count,
    callees: atOnce(finished(callees, value, "left-heavy")),
    callers: atOnce(carried(callers, amounts, value)),
  };
}

// ---- by name
export interface NameRow {
  name: number;
  level: number;
  own: number;
  total: number; // recursion counted once
  host: number;
  device: number;
  count: number;
  otherOwn: number; // in the run compared with
  otherTotal: number;
}
export function namesOf(tree: Tree, value: Value): NameRow[] {
  const [base, otherBase = null] = sidesOf(tree).map((side) => totalsOf(tree, ownOf(side, value))),
    rows = new Map<number, NameRow>();
  for (let node = 1; node < tree.name.length; node++) {
    const name = tree.name[node];
    let row = rows.get(name);
    if (row === undefined) {
      row = {
        name,
        level: tree.level[node],
        own: 0,
        total: 0,
        host: 0,
        device: 0,
        count: 0,
        otherOwn: 0,
        otherTotal: 0,
      };
      rows.set(name, row);
    }
    if (tree.other !== null) row.otherOwn += valueOf(tree.other, node, value);
    row.own += valueOf(tree, node, value);
    row.host += tree.host[node];
    row.device += tree.device[node];
    row.count += tree.count[node];
    let at = tree.parent[node];
    while (at > 0 && tree.name[at] !== name) at = tree.parent[at];
    if (at > 0) continue;
    row.total += base[node];
    row.otherTotal += otherBase?.[node] ?? 0;
  }
  return [...rows.values()];
}

// The names with the most self time (else total time), in that order; only the heaviest if there are many.
export function heaviest(shape: Shape, most: number): number[] {
  const size = shape.name.length - 1;
  const nodes: number[] = [];
  const least = size > most ? shape.own.slice(1).sort()[size - most] : -1;
  for (let node = 1; node <= size && nodes.length < most; node++) if (shape.own[node] > least) nodes.push(node);
  for (let node = 1; node <= size && nodes.length < most; node++) if (shape.own[node] === least) nodes.push(node);
  return nodes.sort((a, b) => shape.own[b] - shape.own[a] || shape.total[b] - shape.total[a]);
}

// Matching contexts, and their share of all (of nested matches the outer one counts).
export function matchesOf(shape: Shape, hits: Uint8Array): { contexts: number; total: number } {
  const isBelow = new Uint8Array(shape.name.length);
  let contexts = 0,
    total = 0;
  for (let node = 1; node < shape.name.length; node++) {
    const isHit = hits[shape.name[node]] === 1;
    if (isHit) contexts++;
    if (isHit && isBelow[shape.parent[node]] === 0) total += shape.total[node];
    if (isHit || isBelow[shape.parent[node]] === 1) isBelow[node] = 1;
  }
  return { contexts, total };
}
export function pathOf(tree: Tree, node: number): number[] {
  const path: number[] = [];
  for (let at = node; at > 0; at = tree.parent[at]) path.unshift(at);
  return path;
}
// A name in an address: its FNV-1a hash, so that the address of one recording shows the same context of the next one, whose
// names are numbered otherwise and whose series of steps has another end.
export function keyOf(name: string): string {
  let hash = 0x811c9dc5;
  for (const unit of name.replace(/\d+…\d+$/, "")) hash = Math.imul(hash ^ unit.codePointAt(0)!, 0x01000193);
  return (hash >>> 0).toString(36);
}
export function nodeOfKeys(shape: Shape, names: string[], path: string[]): number {
  let at = 0;
  for (const key of path) {
    const next = childrenOf(shape, at).find((child) => keyOf(names[shape.name[child]]) === key);
    if (next === undefined) break;
    at = next;
  }
  return at;
}
