// SPDX-License-Identifier: Apache-2.0
// Where the time of a run went, by context: the chain of names from the top level down. A context's time is its own spans'
// time without that of spans nested in them on their track; executions count in full, launches not at all.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { palette } from "../colors";
import { kindOf, levelOf, LEVELS, type Spans } from "../data";
import { isInside, matching } from "../find";
import { digits, plural, time } from "../format";
import { SelectionNote, Unpacked } from "../widgets/parts";
import { documentData, flameMode, selection } from "../state";
import { DataTable } from "../widgets/table";

interface Node {
  name: number;
  level: number;
  parent: number;
  own: number;
  total: number;
  count: number;
  first: number;
  children: number[];
}

// Own time of each span: its duration less what nests in it on its own track.
function ownTimes(data: Spans): Float64Array {
  const own = Float64Array.from(data.duration);
  for (let i = 0; i < data.count; i++) {
    const parent = data.parent[i];
    if (
      parent >= 0 &&
      data.facts.rows[data.row[parent]][0] === data.facts.rows[data.row[i]][0] &&
      kindOf(data, i) !== 2
    )
      own[parent] -= data.duration[i];
  }
  for (let i = 0; i < data.count; i++) if (kindOf(data, i) === 1 || own[i] < 0) own[i] = 0;
  return own;
}

function contexts(data: Spans, mode: string): Node[] {
  const nodes: Node[] = [{ name: -1, level: 0, parent: -1, own: 0, total: 0, count: 0, first: 0, children: [] }];
  const index = new Map<number, number>(),
    own = ownTimes(data),
    range = selection.value,
    names = documentData.value!.names.length + 1;
  const child = (parent: number, i: number) => {
    const key = parent * names + data.name[i];
    let node = index.get(key);
    if (node === undefined) {
      index.set(key, (node = nodes.length));
      nodes.push({
        name: data.name[i],
        level: levelOf(data, i),
        parent,
        own: 0,
        total: 0,
        count: 0,
        first: data.start[i],
        children: [],
      });
      nodes[parent].children.push(node);
    }
    return node;
  };
  if (mode === "bottom-up") {
    for (let i = 0; i < data.count; i++) {
      if (own[i] <= 0 || !isInside(data, i, range)) continue;
      for (let at = i, node = 0, depth = 0; at >= 0 && depth < 64; at = data.parent[at], depth++) {
        node = child(node, at);
        nodes[node].total += own[i];
        if (depth === 0) {
          nodes[node].own += own[i];
          nodes[node].count++;
        }
      }
      nodes[0].total += own[i];
    }
  } else {
    const of = new Int32Array(data.count).fill(-1),
      chain: number[] = [];
    for (let i = 0; i < data.count; i++) {
      if (!isInside(data, i, range)) continue;
      let at = i;
      while (at >= 0 && of[at] < 0 && chain.length < 4096) {
        chain.push(at);
        at = data.parent[at];
      }
      let node = at >= 0 ? of[at] : 0;
      while (chain.length > 0) {
        const span = chain.pop()!;
        of[span] = node = child(node, span);
      }
      nodes[of[i]].own += own[i];
      nodes[of[i]].count++;
      if (data.start[i] < nodes[of[i]].first) nodes[of[i]].first = data.start[i];
    }
    for (let i = nodes.length - 1; i > 0; i--) {
      nodes[i].total += nodes[i].own;
      nodes[nodes[i].parent].total += nodes[i].total;
    }
  }
  const order =
    mode === "time" || mode === "top-down"
      ? (a: number, b: number) => nodes[a].first - nodes[b].first
      : (a: number, b: number) => nodes[b].total - nodes[a].total;
  for (const node of nodes) node.children.sort(order);
  return nodes;
}

const ROW = 20;
interface Box {
  node: number;
  x: number;
  width: number;
  depth: number;
}
function boxes(nodes: Node[], root: number, width: number): Box[] {
  const result: Box[] = [],
    stack: Box[] = [{ node: root, x: 0, width, depth: 0 }];
  while (stack.length > 0) {
    const box = stack.pop()!;
    result.push(box);
    let x = box.x;
    for (const child of nodes[box.node].children) {
      const share = nodes[box.node].total > 0 ? (nodes[child].total / nodes[box.node].total) * box.width : 0;
      if (share >= 0.4) stack.push({ node: child, x, width: share, depth: box.depth + 1 });
      x += share;
    }
  }
  return result;
}

const MODES = [
  ["top-down", "Top-down"],
  ["bottom-up", "Bottom-up"],
  ["left-heavy", "Left-heavy"],
  ["time", "Time order"],
] as const;
export function Flame() {
  return (
    <>
      <div class="tools">
        <div class="segments" role="group" aria-label="Order">
          {MODES.map(([mode, text]) => (
            <button
              key={mode}
              type="button"
              aria-pressed={flameMode.value === mode}
              onClick={() => (flameMode.value = mode)}
            >
              {text}
            </button>
          ))}
        </div>
      </div>
      <SelectionNote />
      <Unpacked>{(data) => <FlameGraph key={`${data.facts.run}`} data={data} />}</Unpacked>
    </>
  );
}

function FlameGraph({ data }: { data: Spans }) {
  const names = documentData.value!.names,
    canvas = useRef<HTMLCanvasElement>(null),
    [root, setRoot] = useState(0),
    [hover, setHover] = useState(-1);
  const mode = flameMode.value,
    range = selection.value,
    hits = matching.value;
  const nodes = useMemo(() => contexts(data, mode), [data, mode, range]);
  const top = root < nodes.length ? root : 0;
  useEffect(() => setRoot(0), [mode, range]);
  const depth = useMemo(
    () => boxes(nodes, top, 4000).reduce((most, box) => Math.max(most, box.depth), 0),
    [nodes, top],
  );
  const label = (node: number) => (nodes[node].name < 0 ? "all" : names[nodes[node].name]);
  useEffect(() => {
    const paint = () => {
      const element = canvas.current!,
        ratio = devicePixelRatio || 1,
        context = element.getContext("2d")!,
        colors = palette();
      element.width = element.clientWidth * ratio;
      element.height = (depth + 1) * ROW * ratio;
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      context.font = "11px system-ui, sans-serif";
      context.textBaseline = "middle";
      for (const box of boxes(nodes, top, element.clientWidth)) {
        const node = nodes[box.node],
          isHit = hits === null || (node.name >= 0 && hits[node.name] === 1);
        const packed =
          node.name < 0 ? colors.faded(0) : isHit ? colors.of(node.level, node.name) : colors.faded(node.level);
        context.fillStyle = `rgb(${packed & 255} ${(packed >> 8) & 255} ${(packed >> 16) & 255})`;
        context.fillRect(box.x, box.depth * ROW, Math.max(0.5, box.width - (box.width > 3 ? 1 : 0)), ROW - 1);
        const fits = Math.floor((box.width - 8) / 6.1),
          text = label(box.node);
        if (fits < 3) continue;
        context.fillStyle = node.name < 0 || !isHit ? colors.line : colors.text;
        context.fillText(
          text.length > fits ? `${text.slice(0, fits - 1)}…` : text,
          box.x + 4,
          box.depth * ROW + ROW / 2,
        );
      }
    };
    paint();
    addEventListener("resize", paint);
    addEventListener("xsp-theme", paint);
    return () => {
      removeEventListener("resize", paint);
      removeEventListener("xsp-theme", paint);
    };
  }, [nodes, top, hits, depth]);
  const under = (event: MouseEvent) => {
    const area = canvas.current!.getBoundingClientRect(),
      x = event.clientX - area.left,
      row = Math.floor((event.clientY - area.top) / ROW);
    return (
      boxes(nodes, top, area.width).find((box) => box.depth === row && x >= box.x && x < box.x + box.width)?.node ?? -1
    );
  };
  const path: number[] = [];
  for (let at = top; at > 0; at = nodes[at].parent) path.unshift(at);
  const rows = useMemo(() => nodes.map((_, i) => i).slice(1), [nodes]);
  const columns = useMemo(
    () => [
      {
        key: "name",
        label: "context",
        isText: true,
        value: (node: number) => names[nodes[node].name],
        show: (node: number) => (
          <>
            <i class={`dot level-${nodes[node].level}`} />
            {names[nodes[node].name]}
          </>
        ),
      },
      {
        key: "under",
        label: mode === "bottom-up" ? "called from" : "in",
        isText: true,
        value: (node: number) => label(nodes[node].parent),
      },
      { key: "level", label: "level", isText: true, value: (node: number) => LEVELS[nodes[node].level] },
      { key: "count", label: "spans", value: (node: number) => nodes[node].count },
      { key: "own_ns", label: "own time", value: (node: number) => nodes[node].own },
      { key: "total_ns", label: "with what is below", value: (node: number) => nodes[node].total },
      {
        key: "total_pct",
        label: "of all",
        value: (node: number) => (nodes[0].total > 0 ? (100 * nodes[node].total) / nodes[0].total : null),
      },
    ],
    [nodes, mode],
  );
  return (
    <>
      <p class="chain">
        <button type="button" class="link" onClick={() => setRoot(0)}>
          all
        </button>
        {path.map((node) => (
          <span key={node}>
            {" "}
            ›{" "}
            <button type="button" class="link" onClick={() => setRoot(node)}>
              {label(node)}
            </button>
          </span>
        ))}
      </p>
      <canvas
        class="flame"
        ref={canvas}
        role="img"
        style={{ height: `${(depth + 1) * ROW}px` }}
        aria-label={`Flame graph of ${plural(nodes.length - 1, "context")}; the table below has its numbers`}
        onMouseMove={(event) => setHover(under(event))}
        onMouseLeave={() => setHover(-1)}
        onClick={(event) => {
          const node = under(event);
          if (node >= 0) setRoot(node);
        }}
      />
      <p class="flame-line" aria-live="off">
        {hover >= 0 ? (
          <>
            <strong>{label(hover)}</strong> {time(nodes[hover].total)},{" "}
            {digits((100 * nodes[hover].total) / (nodes[0].total || 1), 3)} % of all
            {nodes[hover].count > 0 && `, ${plural(nodes[hover].count, "span")}, own ${time(nodes[hover].own)}`}
          </>
        ) : (
          <span class="quiet">
            Click a context to see it alone. Host time and device time are added: on a device, work overlaps its
            launches.
          </span>
        )}
      </p>
      <DataTable id="flame" caption="Contexts" columns={columns} rows={rows} onRow={(node) => setRoot(node)} />
    </>
  );
}
