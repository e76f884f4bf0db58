// SPDX-License-Identifier: Apache-2.0
// Folded stacks, as flame graph tools read them and `xsp export --to folded` writes them: "model;layer;kernel
// NANOSECONDS", one line per context. Its time is its spans' self time; executions count in full, launches not at all.
import { kindOf, type Contexts, type Spans } from "../data";
import { isIn, Pieces, type Source } from "./source";

const LAUNCH = 1;
const DEPTH_MOST = 512;
// A name without ';' and line breaks, which are the format's separators.
const plain = (name: string) => name.replaceAll(";", ":").replace(/[\r\n]/g, " ");

// Lanes that show the overlapping spans of one track belong together.
function trackOf(data: Spans): number[] {
  let track = -1;
  return data.facts.lanes.map((lane, i) => (lane.overlap === 0 || track < 0 ? (track = i) : track));
}

function ownTimes(data: Spans): Float64Array {
  const own = Float64Array.from(data.duration),
    tracks = trackOf(data),
    track = (i: number) => tracks[data.facts.rows[data.row[i]][0]];
  for (let i = 0; i < data.count; i++) {
    const parent = data.parent[i];
    if (parent >= 0 && track(parent) === track(i)) own[parent] -= data.duration[i];
  }
  for (let i = 0; i < data.count; i++) if (kindOf(data, i) === LAUNCH || own[i] < 0) own[i] = 0;
  return own;
}

export function folded(source: Source): string[] {
  const { data, names } = source,
    own = ownTimes(data),
    times = new Map<string, number>(),
    stacks = new Map<number, string>(); // of spans with children
  const stackOf = (span: number): string => {
    const chain: number[] = [];
    let at = span;
    while (at >= 0 && !stacks.has(at) && chain.length < DEPTH_MOST) {
      chain.push(at);
      at = data.parent[at];
    }
    let stack = at >= 0 ? (stacks.get(at) ?? "") : "";
    for (const next of chain.reverse()) {
      stack = stack === "" ? plain(names[data.name[next]]) : `${stack};${plain(names[data.name[next]])}`;
      stacks.set(next, stack);
    }
    return stack;
  };
  for (let i = 0; i < data.count; i++) {
    if (own[i] <= 0 || !isIn(source, i)) continue;
    const stack = stackOf(i);
    times.set(stack, (times.get(stack) ?? 0) + own[i]);
  }
  const out = new Pieces();
  for (const [stack, time] of times) out.add(`${stack} ${time}\n`);
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
