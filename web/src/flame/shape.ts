// SPDX-License-Identifier: Apache-2.0
// What is drawn of the contexts: values by choice (host, device, both, counts), top-down or inverted, recursion collapsed or
// not, and the callers and callees of one name. Pure.
import { Children, emptyTree, type Tree } from "./contexts";

export const VALUES = ["both", "host", "device", "count"] as const;
export type Value = (typeof VALUES)[number];
export type Order = "top-down" | "bottom-up" | "left-heavy";

export interface Shape extends Tree {
  own: Float64Array; // by the value chosen
  total: Float64Array; // with what is below
  spans: Float64Array; // count with what is below
  children: number[][]; // in the order drawn
  depth: number; // of the deepest
}
export const valueOf = (tree: Tree, node: number, value: Value) =>
  value === "count"
    ? tree.count[node]
    : value === "host"
      ? tree.host[node]
      : value === "device"
        ? tree.device[node]
        : tree.host[node] + tree.device[node];

// Sums from the leaves up, children in order: by first start, or by value where that is what the order is about.
function finished(tree: Tree, value: Value, order: Order): Shape {
  const size = tree.name.length,
    own = Float64Array.from(tree.name, (_, node) => valueOf(tree, node, value)),
    total = own.slice(),
    spans = Float64Array.from(tree.count),
    children: number[][] = Array.from({ length: size }, () => []),
    level = new Int32Array(size);
  let depth = 0;
  for (let node = size - 1; node > 0; node--) {
    total[tree.parent[node]] += total[node];
    spans[tree.parent[node]] += spans[node];
  }
  for (let node = 1; node < size; node++) {
    children[tree.parent[node]].push(node);
    level[node] = level[tree.parent[node]] + 1;
    if (level[node] > depth) depth = level[node];
  }
  const before =
    order === "top-down"
      ? (a: number, b: number) => tree.first[a] - tree.first[b]
      : (a: number, b: number) => total[b] - total[a];
  for (const some of children) if (some.length > 1) some.sort(before);
  return { ...tree, own, total, spans, children, depth };
}

const like = (tree: Tree): Tree => ({
  ...emptyTree(),
  isExact: tree.isExact,
  hasDevice: tree.hasDevice,
  left_out: tree.left_out,
});
function add(to: Tree, node: number, from: Tree, source: number) {
  to.host[node] += from.host[source];
  to.device[node] += from.device[source];
  to.count[node] += from.count[source];
  if (from.first[source] < to.first[node]) to.first[node] = from.first[source];
}

// A name directly in itself is one context.
function collapsed(tree: Tree, names: number): Tree {
  const result = like(tree),
    children = new Children(result, names),
    place = new Int32Array(tree.name.length);
  for (let node = 1; node < tree.name.length; node++) {
    const around = place[tree.parent[node]];
    place[node] =
      result.name[around] === tree.name[node]
        ? around
        : children.of(around, tree.name[node], tree.level[node], tree.first[node]);
    add(result, place[node], tree, node);
  }
  return result;
}

// Each name with those that called it below it. Values stand with the first name of a chain; what comes below it carries
// them on, so that a child's share is what this caller is to blame for.
function inverted(tree: Tree, names: number, value: Value): Shape {
  const result = like(tree),
    children = new Children(result, names),
    total: number[] = [0];
  for (let node = 1; node < tree.name.length; node++) {
    const amount = valueOf(tree, node, value);
    if (amount <= 0) continue;
    total[0] += amount;
    for (let at = node, to = 0, depth = 0; at > 0; at = tree.parent[at], depth++) {
      to = children.of(to, tree.name[at], tree.level[at], tree.first[at]);
      if (depth === 0) add(result, to, tree, node);
      total[to] = (total[to] ?? 0) + amount;
    }
  }
  return { ...finished(result, value, "left-heavy"), ...carried(result, total) };
}
// Totals of an inverted tree are no sums of what is below.
function carried(tree: Tree, amounts: number[]) {
  const total = Float64Array.from(amounts),
    children: number[][] = tree.name.map(() => []);
  for (let node = 1; node < tree.name.length; node++) children[tree.parent[node]].push(node);
  for (const some of children) some.sort((a, b) => total[b] - total[a]);
  return { total, children };
}

export function shapeOf(tree: Tree, order: Order, value: Value, isCollapsed: boolean, names: number): Shape {
  const source = isCollapsed ? collapsed(tree, names) : tree;
  return order === "bottom-up" ? inverted(source, names, value) : finished(source, value, order);
}

// ---- one name: what calls it, what it calls
export interface Sandwich {
  total: number; // of the name, recursion counted once
  own: number;
  count: number;
  callers: Shape; // the root is the name; below it who called it
  callees: Shape; // the root is the name; below it what it calls
}
export function sandwichOf(tree: Tree, name: number, value: Value, names: number): Sandwich {
  const base = finished(tree, value, "top-down"),
    callees = like(tree),
    callers = like(tree),
    below = new Children(callees, names),
    above = new Children(callers, names),
    amounts: number[] = [0],
    place = new Int32Array(tree.name.length).fill(-1); // in callees; -1: not below the name
  let own = 0,
    count = 0;
  for (let node = 1; node < tree.name.length; node++) {
    const around = place[tree.parent[node]];
    if (tree.name[node] === name) {
      own += base.own[node];
      count += tree.count[node];
    }
    if (around < 0 && tree.name[node] !== name) continue;
    // A call of the name by itself, however far below, goes on in the same place.
    place[node] = tree.name[node] === name ? 0 : below.of(around, tree.name[node], tree.level[node], tree.first[node]);
    add(callees, place[node], tree, node);
    if (around >= 0) continue;
    amounts[0] += base.total[node];
    for (let at = tree.parent[node], to = 0; at > 0; at = tree.parent[at]) {
      to = above.of(to, tree.name[at], tree.level[at], tree.first[at]);
      amounts[to] = (amounts[to] ?? 0) + base.total[node];
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
    total: amounts[0],
    own,
    count,
    callees: finished(callees, value, "left-heavy"),
    callers: { ...finished(callers, value, "left-heavy"), ...carried(callers, amounts) },
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
}
export function namesOf(tree: Tree, value: Value): NameRow[] {
  const base = finished(tree, value, "top-down"),
    rows = new Map<number, NameRow>();
  for (let node = 1; node < tree.name.length; node++) {
    const name = tree.name[node];
    let row = rows.get(name);
    if (row === undefined)
      rows.set(name, (row = { name, level: tree.level[node], own: 0, total: 0, host: 0, device: 0, count: 0 }));
    row.own += base.own[node];
    row.host += tree.host[node];
    row.device += tree.device[node];
    row.count += tree.count[node];
    let at = tree.parent[node];
    while (at > 0 && tree.name[at] !== name) at = tree.parent[at];
    if (at <= 0) row.total += base.total[node];
  }
  return [...rows.values()];
}

// Contexts that match, and what share of all lies in them (of matches within each other the outer one counts).
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
export function nodeOfNames(shape: Shape, path: number[]): number {
  let at = 0;
  for (const name of path) {
    const next = shape.children[at].find((child) => shape.name[child] === name);
    if (next === undefined) break;
    at = next;
  }
  return at;
}
