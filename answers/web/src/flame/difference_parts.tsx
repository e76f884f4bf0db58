// SPDX-License-Identifier: Apache-2.0
// Texts of the differential flame graph: what is compared, its legend, the lines of tooltips, the table.
import { useMemo } from "preact/hooks";
import { DIFFERENCES, type Difference } from "../colors";
import { digits, plural } from "../format";
import { DataTable, type TableColumn } from "../widgets/table";
import { changeOf, FACTORS, onlyOf, pairOf, type Pair, type Side } from "./difference";
import { namesOf, unitOf, type Shape, type Value } from "./shape";
import type { Tree } from "./contexts";
import { sourceOf } from "../source";
import { sourceOfNode } from "./sources";
import { sourceColumn } from "./tables";
import { longLabel } from "./tools";

const ROWS_MOST = 50_000;
const signed = (text: string, value: number) => (value > 0 ? `+${text}` : text);
const percentOf = (pair: Pair) => {
  const change = changeOf(pair);
  return change === null ? "–" : `${signed(digits(change, 3), change)} %`;
};
const ONLY = { "": "", shown: "only in the run shown", other: "only in the other run" };

const basisOf = ({ facts, observations, isWhole }: Side) => {
  const word = /step/i.test(facts.observed ?? "") ? "step" : "prediction";
  if (facts.observed === null) return "the whole run, which has no steps or predictions";
  return isWhole
    ? `the whole run divided by its ${plural(observations, word)}, with warm-ups and what is outside of them`
    : `the mean of ${plural(observations, word)}, without warm-ups and what is outside of them`;
};
export function ComparedRuns({ sides: [shown, other] }: { sides: [Side, Side] }) {
  const differs = shown.facts.levels !== other.facts.levels || shown.facts.batch_size !== other.facts.batch_size;
  return (
    <div class="note">
      <p>
        <strong>Shown:</strong> {longLabel(shown.facts)}, {basisOf(shown)}. <strong>Other:</strong>{" "}
        {longLabel(other.facts)}, {basisOf(other)}. All tracks count.
      </p>
      {(shown.facts.observed === null) !== (other.facts.observed === null) && (
        <p>Only one of the runs has steps or predictions, so their times are not of the same amount of work.</p>
      )}
      {differs && <p>The runs have different levels or batch sizes, so part of the difference comes from that.</p>}
    </div>
  );
}

const textOf = (step: Difference) => {
  if (step === 0) return `within ${digits(100 * (FACTORS[0] - 1))} %`;
  const factor = FACTORS[Math.abs(step) - 1];
  return `${factor} × ${step > 0 ? "slower" : "faster"}${Math.abs(step) === FACTORS.length ? " or more" : ""}`;
};
export function DifferenceLegend({ shape }: { shape: Shape }) {
  return (
    <p class="quiet flame-legend" aria-label="Colours: the run shown against the other">
      {DIFFERENCES.map((step) => (
        <span key={step}>
          <i class="dot" style={{ background: `var(--difference${step})` }} aria-hidden="true" />
          {textOf(step)}
        </span>
      ))}
      <span>
        <i class="dot flame-only" aria-hidden="true" />
        {ONLY[shape.isExchanged ? "other" : "shown"]}
      </span>
    </p>
  );
}
// Of contexts that have no width.
export function Unseen({ shape, show }: { shape: Shape; show: (amount: number) => string }) {
  const seen = useMemo(() => {
    let contexts = 0,
      total = 0;
    for (let node = 1; node < shape.name.length; node++) {
      if (shape.total[node] > 0 || !(shape.otherSums!.total[node] > 0)) continue;
      contexts++;
      if (0 < shape.total[shape.parent[node]]) total += shape.otherSums!.total[node];
    }
    return { contexts, total };
  }, [shape]);
  if (seen.contexts === 0) return null;
  return (
    <p class="quiet" data-unseen={seen.contexts}>
      {plural(seen.contexts, "context")} with {show(seen.total)} {seen.contexts === 1 ? "is" : "are"}{" "}
      {ONLY[shape.isExchanged ? "shown" : "other"]}: see the table, or the width of{" "}
      {shape.isExchanged ? "the run shown" : "the other run"}.
    </p>
  );
}

export function differenceRows(shape: Shape, node: number, show: (amount: number) => string): [string, string][] {
  const pair = pairOf(shape, node, "total"),
    own = pairOf(shape, node, "own");
  const against = ({ shown, other }: Pair) => signed(show(shown - other), shown - other);
  return [
    ["shown", show(pair.shown)],
    ["other", show(pair.other)],
    ["difference", `${against(pair)}, ${percentOf(pair)}`],
    ["own", `${show(own.shown)}, other ${show(own.other)}`],
    ...(onlyOf(pair) === "" ? [] : [["", ONLY[onlyOf(pair)]] as [string, string]]),
  ];
}

// ---- the table: contexts, or names
interface Row {
  node: number; // or name
  name: string;
  around: string | null; // null: a name, of any context
  level: number;
  own: Pair;
  total: Pair;
}
function contextRows(shape: Shape, names: string[]): Row[] {
  const rows: Row[] = [];
  for (let node = 1; node < shape.name.length; node++)
    rows.push({
      node,
      name: names[shape.name[node]],
      around: shape.parent[node] === 0 ? "all" : names[shape.name[shape.parent[node]]],
      level: shape.level[node],
      own: pairOf(shape, node, "own"),
      total: pairOf(shape, node, "total"),
    });
  return rows;
}
function nameRows(tree: Tree, value: Value, names: string[]): Row[] {
  const ordered = (value: number, other: number): Pair =>
    tree.isExchanged ? { shown: other, other: value } : { shown: value, other };
  return namesOf(tree, value).map(({ name, level, own, total, otherOwn, otherTotal }) => ({
    node: name,
    name: names[name],
    around: null,
    level,
    own: ordered(own, otherOwn),
    total: ordered(total, otherTotal),
  }));
}

const ownSize = ({ own }: Row) => Math.abs(own.shown - own.other);
const totalSize = ({ total }: Row) => Math.abs(total.shown - total.other);
export function DifferenceTable({
  tree,
  shape,
  isByName,
  value,
  names,
  onRow,
}: {
  tree: Tree;
  shape: Shape;
  isByName: boolean;
  value: Value;
  names: string[];
  onRow: (node: number) => void;
}) {
  const all = useMemo(
    () =>
      (isByName ? nameRows(tree, value, names) : contextRows(shape, names)).sort(
        (a, b) => ownSize(b) - ownSize(a) || totalSize(b) - totalSize(a),
      ),
    [tree, shape, isByName, value],
  );
  const rows = useMemo(() => all.slice(0, ROWS_MOST), [all]);
  const columns = useMemo((): TableColumn<Row>[] => {
    const unit = unitOf(value);
    return [
      {
        key: isByName ? "name" : "context",
        label: isByName ? "name" : "context",
        isText: true,
        value: (row) => row.name,
        show: (row) => (
          <>
            <i class={`dot level-${row.level}`} aria-hidden="true" />
            {row.name}
          </>
        ),
      },
      ...(isByName ? [] : [{ key: "in", label: "in", isText: true, value: (row: Row) => row.around }]),
      ...sourceColumn<Row>(tree.name, (row) => (isByName ? sourceOf(row.node) : sourceOfNode(shape, row.node, false))),
      { key: "only", label: "only in", isText: true, value: (row) => onlyOf(row.total) },
      { key: `shown_own_${unit}`, label: "own, shown", value: (row) => row.own.shown },
      { key: `other_own_${unit}`, label: "own, other", value: (row) => row.own.other },
      { key: `own_difference_${unit}`, label: "own difference", value: (row) => row.own.shown - row.own.other },
      { key: `shown_${unit}`, label: "shown", title: "with descendants", value: (row) => row.total.shown },
      { key: `other_${unit}`, label: "other", title: "with descendants", value: (row) => row.total.other },
      { key: `difference_${unit}`, label: "difference", value: (row) => row.total.shown - row.total.other },
      { key: "change_pct", label: "change", value: (row) => changeOf(row.total) },
    ];
  }, [tree, shape, isByName, value]);
  return (
    <>
      <DataTable
        id="flame.difference"
        caption={`Differences of ${isByName ? "names" : "contexts"}, the largest own ones first`}
        columns={columns}
        rows={rows}
        onRow={(row) => onRow(row.node)}
      />
      {all.length > rows.length && (
        <p class="note">{plural(all.length - rows.length, "further row")} with smaller differences are left out.</p>
      )}
    </>
  );
}
