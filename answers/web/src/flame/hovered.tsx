// SPDX-License-Identifier: Apache-2.0
// Texts about a context: its path, the line below the graph, the tooltip; and the legend of levels.
import { useMemo } from "preact/hooks";
import { LEVELS, levelOf, type Spans } from "../data";
import { titleOf, type Marks } from "../findings";
import { count, digits, plural, time } from "../format";
import { documentData, run } from "../state";
import type { Hovered } from "./canvas";
import type { Tree } from "./contexts";
import { text } from "../widgets/answers";
import { SourceLink } from "../widgets/source_link";
import { differenceRows } from "./difference_parts";
import { pathOf, type Shape } from "./shape";
import { sourceOfNode } from "./sources";
import type { Spot } from "./time_order";
import { areSamplesShown } from "./tools";

export function Path({
  shape,
  root,
  names,
  mode,
  onOpen,
  onName,
  onJump,
}: {
  shape: Shape;
  root: number;
  names: string[];
  mode: string;
  onOpen: (node: number) => void;
  onName: (name: number) => void;
  onJump: (node: number) => void;
}) {
  const source = root === 0 ? undefined : sourceOfNode(shape, root, mode === "bottom-up");
  return (
    <div class="flame-path" role="navigation" aria-label="Contexts around the one shown">
      <button type="button" class="link" aria-current={root === 0 ? "true" : undefined} onClick={() => onOpen(0)}>
        all
      </button>
      {pathOf(shape, root).map((node) => (
        <span key={node}>
          <span class="quiet">{mode === "bottom-up" ? " ‹ " : " › "}</span>
          <button
            type="button"
            class="link"
            title={names[shape.name[node]]}
            aria-current={node === root ? "true" : undefined}
            onClick={() => onOpen(node)}
          >
            {names[shape.name[node]]}
          </button>
        </span>
      ))}
      {root > 0 && (
        <>
          <button type="button" onClick={() => onName(shape.name[root])}>
            Callers and callees
          </button>
          <button type="button" onClick={() => onJump(root)}>
            On the timeline
          </button>
          {source !== undefined && <SourceLink source={source} />}
        </>
      )}
    </div>
  );
}

export function HoveredLine({
  hovered,
  names,
  show,
  marks,
}: {
  hovered: { hovered: Hovered; shape: Shape } | null;
  marks: Marks;
  names: string[];
  show: (amount: number) => string;
}) {
  if (hovered === null || hovered.hovered.node < 0)
    return (
      <span class="quiet">
        Click shows a context alone, a double click its longest span on the timeline. Esc goes back. Device time is
        added to host time, although both run concurrently.
      </span>
    );
  const { shape } = hovered,
    { node, more, total } = hovered.hovered,
    name = shape.name[node] < 0 ? "all" : names[shape.name[node]];
  if (more > 0)
    return (
      <>
        {plural(more, "context")} in <strong>{name}</strong>, {show(total)}, too narrow to be drawn separately
      </>
    );
  if (shape.otherSums !== null)
    return (
      <>
        <strong>{name}</strong>{" "}
        {differenceRows(shape, node, show)
          .map(([key, text]) => `${key} ${text}`.trim())
          .join(", ")}
      </>
    );
  return (
    <>
      <strong>{name}</strong> {show(total)}, {digits((100 * total) / (shape.total[0] || 1), 3)} %, own{" "}
      {show(shape.own[node])}
      {!areSamplesShown(run.value!) && `, ${plural(shape.count[node], "span")}`}
      {(marks.get(node) ?? []).map((row) => ` · ${text(row.id)} ${titleOf(row)}`)}
    </>
  );
}
export function SpotLine({ data, spot }: { data: Spans; spot: Spot }) {
  if (spot.place < 0)
    return (
      <span class="quiet">
        Click zooms to a span, a double click shows it on the timeline. W, S zoom, A, D pan, Esc shows all.
      </span>
    );
  const { place } = spot;
  return (
    <>
      <strong>{documentData.value!.names[data.name[place]]}</strong> {LEVELS[levelOf(data, place)]},{" "}
      {time(data.duration[place])} from {time(data.start[place])}
      {data.merged !== null && data.merged[place] > 1 && `, ${plural(data.merged[place], "span")} as one rectangle`}
    </>
  );
}

export function SpotTip({ data, spot }: { data: Spans; spot: Spot }) {
  return (
    <div
      class="flame-tip"
      role="tooltip"
      style={{
        left: `${Math.max(4, Math.min(spot.x + 14, innerWidth - Math.min(460, innerWidth * 0.82)))}px`,
        ...(spot.y > innerHeight - 120 ? { bottom: `${innerHeight - spot.y + 12}px` } : { top: `${spot.y + 14}px` }),
      }}
    >
      <SpotLine data={data} spot={spot} />
    </div>
  );
}

export function Tip({
  hovered,
  shape,
  names,
  show,
  all,
  marks,
}: {
  hovered: Hovered;
  marks: Marks;
  shape: Shape;
  names: string[];
  show: (amount: number) => string;
  all: number;
}) {
  const { node, more, total } = hovered,
    name = shape.name[node] < 0 ? "all" : names[shape.name[node]],
    around = shape.parent[node];
  const left = Math.min(hovered.x + 14, innerWidth - Math.min(460, innerWidth * 0.82)),
    isLow = hovered.y > innerHeight - 190;
  const rows: [string, string][] =
    more > 0
      ? [["together", show(total)]]
      : shape.otherSums !== null
        ? differenceRows(shape, node, show)
        : [
            ["total", show(total)],
            ["own", show(shape.own[node])],
            ...(areSamplesShown(run.value!) ? [] : [["spans", count(shape.count[node])] as [string, string]]),
            ...(around > 0 && shape.total[around] > 0
              ? [["of its parent", `${digits((100 * total) / shape.total[around], 3)} %`] as [string, string]]
              : []),
          ];
  if (more === 0) for (const row of marks.get(node) ?? []) rows.push([text(row.id) || "finding", titleOf(row)]);
  return (
    <div
      class="flame-tip"
      role="tooltip"
      style={{
        left: `${Math.max(4, left)}px`,
        ...(isLow ? { bottom: `${innerHeight - hovered.y + 12}px` } : { top: `${hovered.y + 14}px` }),
      }}
    >
      <strong>{more > 0 ? `${plural(more, "narrow context")} in ${name}` : name}</strong>
      {shape.name[node] >= 0 && more === 0 && <span class="quiet">{LEVELS[shape.level[node]]}</span>}
      <dl>
        {rows.map(([key, text]) => (
          <div key={key}>
            <dt>{key}</dt>
            <dd>{text}</dd>
          </div>
        ))}
        <div>
          <dt>of all</dt>
          <dd>{all > 0 ? `${digits((100 * total) / all, 3)} %` : "–"}</dd>
        </div>
      </dl>
    </div>
  );
}

export function Legend({ tree, hasMarks }: { tree: Tree; hasMarks: boolean }) {
  const there = useMemo(() => new Set(tree.level.slice(1)), [tree]);
  return (
    <p class="quiet flame-legend">
      {LEVELS.map((name, level) =>
        there.has(level) ? (
          <span key={name}>
            <i class={`dot level-${level}`} aria-hidden="true" />
            {name}
          </span>
        ) : null,
      )}
      {hasMarks && (
        <span>
          <i class="dot flame-marked" aria-hidden="true" />
          has a finding
        </span>
      )}
    </p>
  );
}
