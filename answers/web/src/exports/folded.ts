// SPDX-License-Identifier: Apache-2.0
// Folded stacks, as flame graph tools read them and `xsp export --to folded` writes them: "model;layer;kernel
// NANOSECONDS", one line per context. Its time is its spans' self time; executions count in full.
import type { Contexts } from "../data";
import { Places } from "../flame/contexts";
import { contextParents } from "../flame/nesting";
import { ownTimes } from "../flame/own_time";
import { atOnce } from "../flame/shape";
import { isIn, Pieces, type Source } from "./source";

// A name without ';' and line breaks, which are the format's separators.
const plain = (name: string) => name.replaceAll(";", ":").replace(/[\r\n]/g, " ");

export function folded(source: Source): string[] {
  const { data, names } = source,
    parents = atOnce(contextParents(data)),
    own = atOnce(ownTimes(data, parents, null)),
    times = new Map<number, number>(),
    stacks = [""], // by context
    known = new Map<string, number>();
  const places = new Places(data, parents, (parent, name) => {
    const stack = parent === 0 ? plain(names[name]) : `${stacks[parent]};${plain(names[name])}`;
    let node = known.get(stack);
    if (node === undefined) known.set(stack, (node = stacks.push(stack) - 1));
    return node;
  });
  for (let i = 0; i < data.count; i++) {
    if (own[i] <= 0 || !isIn(source, i)) continue;
    const node = places.place(i);
    times.set(node, (times.get(node) ?? 0) + Math.round(own[i]));
  }
  const out = new Pieces();
  for (const [node, time] of times) out.add(`${stacks[node]} ${time}\n`);
  return out.end();
}

// For a run with merged spans: from its contexts, which are exact.
export function foldedContexts(contexts: Contexts, names: string[]): string[] {
  const out = new Pieces(),
    stacks: string[] = [];
  contexts.name.forEach((name, i) => {
    const parent = contexts.parent[i];
    stacks.push(parent >= 0 ? `${stacks[parent]};${plain(names[name])}` : plain(names[name]));
    if (contexts.own_ns[i] > 0) out.add(`${stacks[i]} ${contexts.own_ns[i]}\n`);
  });
  return out.end();
}
