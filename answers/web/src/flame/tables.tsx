// SPDX-License-Identifier: Apache-2.0
// The flame graph's numbers: contexts, names, and the callers and callees of one name. Titles of cells have exact values.
import { useMemo } from "preact/hooks";
import { LEVELS } from "../data";
import { digits, plural } from "../format";
import { DataTable, type TableColumn } from "../widgets/table";
import { FlameCanvas, type Hovered } from "./canvas";
import {
  childrenOf,
  heaviest,
  isSampled,
  namesOf,
  sandwichOf,
  unitOf,
  type NameRow,
  type Shape,
  type Value,
} from "./shape";
import { sourceOf, type Source } from "../source";
import { SourceLink } from "../widgets/source_link";
import type { Tree } from "./contexts";
import { sourceOfNode } from "./sources";

const ROWS_MOST = 50_000;
const keyOf = (value: Value, what: "own" | "total") => `${what}_${unitOf(value)}`;
// Contexts of samples have no spans.
const spansColumn = <Row,>(value: Value, count: (row: Row) => number): TableColumn<Row>[] =>
  isSampled(value) ? [] : [{ key: "count", label: "spans", value: count }];
const percent = (part: number, all: number) => (all > 0 ? (100 * part) / all : null);

// Host and device separately, if both exist and are shown.
const split = <Row,>(
  tree: Tree,
  value: Value,
  host: (row: Row) => number,
  device: (row: Row) => number,
): TableColumn<Row>[] =>
  value !== "both" || !tree.hasDevice
    ? []
    : [
        { key: "host_ns", label: "own, host", value: host },
        { key: "device_ns", label: "own, device", value: device },
      ];

// Where one of the names is a frame with a known line.
export const sourceColumn = <Row,>(names: number[], of: (row: Row) => Source | undefined): TableColumn<Row>[] =>
  !names.some((name) => sourceOf(name) !== undefined)
    ? []
    : [
        {
          key: "source",
          label: "source",
          isText: true,
          title: "the line of the context or of its nearest caller",
          value: (row) => {
            const source = of(row);
            return source === undefined ? null : `${source.file}:${source.line}`;
          },
          short: (text) => text.slice(text.lastIndexOf("/") + 1),
          show: (row) => {
            const source = of(row);
            return source === undefined ? "–" : <SourceLink source={source} />;
          },
        },
      ];

export function ContextTable({
  shape,
  value,
  names,
  onRow,
}: {
  shape: Shape;
  value: Value;
  names: string[];
  onRow: (node: number) => void;
}) {
  const rows = useMemo(() => heaviest(shape, ROWS_MOST), [shape]);
  const columns = useMemo(
    (): TableColumn<number>[] => [
      {
        key: "context",
        label: "context",
        isText: true,
        value: (node) => names[shape.name[node]],
        show: (node) => (
          <>
            <i class={`dot level-${shape.level[node]}`} aria-hidden="true" />
            {names[shape.name[node]]}
          </>
        ),
      },
      {
        key: "in",
        label: "in",
        isText: true,
        value: (node) => (shape.parent[node] === 0 ? "all" : names[shape.name[shape.parent[node]]]),
      },
      { key: "level", label: "level", isText: true, value: (node) => LEVELS[shape.level[node]] },
      ...sourceColumn<number>(shape.name, (node) => sourceOfNode(shape, node, false)),
      ...spansColumn<number>(value, (node) => shape.count[node]),
      { key: keyOf(value, "own"), label: "own", hasBar: true, value: (node) => shape.own[node] },
      ...split<number>(
        shape,
        value,
        (node) => shape.host[node],
        (node) => shape.device[node],
      ),
      { key: keyOf(value, "total"), label: "with descendants", value: (node) => shape.total[node] },
      { key: "total_pct", label: "of all", value: (node) => percent(shape.total[node], shape.total[0]) },
    ],
    [shape, value],
  );
  const more = shape.name.length - 1 - rows.length;
  return (
    <>
      <DataTable id="flame" caption="Contexts" columns={columns} rows={rows} onRow={onRow} />
      {more > 0 && (
        <p class="note">
          {plural(more, "further context")} with less own {unitOf(value) === "ns" ? "time" : unitOf(value)}:{" "}
          <code>xsp export FILE --to folded</code>
        </p>
      )}
    </>
  );
}

export function NameTable({
  tree,
  value,
  names,
  total,
  onRow,
}: {
  tree: Tree;
  value: Value;
  names: string[];
  total: number;
  onRow: (name: number) => void;
}) {
  const rows = useMemo(() => namesOf(tree, value).sort((a, b) => b.own - a.own), [tree, value]);
  const columns = useMemo(
    (): TableColumn<NameRow>[] => [
      {
        key: "name",
        label: "name",
        isText: true,
        value: (row) => names[row.name],
        show: (row) => (
          <>
            <i class={`dot level-${row.level}`} aria-hidden="true" />
            {names[row.name]}
          </>
        ),
      },
      { key: "level", label: "level", isText: true, value: (row) => LEVELS[row.level] },
      ...sourceColumn<NameRow>(tree.name, (row) => sourceOf(row.name)),
      ...spansColumn<NameRow>(value, (row) => row.count),
      { key: keyOf(value, "own"), label: "own", hasBar: true, value: (row) => row.own },
      { key: "own_pct", label: "own of all", value: (row) => percent(row.own, total) },
      ...split<NameRow>(
        tree,
        value,
        (row) => row.host,
        (row) => row.device,
      ),
      { key: keyOf(value, "total"), label: "with descendants", value: (row) => row.total },
      { key: "total_pct", label: "of all", value: (row) => percent(row.total, total) },
    ],
    [tree, value, total],
  );
  return <DataTable id="flame.names" caption="Names" columns={columns} rows={rows} onRow={(row) => onRow(row.name)} />;
}

// Callers and callees of a name, each as a flame graph and as a table of the direct ones.
export function SandwichView({
  tree,
  name,
  value,
  names,
  total,
  show,
  onHover,
  onName,
  onClose,
}: {
  tree: Tree;
  name: number;
  value: Value;
  names: string[];
  total: number;
  show: (amount: number) => string;
  onHover: (hovered: Hovered, shape: Shape) => void;
  onName: (name: number) => void;
  onClose: () => void;
}) {
  const one = useMemo(() => sandwichOf(tree, name, value, names.length + 1), [tree, name, value]);
  const share = percent(one.total, total);
  const side = (shape: Shape, caption: string, id: string, isFlipped: boolean) => (
    <section class="panel" aria-label={caption}>
      <h3>{caption}</h3>
      {shape.firstChild[1] === 0 ? (
        <p class="quiet">None.</p>
      ) : (
        <>
          <FlameCanvas
            shape={shape}
            root={0}
            names={names}
            hits={null}
            label={`${caption} of ${names[name]}`}
            isFlipped={isFlipped}
            onHover={(hovered) => onHover(hovered, shape)}
            onOpen={(node) => shape.name[node] !== name && onName(shape.name[node])}
          />
          <DirectTable id={id} caption={caption} shape={shape} names={names} value={value} onName={onName} />
        </>
      )}
    </section>
  );
  return (
    <section class="sandwich" aria-label={`Callers and callees of ${names[name]}`} data-total={one.total}>
      <p class="flame-path">
        <strong>{names[name]}</strong>
        <span>
          {show(one.total)}
          {share !== null && `, ${digits(share, 3)} % of all`}, own {show(one.own)}
          {!isSampled(value) && `, ${one.count.toLocaleString("en-US")}×`}
        </span>
        <button type="button" onClick={onClose}>
          Close
        </button>
      </p>
      <div class="flame-sandwich">
        {side(one.callers, "Callers", "flame.callers", true)}
        {side(one.callees, "Callees", "flame.callees", false)}
      </div>
    </section>
  );
}
function DirectTable({
  id,
  caption,
  shape,
  names,
  value,
  onName,
}: {
  id: string;
  caption: string;
  shape: Shape;
  names: string[];
  value: Value;
  onName: (name: number) => void;
}) {
  const rows = useMemo(() => [...childrenOf(shape, 0)], [shape]);
  const columns = useMemo(
    (): TableColumn<number>[] => [
      { key: "name", label: "name", isText: true, value: (node) => names[shape.name[node]] },
      ...spansColumn<number>(value, (node) => shape.count[node]),
      { key: keyOf(value, "total"), label: "time", hasBar: true, value: (node) => shape.total[node] },
      { key: "share_pct", label: "share", value: (node) => percent(shape.total[node], shape.total[0]) },
    ],
    [shape, value],
  );
  return (
    <DataTable
      id={id}
      caption={`${caption}, direct`}
      columns={columns}
      rows={rows}
      onRow={(node) => onName(shape.name[node])}
      height={260}
    />
  );
}
