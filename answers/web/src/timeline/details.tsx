// SPDX-License-Identifier: Apache-2.0
// Details of the selected span: its facts, its duration among spans of its name, parents and children, launch and
// executions, tags, and the query that finds it in the file.
import { useMemo } from "preact/hooks";
import {
  basisOf,
  busyOf,
  countOf,
  kindOf,
  levelOf,
  LEVELS,
  loadSpanId,
  loadTags,
  type Cell,
  type Spans,
} from "../data";
import { tracksOf, unionOf } from "../flame/own_time";
import { sourceOfSpan } from "../flame/sources";
import { cell, count, digits, plural, time } from "../format";
import { focus, page, search, selected } from "../state";
import { SourceLink } from "../widgets/source_link";
import { arrangement, isShown, showAllTracks } from "./layout";
import { Within } from "./within";
import { backwards, children, executions, forwardOf, sameCollective } from "./links";
import { useLoaded } from "./loaded";
import { fileOf } from "./notes";
import { processLabel, trackLabels } from "./tracks";

const SOME = 6; // of children and executions
const KIND_WORDS = ["sync: ran where it was called", "launch: hands work to a device", "execution: work of a launch"];
const BASIS_WORDS = [
  "no parent known",
  "parent as recorded",
  "parent by correlation: the id shared by launch and execution",
  "parent by containment: the shortest span around it",
  "parent ambiguous: several spans fit, one was taken",
];
const LAYER = 2,
  KERNEL = 4;

function SpanLink({ data, names, span }: { data: Spans; names: string[]; span: number }) {
  return (
    <button type="button" class="link" onClick={() => (selected.value = span)}>
      <i class={`dot level-${levelOf(data, span)}`} />
      {names[data.name[span]]}
    </button>
  );
}

// Without spans nested on its track, overlapping lanes included; the same as self_ns of `xsp sql`.
function ownTime(data: Spans, span: number): number {
  const track = tracksOf(data.facts),
    trackOf = (i: number) => track[data.facts.rows[data.row[i]][0]],
    from = data.start[span],
    to = from + data.duration[span];
  const inside: [number, number][] = [];
  for (const child of children(data).of(span))
    if (trackOf(child) === trackOf(span)) inside.push([data.start[child], data.start[child] + data.duration[child]]);
  return data.duration[span] - unionOf(inside, from, to);
}

interface Siblings {
  count: number;
  median: number;
  least: number;
  most: number;
  percentile: number; // share of them that are shorter
}
// Durations of the name, level and kind, sorted; cached while walking among spans of one name.
let sortedOf: { data: Spans; name: number; mask: number; sorted: Float64Array } | null = null;
function durationsLike(data: Spans, span: number): Float64Array {
  const name = data.name[span],
    mask = data.attributes[span] & 31;
  if (sortedOf?.data === data && sortedOf.name === name && sortedOf.mask === mask) return sortedOf.sorted;
  const durations: number[] = [];
  for (let i = 0; i < data.count; i++)
    if (data.name[i] === name && (data.attributes[i] & 31) === mask && countOf(data, i) === 1)
      durations.push(data.duration[i]);
  sortedOf = { data, name, mask, sorted: Float64Array.from(durations).sort() };
  return sortedOf.sorted;
}
function siblings(data: Spans, span: number): Siblings | null {
  const sorted = durationsLike(data, span),
    middle = sorted.length >> 1,
    own = data.duration[span];
  if (sorted.length < 2) return null;
  let shorter = 0;
  while (shorter < sorted.length && sorted[shorter] < own) shorter++;
  return {
    count: sorted.length,
    median: sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2,
    least: sorted[0],
    most: sorted[sorted.length - 1],
    percentile: (100 * shorter) / sorted.length,
  };
}

// A device may start before the call that launches its work has returned.
const wait = (data: Spans, launch: number, execution: number) =>
  data.start[execution] - data.start[launch] - data.duration[launch];
const waitText = (ns: number, after: string, before: string) =>
  ns < 0 ? `${time(-ns)} ${before}` : `${time(ns)}${after}`;

const Fact = ({
  name,
  children: value,
  title,
}: {
  name: string;
  children: preact.ComponentChildren;
  title?: string;
}) => (
  <div>
    <dt>{name}</dt>
    <dd title={title}>{value}</dd>
  </div>
);

function Times({ data, span }: { data: Spans; span: number }) {
  const together = countOf(data, span),
    launch = data.launch[span],
    own = useMemo(() => ownTime(data, span), [data, span]);
  return (
    <>
      {together > 1 ? (
        <>
          <Fact name="contains">{plural(together, "span")}</Fact>
          <Fact name="busy" title={`${busyOf(data, span)} ns`}>
            {time(busyOf(data, span))} of {time(data.duration[span])}
          </Fact>
        </>
      ) : (
        <>
          <Fact name="duration" title={`${data.duration[span]} ns`}>
            {time(data.duration[span])}
          </Fact>
          <Fact name="own time" title={`${own} ns, without spans nested in it on its track`}>
            {time(own)}
          </Fact>
        </>
      )}
      <Fact name="start" title={`${data.start[span]} ns from the run's first start`}>
        {time(data.start[span], 7)}
      </Fact>
      {launch >= 0 && (
        <Fact name={wait(data, launch, span) < 0 ? "started" : "waited"} title="from the launch's return to the start">
          {waitText(wait(data, launch, span), "", "before its launch returned")}
        </Fact>
      )}
    </>
  );
}

const laneOf = (data: Spans, span: number) => data.facts.lanes[data.facts.rows[data.row[span]][0]];

function Chains({ data, names, span }: { data: Spans; names: string[]; span: number }) {
  const above: number[] = [];
  for (let i = data.parent[span]; i >= 0 && above.length < 64; i = data.parent[i]) above.unshift(i);
  const launch = data.launch[span],
    ran = executions(data).of(span),
    forward = forwardOf(data, span),
    backward = backwards(data).of(span),
    others = sameCollective(data, span).filter((i) => i !== span),
    inside = children(data).of(span);
  const some = (all: Uint32Array | number[], extra: (i: number) => string) => (
    <>
      {[...all.slice(0, SOME)].map((i, n) => (
        <span key={i}>
          {n > 0 && ", "}
          <SpanLink data={data} names={names} span={i} /> <span class="quiet">{extra(i)}</span>
        </span>
      ))}
      {all.length > SOME && <span class="quiet"> and {count(all.length - SOME)} more</span>}
    </>
  );
  return (
    <dl class="chains">
      {above.length > 0 && (
        <Fact name="in">
          {above.map((i, n) => (
            <span key={i}>
              {n > 0 && " › "}
              <SpanLink data={data} names={names} span={i} />
            </span>
          ))}
        </Fact>
      )}
      {launch >= 0 && (
        <Fact name="launched by">
          <SpanLink data={data} names={names} span={launch} />
        </Fact>
      )}
      {ran.length > 0 && (
        <Fact name="executed as">
          {some(ran, (i) => waitText(wait(data, span, i), " later", "before this returned"))}
        </Fact>
      )}
      {forward >= 0 && (
        <Fact name="backward of">
          <SpanLink data={data} names={names} span={forward} />{" "}
          <span class="quiet">{time(data.duration[forward])}</span>
        </Fact>
      )}
      {backward.length > 0 && <Fact name="backward in">{some(backward, (i) => time(data.duration[i]))}</Fact>}
      {others.length > 0 && (
        <Fact name="on other ranks">
          {some(others, (i) => {
            const later = data.start[i] - data.start[span];
            return `${processLabel(laneOf(data, i))}, began ${time(Math.abs(later))} ${later < 0 ? "earlier" : "later"}`;
          })}
        </Fact>
      )}
      {inside.length > 0 && (
        <Fact name={`${plural(inside.length, "child").replace("childs", "children")}`}>
          <Within key={span} data={data} names={names} inside={inside} />
        </Fact>
      )}
    </dl>
  );
}

function Actions({ data, names, span }: { data: Spans; names: string[]; span: number }) {
  const level = levelOf(data, span),
    name = names[data.name[span]];
  const open = (kind: "layer" | "kernel") => {
    focus.value = { kind, name, index: null };
    page.value = kind === "layer" ? "layers" : "kernels";
  };
  return (
    <span class="actions">
      {level === LAYER && (
        <button type="button" onClick={() => open("layer")}>
          This layer
        </button>
      )}
      {level === KERNEL && (
        <button type="button" onClick={() => open("kernel")}>
          This kernel
        </button>
      )}
      <button type="button" onClick={() => (search.value = name)}>
        Find all spans of this name
      </button>
      <button type="button" onClick={() => (selected.value = -1)} aria-label="Close the details" title="Esc">
        ✕
      </button>
    </span>
  );
}

function Tags({ tags }: { tags: Record<string, Cell> | null }) {
  const entries = Object.entries(tags ?? {}).filter(([key]) => key !== "module"); // among the facts
  if (entries.length === 0) return null;
  return (
    <dl class="tags" aria-label="Tags">
      {entries.map(([key, value]) => (
        <div key={key}>
          <dt>{key}</dt>
          <dd title={String(value)}>{cell(key, value)}</dd>
        </div>
      ))}
    </dl>
  );
}

export function SpanDetails({ data, names, span }: { data: Spans; names: string[]; span: number }) {
  const { facts } = data,
    at = facts.rows[data.row[span]][0],
    lane = facts.lanes[at],
    label = trackLabels(data)[at],
    isLeftOut = !isShown(arrangement.value, at, label),
    same = useMemo(() => siblings(data, span), [data, span]),
    source = sourceOfSpan(data, span),
    tags = useLoaded(() => loadTags(facts, span), [facts, span]),
    id = useLoaded(() => loadSpanId(facts, span), [facts, span]);
  return (
    <section class="panel span-details" aria-label="Selected span">
      <div class="details-head">
        <h3 class="wrap">
          <i class={`dot level-${levelOf(data, span)}`} />
          {names[data.name[span]]}
        </h3>
        <Actions data={data} names={names} span={span} />
      </div>
      <dl class="facts">
        <Times data={data} span={span} />
        <Fact name="level">{LEVELS[levelOf(data, span)]}</Fact>
        <Fact name="track" title={lane.process}>
          {label}
          {isLeftOut && (
            <button type="button" class="link" onClick={showAllTracks}>
              hidden: show
            </button>
          )}
        </Fact>
        {typeof tags?.module === "string" && <Fact name="module">{tags.module}</Fact>}
        {source !== undefined && (
          <Fact name="source">
            <SourceLink source={source} />
          </Fact>
        )}
        {same !== null && (
          <Fact name="of its name in this run" title={`from ${time(same.least)} to ${time(same.most)}`}>
            {count(same.count)}, median {time(same.median)}; {digits(same.percentile, 3)} % are shorter
          </Fact>
        )}
      </dl>
      <p class="quiet">
        {KIND_WORDS[kindOf(data, span)]}; {BASIS_WORDS[basisOf(data, span)]}
      </p>
      <Chains data={data} names={names} span={span} />
      <Tags tags={tags} />
      {id !== null && (
        <code>
          xsp sql {fileOf(facts)} "select * from span where run_id = {facts.run_id} and span_id = {id}"
        </code>
      )}
    </section>
  );
}
