// SPDX-License-Identifier: Apache-2.0
// The figures of one layer, kernel or type, from the analyses' rows: used by the focus panel.
import type { ComponentChildren } from "preact";
import type { Cell } from "../data";
import { FocusLink, KernelLink, LayerLink, TypeLink } from "../focus";
import { cell, count, digits, plural } from "../format";
import { observationWord, page, type Focus } from "../state";
import { number, text, type Row } from "./answers";
import { answer, answers, labelOf } from "./parts";

export const rowsOf = (id: string): Row[] => answer(id)?.table.rows ?? [];
const MOST_LISTED = 12;

export const isLayer = (row: Row, target: Focus) =>
  text(row.layer_name) === target.name && (target.index === null || row.layer_index === target.index);

function Fact({ name, children, title }: { name: string; children: ComponentChildren; title?: string }) {
  return (
    <div title={title}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
const exact = (value: Cell) => (value === null ? "not measured" : String(value));
// Named as its column, unless the panel has a word of its own.
function Figure(props: { name?: string; id: string; row: Row | undefined; of: string; suffix?: string }) {
  const { id, row, of, suffix = "" } = props,
    name = props.name ?? labelOf(id, of),
    value = row?.[of] ?? null;
  if (value === null) return null;
  return (
    <Fact name={name} title={exact(value)}>
      {cell(of, value)}
      {suffix}
    </Fact>
  );
}
const spread = (row: Row) =>
  typeof row.n === "number" && row.n > 1
    ? ` (${cell("min_ms", row.min_ms)} to ${cell("max_ms", row.max_ms)}, n ${row.n})`
    : "";

function Bound({ row, prefix = "" }: { row: Row; prefix?: string }) {
  const bound = row[`${prefix}bound`];
  if (bound !== "memory" && bound !== "compute") return null;
  return <Fact name="limited by">{bound === "memory" ? "memory (memory-bound)" : "arithmetic (compute-bound)"}</Fact>;
}
// Figures of work: counted by hardware, else from shapes, marked so.
function Work({ id, row, target }: { id: string; row: Row | undefined; target: Focus }) {
  if (row === undefined) return null;
  const isMeasured = number(row.arithmetic_intensity) !== null || number(row.flops) !== null,
    isAnalytic = !isMeasured && number(row.analytic_flops) !== null;
  if (!isMeasured && !isAnalytic) return null;
  const prefix = isMeasured ? "" : "analytic_";
  return (
    <section>
      <h3>Work{isAnalytic && <span class="quiet"> (analytic: from shapes)</span>}</h3>
      <dl class="focus-facts">
        <Figure id={id} row={row} of={`${prefix}flops`} />
        <Figure id={id} row={row} of="analytic_bytes" />
        <Figure id={id} row={row} of="dram_read_bytes" />
        <Figure id={id} row={row} of="dram_write_bytes" />
        <Figure id={id} row={row} of={isMeasured ? "arithmetic_intensity" : "analytic_intensity"} />
        <Figure
          id={id}
          row={row}
          of={isMeasured ? "arithmetic_throughput_flops_per_s" : "analytic_throughput_flops_per_s"}
        />
        <Figure id={id} row={row} of="achieved_occupancy_pct" />
        <Bound row={row} prefix={prefix} />
      </dl>
      {(row.above_roof === true || (isAnalytic && row.analytic_above_roof === true)) && (
        <p class="warn">Above the roofs that are listed.</p>
      )}
      {page.value !== "roofline" && (
        <p>
          <FocusLink target={target} on="roofline">
            Its point on the roofline
          </FocusLink>
        </p>
      )}
    </section>
  );
}

// Rows with name, share as a bar, and time.
function Shares({
  rows,
  name,
  value,
}: {
  rows: Row[];
  name: (row: Row) => ComponentChildren;
  value: (row: Row) => number;
}) {
  const all = rows.reduce((sum, row) => sum + value(row), 0);
  return (
    <>
      <ul class="focus-list">
        {rows.slice(0, MOST_LISTED).map((row, i) => (
          <li key={i}>
            <span class="focus-name">{name(row)}</span>
            <span class="focus-value" title={String(value(row))}>
              {typeof row.calls === "number" && row.calls > 1 && <span class="quiet">{count(row.calls)}× </span>}
              {cell("latency_ms", value(row))}
              <span class="quiet"> {all > 0 ? `${digits((100 * value(row)) / all, 2)} %` : "–"}</span>
            </span>
          </li>
        ))}
      </ul>
      {rows.length > MOST_LISTED && <p class="quiet">{count(rows.length - MOST_LISTED)} more: see the tables.</p>}
    </>
  );
}
// Calls of a kernel in a layer as one row; longest first.
function grouped(rows: Row[], key: (row: Row) => string): Row[] {
  const groups = new Map<string, Row>();
  for (const row of rows) {
    const group = groups.get(key(row)) ?? { ...row, latency_ms: 0, calls: 0 };
    group.latency_ms = (number(group.latency_ms) ?? 0) + (number(row.latency_ms) ?? 0);
    group.calls = (number(group.calls) ?? 0) + 1;
    groups.set(key(row), group);
  }
  return [...groups.values()].sort((a, b) => (number(b.latency_ms) ?? 0) - (number(a.latency_ms) ?? 0));
}
const latency = (row: Row) => number(row.latency_ms) ?? 0;

export function LayerFacts({ target }: { target: Focus }) {
  const all = rowsOf("A2"),
    at = all.findIndex((row) => isLayer(row, target)),
    row = all[at];
  if (row === undefined)
    return <p class="quiet">Not in these tables: it is in another layer or run, or beyond their rows.</p>;
  const a2 = answer("A2")!,
    // as on the other pages: the analysis' sum, which includes layers without rows
    sum = number(a2.table.summary.sum_ms) ?? all.reduce((total, one) => total + latency(one), 0),
    layers = all.length + a2.rows_left_out,
    rank = 1 + all.filter((one) => latency(one) > latency(row)).length;
  const device = rowsOf("A13").find((one) => isLayer(one, target)),
    kernels = rowsOf("A8").filter((one) => isLayer(one, target)),
    memory = row.alloc_bytes ?? rowsOf("A4").find((one) => isLayer(one, target))?.alloc_bytes ?? null;
  const sizes = answers("A2")
    .map(({ table }) => [table.run_set.batch_size, table.rows.find((one) => isLayer(one, target))] as const)
    .filter(([size, one]) => size !== null && one !== undefined);
  return (
    <>
      <dl class="focus-facts">
        <Fact name="latency" title={exact(row.latency_ms)}>
          <strong>{cell("latency_ms", row.latency_ms)}</strong>
          <span class="quiet">{spread(row)}</span>
        </Fact>
        <Fact name="share">
          {sum > 0 ? `${digits((100 * latency(row)) / sum, 3)} % of all layers` : "–"}, rank {rank} of {count(layers)}
        </Fact>
        <Fact name="place">
          {count(at + 1)} of {count(layers)}, {["beginning", "middle", "end"][Math.floor((3 * at) / layers)]}
        </Fact>
        {row.layer_type !== null && (
          <Fact name="type">
            <TypeLink name={text(row.layer_type)} />
          </Fact>
        )}
        <Figure id="A2" row={row} of="layer_shape" />
        {memory !== null && (
          <Fact name="allocated" title={exact(memory)}>
            {cell("alloc_bytes", memory)}
          </Fact>
        )}
        <Figure id="A13" row={device} of="gpu_latency_ms" />
        <Figure id="A13" row={device} of="non_gpu_latency_ms" />
      </dl>
      {sizes.length > 1 && (
        <section>
          <h3>Over batch sizes</h3>
          <ul class="focus-list">
            {sizes.map(([size, one]) => (
              <li key={size}>
                <span class="focus-name">batch {size}</span>
                <span class="focus-value" title={exact(one!.latency_ms)}>
                  {cell("latency_ms", one!.latency_ms)}
                  <span class="quiet"> {cell("latency_ms", latency(one!) / size!)} a sample</span>
                </span>
              </li>
            ))}
          </ul>
        </section>
      )}
      {kernels.length > 0 && (
        <section>
          <h3>Its kernels</h3>
          <Shares
            rows={grouped(kernels, (one) => text(one.kernel_name))}
            name={(one) => <KernelLink name={text(one.kernel_name)} />}
            value={latency}
          />
        </section>
      )}
      <Work id="A14" row={rowsOf("A14").find((one) => isLayer(one, target))} target={target} />
    </>
  );
}

export function KernelFacts({ target }: { target: Focus }) {
  const row = rowsOf("A10").find((one) => text(one.kernel_name) === target.name),
    calls = rowsOf("A8").filter((one) => text(one.kernel_name) === target.name),
    layers = grouped(
      calls.filter((one) => one.layer_name !== null),
      (one) => `${one.layer_index} ${one.layer_name}`,
    );
  if (row === undefined && calls.length === 0)
    return <p class="quiet">Not in these tables; another batch size may have it.</p>;
  return (
    <>
      <dl class="focus-facts">
        {row !== undefined && (
          <Fact name="latency" title={exact(row.latency_ms)}>
            <strong>{cell("latency_ms", row.latency_ms)}</strong>
            <span class="quiet"> in all{spread(row)}</span>
          </Fact>
        )}
        <Figure name="calls" id="A10" row={row} of="count" suffix={` a ${observationWord.value}`} />
        <Figure id="A10" row={row} of="kernels_pct" />
        <Figure id="A10" row={row} of="latency_pct" />
        {calls.length > 1 && (
          <Fact name="a call">
            {cell("latency_ms", Math.min(...calls.map(latency)))} to{" "}
            {cell("latency_ms", Math.max(...calls.map(latency)))}
          </Fact>
        )}
      </dl>
      {layers.length > 0 && (
        <section>
          <h3>
            {plural(layers.length, "layer")} {layers.length === 1 ? "runs" : "run"} it
          </h3>
          <Shares
            rows={layers}
            name={(one) => (
              <>
                <span class="quiet">{text(one.layer_index)} </span>
                <LayerLink name={text(one.layer_name)} index={number(one.layer_index)} />
              </>
            )}
            value={latency}
          />
        </section>
      )}
      <Work id="A10" row={row} target={target} />
    </>
  );
}

export function TypeFacts({ target }: { target: Focus }) {
  const ofType = (id: string) => rowsOf(id).find((row) => text(row.layer_type) === target.name),
    layers = rowsOf("A2")
      .filter((row) => text(row.layer_type) === target.name)
      .sort((a, b) => latency(b) - latency(a));
  return (
    <>
      <dl class="focus-facts">
        <Figure id="A6" row={ofType("A6")} of="latency_ms" />
        <Figure id="A6" row={ofType("A6")} of="latency_pct" />
        <Figure name="layers" id="A5" row={ofType("A5")} of="count" />
        <Figure name="share" id="A5" row={ofType("A5")} of="count_pct" suffix=" of their number" />
        <Figure id="A7" row={ofType("A7")} of="alloc_bytes" />
      </dl>
      {layers.length > 0 && (
        <section>
          <h3>Its layers</h3>
          <Shares
            rows={layers}
            name={(row) => (
              <>
                <span class="quiet">{text(row.layer_index)} </span>
                <LayerLink name={text(row.layer_name)} index={number(row.layer_index)} />
              </>
            )}
            value={latency}
          />
        </section>
      )}
    </>
  );
}
